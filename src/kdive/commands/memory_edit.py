"""Writing memory: values, texts, fills, moves; virtual and physical.

A write that stops on the way says how far it came: what lies before the failing address has been written.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.commands.spec import Group, command
from kdive.errors import CommandError, MemoryAccessError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.memory.interface import Memory

_SIZES = {"b": 1, "w": 2, "d": 4, "p": 8, "q": 8}
_MAX_VALUES = 4096
_MAX_TEXT = 4096
STEP = 1 << 14
"""Bytes that are written between two looks at the cancel token."""


def write_in_steps(context: CommandContext, memory: Memory, address: int, data: bytes, *, report: bool = False) -> None:
    """Write bytes piece by piece, watching for a cancellation.

    Args:
        context: The command's context.
        memory: What to write to.
        address: Where.
        data: What.
        report: Whether to say in between how far it came.

    Raises:
        CommandError: Not all could be written; the message says how much was.
    """
    said = 0
    for at in range(0, len(data), STEP):
        try:
            context.cancel.check()
            memory.write(address + at, data[at : at + STEP])
        except MemoryAccessError as error:
            done = max(min(error.address - address, len(data)), at)
            raise CommandError(
                f"{done:#x} of {len(data):#x} bytes were written: {error.what}",
                hint="what lies before the address that is named has been changed" if done else None,
            ) from error
        except BaseException:
            context.session.scope.drop_stack()
            if at:
                context.write(f"stopped: {at:#x} of {len(data):#x} bytes were written")
            raise
        if report and len(data) > STEP and at * 10 // len(data) > said:
            said = at * 10 // len(data)
            context.write(f"{said * 10} %")
    context.session.scope.drop_stack()


def _values(context: CommandContext, text: str, size: int) -> bytes:
    """Parse values up to the end of a text, as little-endian bytes."""
    parts: list[bytes] = []
    while text:
        if len(parts) >= _MAX_VALUES:
            raise context.usage_error(f"at most {_MAX_VALUES} values")
        number, text = context.take(text)
        if not -(1 << 8 * size - 1) <= number < 1 << 8 * size and not _sign_extended(number, size):
            raise context.usage_error(f"{number:#x} does not fit {size} byte{'s' if size > 1 else ''}")
        parts.append((number & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
    if not parts:
        raise context.usage_error("values are needed")
    return b"".join(parts)


def _sign_extended(number: int, size: int) -> bool:
    """Whether a number of 64 bits is a negative one of ``size`` bytes, as expressions give it."""
    top = (1 << 64) - (1 << 8 * size - 1)
    return top <= number < 1 << 64


def _address(context: CommandContext, arguments: str) -> tuple[int, str]:
    if not arguments:
        raise context.usage_error("an address is needed")
    return context.take(arguments)


@command(
    "eb",
    "ew",
    "ed",
    "ep",
    "eq",
    syntax="<address> <value> [<value>…]",
    group=Group.MEMORY,
    summary="write bytes, words, double words, pointers or quad words",
    examples=("eb @rsp+10 90 90", "eq poi(nt!PsInitialSystemProcess)+8 0"),
    needs=(Capability.MEMORY_WRITE,),
)
def edit(context: CommandContext, arguments: str) -> None:
    """Write values."""
    address, rest = _address(context, arguments)
    data = _values(context, rest, _SIZES[context.name[1].lower()])
    write_in_steps(context, context.session.memory, address, data)


@command(
    "ef",
    "eD",
    syntax="<address> <number> [<number>…]",
    group=Group.MEMORY,
    summary="write floating-point numbers: ef of 4 bytes, eD of 8",
    examples=("eD @rsp 3.25 -1e10",),
    needs=(Capability.MEMORY_WRITE,),
)
def edit_float(context: CommandContext, arguments: str) -> None:
    """Write floating-point numbers."""
    address, rest = _address(context, arguments)
    words = rest.split()
    if not words or len(words) > _MAX_VALUES:
        raise context.usage_error(f"1 to {_MAX_VALUES} numbers are needed")
    form = "<f" if context.name == "ef" else "<d"
    try:
        data = b"".join(struct.pack(form, float(word)) for word in words)
    except (ValueError, OverflowError) as error:
        raise context.usage_error(f"not a number that fits: {error}") from error
    write_in_steps(context, context.session.memory, address, data)


@command(
    "ea",
    "eza",
    "eu",
    "ezu",
    syntax='<address> "<text>"',
    group=Group.MEMORY,
    summary="write a text: narrow (ea) or wide (eu), with a zero behind it (eza, ezu)",
    details="Quotes around the text are not written; without them the text ends with the line.",
    examples=('eza @rcx "hello"', 'ezu poi(@rcx+8) "\\\\Device\\\\Null"'),
    needs=(Capability.MEMORY_WRITE,),
)
def edit_text(context: CommandContext, arguments: str) -> None:
    """Write a text."""
    address, text = _address(context, arguments)
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    elif text.startswith('"'):
        raise context.usage_error("the text has no closing quote")
    if not text and "z" not in context.name:
        raise context.usage_error("a text is needed")
    if len(text) > _MAX_TEXT:
        raise context.usage_error(f"at most {_MAX_TEXT} characters")
    if "z" in context.name:
        text += "\0"
    data = text.encode("utf-16-le" if context.name.endswith("u") else "utf-8")
    write_in_steps(context, context.session.memory, address, data)


def _fill(context: CommandContext, arguments: str, memory: Memory) -> str:
    if not arguments:
        raise context.usage_error("a range and a pattern are needed")
    found = context.range(arguments, 1, 0)
    if not found.count:
        raise context.usage_error("a length is needed: L<bytes>, or an end address")
    pattern = _pattern(context, found.rest)
    data = (pattern * (found.count // len(pattern) + 1))[: found.count]
    write_in_steps(context, memory, found.start, data, report=True)
    return f"Filled 0x{found.count:x} bytes"


def _pattern(context: CommandContext, text: str) -> bytes:
    if len(text) > 2 and text[0] == text[-1] == '"':
        return text[1:-1].encode("utf-8")
    return _values(context, text, 1)


@command(
    "f",
    syntax="<address> L<bytes> <byte> [<byte>…]",
    group=Group.MEMORY,
    summary="fill a range with a pattern of bytes, repeated",
    examples=("f @rsp-100 L80 0", 'f fffff803`00001000 L20 "kdive"'),
    needs=(Capability.MEMORY_WRITE,),
)
def fill(context: CommandContext, arguments: str) -> str:
    """Fill memory."""
    return _fill(context, arguments, context.session.memory)


@command(
    "fp",
    syntax="<physical-address> L<bytes> <byte> [<byte>…]",
    group=Group.MEMORY,
    summary="fill a range of physical memory with a pattern of bytes, repeated",
    examples=("fp 1000 L1000 0",),
    needs=(Capability.MEMORY_WRITE, Capability.PHYSICAL_MEMORY),
)
def fill_physical(context: CommandContext, arguments: str) -> str:
    """Fill physical memory."""
    return _fill(context, arguments, _physical(context))


@command(
    "m",
    syntax="<address> L<bytes> <destination>",
    group=Group.MEMORY,
    summary="copy a range of memory; the two may overlap",
    examples=("m @rsp L100 fffff803`00001000",),
    needs=(Capability.MEMORY_WRITE,),
)
def move(context: CommandContext, arguments: str) -> None:
    """Copy memory."""
    if not arguments:
        raise context.usage_error("a range and a destination are needed")
    found = context.range(arguments, 1, 0)
    if not found.count or not found.rest:
        raise context.usage_error("a range and a destination are needed")
    destination = context.evaluate(found.rest)
    memory = context.session.memory
    # Read whole before anything is written: the ranges may overlap, and a hole is noticed while nothing has changed.
    data = b"".join(
        memory.read(found.start + at, min(STEP, found.count - at))
        for at in range(0, found.count, STEP)
        if context.cancel.check() is None
    )
    write_in_steps(context, memory, destination, data, report=True)


def _physical(context: CommandContext) -> Memory:
    physical = context.session.target.physical
    if physical is None:
        raise CommandError("the target has no physical memory")
    return physical


@command(
    "!eb",
    "!ed",
    "!eq",
    syntax="<physical-address> <value> [<value>…]",
    group=Group.MEMORY,
    summary="write bytes, double words or quad words to physical memory",
    examples=("!ed 1000 0",),
    needs=(Capability.MEMORY_WRITE, Capability.PHYSICAL_MEMORY),
)
def edit_physical(context: CommandContext, arguments: str) -> None:
    """Write physical memory."""
    address, rest = _address(context, arguments)
    data = _values(context, rest, _SIZES[context.name[2].lower()])
    write_in_steps(context, _physical(context), address, data)
