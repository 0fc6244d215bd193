"""Symbols: searching, naming, the symbol path, reloading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.symbols import NearSymbols, SymbolList, SymbolRow
from kdive.commands.spec import Group, command
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

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
