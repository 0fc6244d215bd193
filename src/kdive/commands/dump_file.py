"""Writing the target to a dump file."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from kdive.commands.hardware import halted_target
from kdive.commands.results.dump_file import DumpWritten
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, UnsupportedError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.commands.context import CommandContext

_COMMENT = "written by kdive"
_STEPS = 10
_OVERWRITE = ".dump /o overwrites it"


class _Request:
    """The parsed arguments."""

    def __init__(self, context: CommandContext, arguments: str) -> None:
        self.overwrite = False
        self.comment = _COMMENT
        names: list[str] = []
        words = context.words(arguments)
        while words:
            word = words.pop(0)
            if not word.startswith("/") or word.count("/") > 1:
                names.append(word)
            elif word.lower() == "/o":
                self.overwrite = True
            elif word.lower() == "/c":
                if not words:
                    raise context.usage_error("/c needs a comment")
                self.comment = words.pop(0)
            elif word.lower().startswith(("/m", "/u", "/k", "/b")):
                raise UnsupportedError(f"{word}: only full kernel dumps (/f) are written")
            elif word.lower() != "/f":
                # A file in the root folder looks like an option.
                names.append(word)
        if len(names) != 1:
            raise context.usage_error("one file name is needed")
        self.path: Path = context.session.host_files.path(names[0])


def _check_place(path: Path, size: int, *, overwrite: bool) -> None:
    if path.is_dir():
        raise CommandError("this is a folder", where=str(path))
    if path.exists() and not overwrite:
        raise CommandError("the file exists", where=str(path), hint=_OVERWRITE)
    if not path.parent.is_dir():
        raise CommandError("no such folder", where=str(path.parent))
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise CommandError(f"the dump takes {size:#x} bytes and {free:#x} are free", where=str(path.parent))


@command(
    ".dump",
    syntax='[/f] [/o] [/c "<comment>"] <file>',
    group=Group.SESSION,
    summary="write the target's whole physical memory to a dump file",
    details="The dump is a full one (a bitmap dump when the machine has more than 42 runs of memory) that kdive and "
    "WinDbg open. /o overwrites an existing file. A virtual serial line takes minutes for some ten megabytes; "
    "Ctrl+C ends it and leaves nothing behind. The file may be read by its owner only. On a dump with physical memory "
    "the command writes it again as a full dump.",
    examples=(".dump /f memory.dmp", '.dump /o /c "before the fix" memory.dmp'),
    needs=(Capability.PHYSICAL_MEMORY,),
)
def dump(context: CommandContext, arguments: str) -> DumpWritten:
    """Write a dump."""
    from kdive.atomic import replacing
    from kdive.formats.kernel_dump.header import DUMP_TYPE_NAMES, MAX_HEADER_RUNS, DumpType
    from kdive.formats.kernel_dump.writer import full_dump, full_dump_size, merged_runs
    from kdive.session.dumping import PageReader, plan_dump

    request = _Request(context, arguments)
    session = context.session
    physical = session.target.physical
    if physical is None:
        raise CommandError("the target has no physical memory")
    live = session.run is not None
    if live:
        halted_target(context).lift_breakpoints()
    _check_place(request.path, 0, overwrite=request.overwrite)
    plan = plan_dump(session, request.comment)
    runs = merged_runs(plan.runs)
    size = full_dump_size(runs)
    _check_place(request.path, size, overwrite=request.overwrite)
    total = sum(run.page_count for run in runs)
    said = 0

    def progress(done: int) -> None:
        nonlocal said
        context.cancel.check()
        step = done * _STEPS // (total << 12)
        if live and step > said:
            said = step
            context.write(f"Percent written {step * 100 // _STEPS}")

    if live:
        context.write(f"Creating {request.path} - Full kernel dump, {size >> 20} MB")
    reader = PageReader(physical, runs, progress)
    try:
        with replacing(request.path, durable=True, overwrite=request.overwrite) as file:
            for piece in full_dump(plan.header, runs, reader.pages()):
                file.write(piece)
    except FileExistsError as error:
        raise CommandError("the file exists", where=str(request.path), hint=_OVERWRITE) from error
    except OSError as error:
        raise CommandError(f"cannot write the dump: {error.strerror or error}", where=str(request.path)) from error
    kind = DumpType.FULL if len(runs) <= MAX_HEADER_RUNS else DumpType.BITMAP_FULL
    return DumpWritten(str(request.path), size, DUMP_TYPE_NAMES[kind], total, len(runs), reader.missing, plan.note)
