"""Symbols: searching, naming, the symbol path, reloading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.symbols import NearSymbols, SymbolList, SymbolRow
from kdive.commands.spec import Group, command
from kdive.record import Record
from kdive.symbols.fuzzy import parse_terms, score, widest_pattern
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.commands.context import CommandContext
    from kdive.symbols.images import Module
    from kdive.symbols.interface import Symbol

_MAX_SYMBOLS = 10000
_MAX_FUZZY = 50
_DOWNLOAD_WAIT = 120.0


class _Listing(Record, frozen=True):
    """What ``x`` was asked to show.

    Attributes:
        columns: Columns besides the name.
        order: ``a`` by address, ``n`` by name, ``z`` by size.
        kinds: Which kinds of symbols; empty for all.
    """

    columns: tuple[str, ...] = ("address",)
    order: str = "a"
    kinds: frozenset[str] = frozenset()


def _listing(context: CommandContext, arguments: str) -> tuple[_Listing, str]:
    columns, order, kinds = ["address"], "a", set[str]()
    rest = arguments.strip()
    while match := re.match(r"/(\S+)\s*", rest):
        rest = rest[match.end() :]
        for letter in match[1].lower():
            if letter in "anz":
                order = letter
            elif letter == "v":
                columns += ["kind", "size"]
            elif letter == "t":
                columns.append("type")
            elif letter == "s":
                columns.append("size")
            elif letter == "0":
                columns.remove("address")
            elif letter == "1":
                columns = []
            elif letter == "f":
                kinds |= {"function", "public"}
            elif letter == "d":
                kinds.add("data")
            elif letter != "q":
                raise context.usage_error(f"unknown switch '/{letter}'")
    return _Listing(tuple(dict.fromkeys(columns)), order, frozenset(kinds)), rest


def _why_nothing(context: CommandContext, module_pattern: str) -> str:
    matcher = wildcard(module_pattern)
    states = [state for state in context.session.engine.states if matcher.fullmatch(state.module.name)]
    if not states:
        return f"no module matches {module_pattern!r}"
    if all(state.symbols is None for state in states):
        return f"{states[0].module.name} has no symbols; lmvm {states[0].module.name} says why"
    return "no symbol matches"


def _type_of(context: CommandContext, module: Module, symbol: Symbol) -> str:
    state = context.session.engine.state_at(module.base)
    type_ = state.symbols.type_of(symbol.name) if state is not None and state.symbols is not None else None
    if type_ is None:
        return ""
    from kdive.expr.typed import describe

    return describe(type_)


@command(
    "x",
    syntax="[/v] [/t] [/f | /d] [/a | /n | /z] <module>!<pattern>",
    group=Group.SYMBOLS,
    summary="list symbols that match a wildcard: * ? [set] #",
    details=(
        "/v shows kind and size, /t the type, /f functions only, /d data only; /a sorts by address, /n by name, /z by "
        "size; /0 leaves the addresses out. xf searches by parts of a name."
    ),
    examples=("x nt!*BugCheck*", "x /v amdppm!Write*", "x /d /n nt!Mm*"),
)
def x(context: CommandContext, arguments: str) -> SymbolList:
    """List symbols."""
    listing, pattern = _listing(context, arguments)
    if not pattern:
        raise context.usage_error("a pattern is needed, as in x nt!Ke*")
    engine = context.session.engine
    if "!" not in pattern:
        pattern = f"*!{pattern}" if any(char in pattern for char in "*?[") else f"nt!{pattern}"
    rows: list[SymbolRow] = []
    truncated = False
    for module, symbol in engine.search(pattern):
        context.cancel.check()
        if listing.kinds and symbol.kind not in listing.kinds:
            continue
        if len(rows) >= _MAX_SYMBOLS:
            truncated = True
            break
        type_ = _type_of(context, module, symbol) if "type" in listing.columns else ""
        name = f"{module.name}!{symbol.name}"
        rows.append(SymbolRow(module.base + symbol.rva, name, symbol.size, symbol.kind, type_))
    orders: dict[str, Callable[[SymbolRow], tuple[object, ...]]] = {
        "a": lambda row: (row.address, row.name),
        "n": lambda row: (row.name, row.address),
        "z": lambda row: (row.size, row.address),
    }
    rows.sort(key=orders[listing.order])
    context.session.results = [row.address for row in rows]
    note = "" if rows else _why_nothing(context, pattern.partition("!")[0])
    return SymbolList(rows, truncated, note, listing.columns)


@command(
    "xf",
    syntax="[<module>!]<part> [<part>…]",
    group=Group.SYMBOLS,
    summary="search symbols by parts of their names, the best matches first",
    details=(
        "Every part must occur, in any case: its letters in order, together or apart (kebug finds KeBugCheckEx). ^part "
        "must begin the name, part$ end it, 'part stand together, and !part must not occur. Without a module the "
        "kernel and every module with loaded symbols are searched."
    ),
    examples=("xf kebug", "xf nt!^mm alloc", "xf 'pool free !ex"),
)
def xf(context: CommandContext, arguments: str) -> SymbolList:
    """Search symbols."""
    module_name, bang, query = arguments.strip().partition("!")
    if not bang or not re.fullmatch(r"[\w*?]+", module_name):
        module_name, query = "", arguments.strip()
    terms = parse_terms(query)
    if not any(not term.excluded for term in terms):
        raise context.usage_error("a part of a name is needed")
    engine = context.session.engine
    found: list[tuple[int, SymbolRow]] = []
    states = [state for state in engine.states if not module_name or wildcard(module_name).fullmatch(state.module.name)]
    for state in states:
        if not module_name and state.symbols is None and state.module.name != "nt":
            continue
        symbols = engine.symbols_of(state)
        for symbol in symbols.search(widest_pattern(terms)) if symbols is not None else ():
            context.cancel.check()
            rank = score(symbol.name, terms)
            if rank is not None:
                name = f"{state.module.name}!{symbol.name}"
                found.append((rank, SymbolRow(state.module.base + symbol.rva, name, symbol.size, symbol.kind)))
    found.sort(key=lambda pair: (-pair[0], len(pair[1].name), pair[1].name))
    # Letters that happen to stand in order somewhere are no match beside a name that has them together.
    good = [row for rank, row in found if 2 * rank >= found[0][0]]
    rows = good[:_MAX_FUZZY]
    context.session.results = [row.address for row in rows]
    note = "" if rows else _why_nothing(context, module_name or "nt")
    return SymbolList(rows, len(good) > len(rows), note)


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
