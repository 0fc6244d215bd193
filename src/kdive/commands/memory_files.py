"""Memory to files and back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kdive.commands.memory_edit import write_in_steps
from kdive.commands.results.memory import BytesWritten
from kdive.commands.spec import Group, command
from kdive.errors import CapabilityError, CommandError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_STEP = 1 << 20
_LIVE_STEP = 1 << 14
"""Bytes that are read over a link between two looks at the cancel token."""


@command(
    ".writemem",
    syntax="<file> <address> L<bytes>",
    group=Group.MEMORY,
    summary="write memory to a file; an existing file is not overwritten",
    details="A long range is read piece by piece with a word on how far it came; Ctrl+C leaves no file.",
    examples=('.writemem "stack.bin" rsp L1000',),
    needs=(Capability.MEMORY,),
)
def writemem(context: CommandContext, arguments: str) -> BytesWritten:
    """Write memory to a file."""
    name, rest = _file_name(context, arguments)
    found = context.range(rest, 1, 0)
    if not found.count:
        raise context.usage_error("a length is needed: L<bytes>")
    memory = context.session.memory
    path = context.session.host_files.path(name)
    try:
        file = path.open("xb")
    except OSError as error:
        raise CommandError(f"cannot create the file: {error.strerror}", where=str(path)) from error
    try:
        with file:
            step = _LIVE_STEP if Capability.LIVE in context.session.target.capabilities else _STEP
            said = 0
            for at in range(0, found.count, step):
                context.cancel.check()
                file.write(memory.read(found.start + at, min(step, found.count - at)))
                if step == _LIVE_STEP and at * 10 // found.count > said:
                    said = at * 10 // found.count
                    context.write(f"{said * 10} %")
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return BytesWritten(str(path), found.start, found.count)


def _file_name(context: CommandContext, arguments: str) -> tuple[str, str]:
    if arguments.startswith('"'):
        name, quote, rest = arguments[1:].partition('"')
        if quote:
            return name, rest.strip()
    name, _, rest = arguments.partition(" ")
    if not name or not rest.strip():
        raise context.usage_error("a file and a range are needed")
    return name, rest.strip()


@command(
    ".readmem",
    syntax="<file> <address> [L<bytes>]",
    group=Group.MEMORY,
    summary="read a file into memory (live targets)",
)
def readmem(context: CommandContext, arguments: str) -> BytesWritten:
    """Read a file into memory."""
    session = context.session
    if Capability.MEMORY_WRITE not in session.target.capabilities:
        raise CapabilityError(f"memory of a {session.target.backend} target cannot be changed")
    name, rest = _file_name(context, arguments)
    address, rest = context.take(rest)
    try:
        data = context.session.host_files.path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read the file: {error.strerror}", where=name) from error
    if rest:
        data = data[: context.range(f"0x{address:x} {rest}", 1, 0).count]
    write_in_steps(context, session.memory, address, data, report=True)
    return BytesWritten(name, address, len(data))
