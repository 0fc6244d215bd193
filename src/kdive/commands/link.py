"""The link to a live target: what crossed it, what the target printed, which files it may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.link import FileMap, FileRow, LinkReport, PrintedLines
from kdive.commands.run import run_control
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.commands.context import CommandContext

_SHOWN = 100
_MAX_MAP = 1 << 20


@command(
    "!kdstats",
    group=Group.SESSION,
    summary="show what crossed the link to the target: requests, bytes, repeats, damage, cache",
    examples=("!kdstats",),
    needs=(Capability.LIVE,),
)
def kdstats(context: CommandContext, arguments: str) -> LinkReport:
    """Count."""
    if arguments.strip():
        raise context.usage_error("no arguments are taken")
    target = run_control(context).target
    return LinkReport(target.description, target.link_statistics())


@command(
    "!dbgprint",
    syntax="[-a | -c | <count>]",
    group=Group.SESSION,
    summary="show what the target has printed",
    details="Without arguments the last 100 lines, with a count that many, with -a all that are kept (10,000). "
    "-c forgets them. Lines are kept from the time that the debugger was attached.",
    examples=("!dbgprint", "!dbgprint 10", "!dbgprint -a"),
    needs=(Capability.LIVE,),
)
def dbgprint(context: CommandContext, arguments: str) -> PrintedLines | None:
    """Show prints."""
    run = run_control(context)
    run.service()
    run.collect_prints()
    words = arguments.split()
    prints = run.prints
    if words == ["-c"]:
        prints.clear()
        return None
    total = len(prints.lines) + bool(prints.partial)
    count = total if words == ["-a"] else context.evaluate(arguments) if words else _SHOWN
    lines = prints.last(count)
    return PrintedLines(lines, total - len(lines), prints.dropped)


@command(
    ".kdfiles",
    syntax="[-c | -m <name> <file> | <map file>]",
    group=Group.SESSION,
    summary="choose files of the host that the target loads in the place of its drivers",
    details="-m maps one: the name is what the target asks for (\\SystemRoot\\system32\\drivers\\x.sys), or the last "
    "part of it alone. A map file has lines `map`, the name, the file, three by three; `#` begins a comment. -c "
    "empties the map. Without arguments it is shown, with what the target asked for in vain. Only mapped files are "
    "given, and only to be read.",
    examples=(".kdfiles", r".kdfiles -m \SystemRoot\system32\drivers\mine.sys build/mine.sys", ".kdfiles drivers.map"),
    needs=(Capability.LIVE,),
)
def kdfiles(context: CommandContext, arguments: str) -> FileMap:
    """Show or change the map."""
    files = run_control(context).target.files
    words = context.words(arguments)
    policy = context.session.host_files
    if words[:1] == ["-m"]:
        if len(words) != 3:
            raise context.usage_error("-m takes a name and a file")
        files.mapped[words[1]] = _checked(policy.path(words[2]))
    elif words == ["-c"]:
        files.mapped.clear()
    elif len(words) == 1 and not words[0].startswith("-"):
        pairs = _read_map(policy.path(words[0]))
        files.mapped.update({name: _checked(policy.path(file)) for name, file in pairs})
    elif words:
        raise context.usage_error("one file, -m or -c is expected")
    rows = [
        FileRow(name, str(path), sum(count for asked, count in files.served.items() if files.find(asked) == path))
        for name, path in files.mapped.items()
    ]
    return FileMap(rows, dict(files.refused))


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise CommandError("no such file", where=str(path))
    return path.resolve()


def _read_map(path: Path) -> list[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(_MAX_MAP)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read the map: {error}", where=str(path)) from error
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    pairs: list[tuple[str, str]] = []
    for index in range(0, len(lines), 3):
        group = lines[index : index + 3]
        if len(group) != 3 or group[0].lower() != "map":
            raise CommandError(
                "this is no map",
                where=str(path),
                hint="a map has lines `map`, the driver's name, the file, three by three",
            )
        pairs.append((group[1], group[2]))
    return pairs
