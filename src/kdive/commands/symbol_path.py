"""The symbol path and the source path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.symbols import SymbolPath
from kdive.commands.spec import Group, command
from kdive.symbols.path import MICROSOFT_SERVER

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext


def _show_path(context: CommandContext) -> SymbolPath:
    session = context.session
    return SymbolPath(
        session.store.path,
        [str(source) for source in session.store.sources],
        session.fetcher is None,
        [str(directory) for directory in session.options.effective_isf_directories],
    )


def _forget_misses(context: CommandContext) -> None:
    for state in context.session.engine.states:
        if state.symbols is None or state.symbols.kind == "exports":
            context.session.engine.reload(state)


@command(
    ".sympath",
    syntax="[<path>]",
    group=Group.SYMBOLS,
    summary="show or set the symbol path: srv*cache*url;directory",
    raw=True,
)
def sympath(context: CommandContext, arguments: str) -> SymbolPath:
    """Show or set the path."""
    if arguments:
        context.session.store.set_path(arguments.strip().strip('"'))
        _forget_misses(context)
    return _show_path(context)


@command(".sympath+", syntax="<path>", group=Group.SYMBOLS, summary="add to the symbol path", raw=True)
def sympath_add(context: CommandContext, arguments: str) -> SymbolPath:
    """Add to the path."""
    if not arguments:
        raise context.usage_error("a path is needed")
    store = context.session.store
    store.set_path(";".join(part for part in (store.path, arguments.strip().strip('"')) if part))
    _forget_misses(context)
    return _show_path(context)


@command(".symfix", syntax="[+] [<cache>]", group=Group.SYMBOLS, summary="set the symbol path to Microsoft's server")
def symfix(context: CommandContext, arguments: str) -> SymbolPath:
    """Set the default path."""
    store = context.session.store
    add = arguments.startswith("+")
    cache = arguments.lstrip("+").strip() or str(store.default_cache)
    default = f"srv*{cache}*{MICROSOFT_SERVER}"
    store.set_path(f"{store.path};{default}" if add and store.path else default)
    _forget_misses(context)
    return _show_path(context)
