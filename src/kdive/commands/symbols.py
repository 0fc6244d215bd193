"""Symbols: searching, naming, the symbol path, reloading."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from kdive.commands.results.symbols import NearSymbols, Reloaded, SymbolList, SymbolPath, SymbolRow
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.symbols.interface import wildcard
from kdive.symbols.path import MICROSOFT_SERVER

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.symbols.engine import ModuleState

_MAX_SYMBOLS = 10000
_DOWNLOAD_WAIT = 120.0


@command(
    "x",
    syntax="<module>!<pattern>",
    group=Group.SYMBOLS,
    summary="list symbols that match a wildcard: * ? [set] #",
    examples=("x nt!*BugCheck*", "x amdppm!Write*"),
)
def x(context: CommandContext, arguments: str) -> SymbolList:
    """List symbols."""
    pattern = arguments.strip()
    while pattern.startswith("/"):
        pattern = pattern.partition(" ")[2].strip()
    if not pattern:
        raise context.usage_error("a pattern is needed, as in x nt!Ke*")
    engine = context.session.engine
    if "!" not in pattern:
        pattern = f"*!{pattern}" if any(char in pattern for char in "*?[") else f"nt!{pattern}"
    rows: list[SymbolRow] = []
    truncated = False
    for module, symbol in engine.search(pattern):
        context.cancel.check()
        if len(rows) >= _MAX_SYMBOLS:
            truncated = True
            break
        rows.append(SymbolRow(module.base + symbol.rva, f"{module.name}!{symbol.name}", symbol.size))
    rows.sort(key=lambda row: row.address)
    context.session.results = [row.address for row in rows]
    note = ""
    if not rows:
        module_pattern = pattern.partition("!")[0]
        matcher = wildcard(module_pattern)
        states = [state for state in engine.states if matcher.fullmatch(state.module.name)]
        if not states:
            note = f"no module matches {module_pattern!r}"
        elif all(state.symbols is None for state in states):
            note = f"{states[0].module.name} has no symbols; lmvm {states[0].module.name} says why"
        else:
            note = "no symbol matches"
    return SymbolList(rows, truncated, note)


@command("ln", syntax="<address>", group=Group.SYMBOLS, summary="name the symbols around an address")
def ln(context: CommandContext, arguments: str) -> NearSymbols:
    """Name an address."""
    session = context.session
    address = context.evaluate(arguments) if arguments else session.context().ip
    found = session.engine.nearest(address)
    if found is None:
        return NearSymbols(address)
    base = found.module.base
    if found.symbol is None:
        return NearSymbols(address, SymbolRow(base, found.module.name), address - base)
    state = session.engine.state_at(address)
    symbols = state.symbols if state is not None else None
    after, exact, source = None, [], ""
    name = f"{found.module.name}!{found.symbol.name}"
    if symbols is not None:
        after = _next_symbol(context, found.module.name, base, symbols, address - base, found.module.size)
        exact = [name]
        line = symbols.line(address - base)
        source = f"{line.file} @ {line.line}" if line is not None else ""
    before = SymbolRow(base + found.symbol.rva, name, found.symbol.size)
    return NearSymbols(address, before, found.displacement, after, exact, source)


def _next_symbol(
    context: CommandContext, module: str, base: int, symbols: object, rva: int, size: int
) -> SymbolRow | None:
    """Find the symbol above an address by widening steps: the interface answers only downwards."""
    from kdive.symbols.interface import ModuleSymbols

    if not isinstance(symbols, ModuleSymbols):
        return None
    low, step = rva, 16
    while low + step < size + step:
        context.cancel.check()
        found = symbols.nearest(min(low + step, size))
        if found is not None and found.rva > rva:
            # Bisect down to the first symbol above.
            high = found.rva
            while True:
                lower = symbols.nearest(high - 1)
                if lower is None or lower.rva <= rva:
                    break
                found, high = lower, lower.rva
            return SymbolRow(base + found.rva, f"{module}!{found.name}", found.size)
        if low + step >= size:
            return None
        low, step = low + step, step * 2
    return None


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


def _load(context: CommandContext, states: list[ModuleState], *, wait: bool) -> Reloaded:
    session = context.session
    for state in states:
        context.cancel.check()
        session.engine.symbols_of(state)
    messages: list[str] = []
    pending = 0
    if session.fetcher is not None and wait:
        seen = len(session.fetcher.messages)
        session.fetcher.wait(_DOWNLOAD_WAIT, context.cancel)
        messages = session.fetcher.messages[seen:]
        for state in states:
            session.engine.symbols_of(state)
    if session.fetcher is not None:
        pending = session.fetcher.pending
    outcome: list[tuple[str, str]] = []
    for state in states:
        text = state.status if not state.evidence else f"{state.status} ({state.evidence})"
        if state.wanted is not None:
            text += f"; {session.store.advice(state.wanted)}"
        outcome.append((state.module.name, text))
    return Reloaded(outcome, messages, pending)


@command(
    ".reload",
    syntax="[/f] [/v] [/u | /user] [<module>]",
    group=Group.SYMBOLS,
    summary="look for symbols again; /f loads them now and waits for downloads",
    examples=(".reload /f nt",),
)
def reload(context: CommandContext, arguments: str) -> Reloaded:
    """Reload symbols."""
    session = context.session
    words = arguments.split()
    flags = {word.lower() for word in words if word.startswith("/")}
    names = [word.partition("=")[0] for word in words if not word.startswith("/")]
    unknown = flags - {"/f", "/v", "/i", "/n", "/u", "/user", "/s"}
    if unknown:
        raise context.usage_error(f"unknown switch {min(unknown)!r}")
    if session.fetcher is not None:
        session.fetcher.retry()
    states = session.engine.states
    if names:
        matcher = wildcard(names[0])
        states = [
            state
            for state in states
            if matcher.fullmatch(state.module.name) or matcher.fullmatch(state.module.image_name)
        ]
        if not states:
            raise CommandError(f"no module matches {names[0]!r}", hint="lm lists the modules")
    elif "/f" not in flags:
        session.kernel.refresh_modules()
    for state in states:
        session.engine.reload(state)
    session.scope.drop_stack()
    if "/f" in flags or names:
        return _load(context, states, wait="/f" in flags)
    return Reloaded([])


@command("ld", syntax="<module>", group=Group.SYMBOLS, summary="load a module's symbols now")
def ld(context: CommandContext, arguments: str) -> Reloaded:
    """Load symbols."""
    pattern = arguments.split()[0] if arguments.split() else ""
    if not pattern:
        raise context.usage_error("a module is needed")
    matcher = wildcard(pattern)
    states = [state for state in context.session.engine.states if matcher.fullmatch(state.module.name)]
    if not states:
        raise CommandError(f"no module matches {pattern!r}", hint="lm lists the modules")
    return _load(context, list(itertools.islice(states, 512)), wait=False)


@command(".effmach", syntax="[amd64 | arm64 | .]", group=Group.SYMBOLS, summary="show the effective machine")
def effmach(context: CommandContext, arguments: str) -> str:
    """Show the machine."""
    machine = context.session.target.machine
    names = {"amd64": "x64 (AMD64)", "arm64": "ARM 64-bit (AArch64)"}
    wanted = arguments.strip().lower()
    if wanted and wanted not in (".", "#", machine):
        raise CommandError(f"code of this target is {names.get(machine, machine)}; {wanted} code cannot be shown")
    return f"Effective machine: {names.get(machine, machine)}"
