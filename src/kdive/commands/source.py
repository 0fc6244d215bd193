"""Source code: where it lies, and showing it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.commands.results.source import SourceFolders, SourceListing
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.session.frames import frame_place
from kdive.session.source import parse_source_path, read_lines
from kdive.symbols.interface import SourceFile

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.source import LocatedSource
    from kdive.symbols.interface import SourceLine

_DEFAULT_COUNT = 10
_BEFORE = 5
_MAX_COUNT = 5000


def _show_path(context: CommandContext) -> SourceFolders:
    sources = context.session.sources
    return SourceFolders(str(sources), [str(root) for root in sources.roots])


@command(
    ".srcpath",
    syntax="[<folder or PREFIX=FOLDER>[;…]]",
    group=Group.SYMBOLS,
    summary="show or set where source files are looked for",
    details=(
        "In a folder the file that agrees with the longest end of the recorded path is taken; PREFIX=FOLDER puts a "
        "folder in the place of the beginning of recorded paths. A file whose checksum differs from the one in the "
        "symbols is not shown."
    ),
    examples=(".srcpath /src/mydriver", r".srcpath C:\build\mydriver=/src/mydriver"),
    raw=True,
)
def srcpath(context: CommandContext, arguments: str) -> SourceFolders:
    """Show or set the path."""
    if arguments:
        context.session.sources.roots = parse_source_path(arguments)
    return _show_path(context)


@command(
    ".srcpath+", syntax="<folder or PREFIX=FOLDER>", group=Group.SYMBOLS, summary="add to the source path", raw=True
)
def srcpath_add(context: CommandContext, arguments: str) -> SourceFolders:
    """Add to the path."""
    if not arguments:
        raise context.usage_error("a folder is needed")
    context.session.sources.roots += parse_source_path(arguments)
    return _show_path(context)


def _located(context: CommandContext, line: SourceLine) -> LocatedSource:
    source = line.source or SourceFile(line.file)
    found = context.session.sources.locate(source)
    if found.path is not None:
        return found
    if found.refused:
        raise CommandError(
            f"{found.refused[0]} is not the file that was compiled: its checksum differs",
            where=line.file,
            hint=".srcpath names the folder with the right version",
        )
    raise CommandError(
        "the source file is not on the source path",
        where=line.file,
        hint=".srcpath <folder> or .srcpath <beginning of the recorded path>=<folder>",
    )


def _list(
    context: CommandContext,
    path: Path,
    first: int,
    count: int,
    *,
    current: int = 0,
    located: LocatedSource | None = None,
) -> SourceListing:
    lines = read_lines(path)
    if first > len(lines):
        raise CommandError(f"the file has {len(lines)} lines", where=str(path))
    shown = lines[first - 1 : first - 1 + min(count, _MAX_COUNT)]
    context.session.sources.listing = (path, first + len(shown))
    recorded = located.recorded if located is not None else ""
    return SourceListing(str(path), recorded, first, shown, current, located.checked if located is not None else False)


def _line_at(context: CommandContext, address: int) -> SourceLine:
    engine = context.session.engine
    state = engine.state_at(address)
    symbols = engine.symbols_of(state) if state is not None else None
    line = symbols.line(address - state.module.base) if symbols is not None and state is not None else None
    if line is None:
        name = engine.name_of(address) or f"{address:#x}"
        raise CommandError(f"the symbols record no source line for {name}")
    return line


def _numbers(context: CommandContext, text: str) -> tuple[int | None, int]:
    """Read ``[first][,count]``, decimal unless written otherwise."""
    match = re.fullmatch(r"\s*(-?\d+)?\s*(?:,\s*(\d+))?\s*", text)
    if match is None:
        raise context.usage_error("[first][,count] in decimal")
    return (int(match[1]) if match[1] else None), int(match[2]) if match[2] else _DEFAULT_COUNT


@command(
    "lsa",
    syntax="[<address>] [, <first>] [, <count>]",
    group=Group.SYMBOLS,
    summary="show the source code around an address",
    details="first counts from the line of the address; without it five lines before are shown.",
    examples=("lsa rip", "lsa mydriver!Dispatch", "lsa rip, -10, 30"),
)
def lsa(context: CommandContext, arguments: str) -> SourceListing:
    """Show source code."""
    parts = [part.strip() for part in arguments.split(",")]
    if len(parts) > 3:
        raise context.usage_error("an address, first and count")
    if parts[0]:
        line = _line_at(context, context.evaluate(parts[0]))
    else:
        session = context.session
        frames = session.stack(session.scope.frame + 1)
        found = frame_place(session, frames[session.scope.frame]).source
        if found is None:
            raise CommandError("the symbols record no source line for the selected frame")
        line = found
    located = _located(context, line)
    first, _ = _numbers(context, parts[1]) if len(parts) > 1 else (None, 0)
    count = _numbers(context, parts[2])[0] if len(parts) > 2 else _DEFAULT_COUNT
    start = max(line.line + (first if first is not None else -_BEFORE), 1)
    path = located.path or Path(line.file)
    return _list(context, path, start, count or _DEFAULT_COUNT, current=line.line, located=located)


@command(
    "ls",
    syntax="[.] [<first>] [, <count>]",
    group=Group.SYMBOLS,
    summary="show more of the source file that was shown last, or from line first on",
    details="ls . shows the file of the selected frame. Line numbers are decimal.",
    examples=("ls", "ls 100, 20", "ls . 1"),
)
def ls(context: CommandContext, arguments: str) -> SourceListing:
    """Show more source code."""
    rest = arguments.strip()
    session = context.session
    if rest.startswith(".") or session.sources.listing is None:
        rest = rest.removeprefix(".").strip()
        frames = session.stack(session.scope.frame + 1)
        line = frame_place(session, frames[session.scope.frame]).source if frames else None
        if line is None:
            raise CommandError("the symbols record no source line for the selected frame", hint="lsa <address>")
        located = _located(context, line)
        first, count = _numbers(context, rest)
        path = located.path or Path(line.file)
        start = first if first is not None else max(line.line - _BEFORE, 1)
        return _list(context, path, max(start, 1), count, current=line.line, located=located)
    path, following = session.sources.listing
    first, count = _numbers(context, rest)
    return _list(context, path, max(first if first is not None else following, 1), count)
