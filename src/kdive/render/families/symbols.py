"""Symbols as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.symbols import NearSymbols, SymbolList, SymbolPath
from kdive.render.styled import Style, StyledText

_KINDS = {"function": "func", "data": "data", "public": "pub"}


def symbol_list(result: SymbolList) -> StyledText:
    """``x``."""
    text = StyledText()
    for row in result.symbols:
        if "address" in result.columns:
            text.add(format_address(row.address), Style.ADDRESS).add("          ")
        if "kind" in result.columns:
            text.add(f"{_KINDS.get(row.kind, ''):<5}")
        if "size" in result.columns:
            text.add(f"{row.size:<6x} " if row.size else "       ")
        text.add(row.name, Style.SYMBOL)
        text.line(f" = {row.type}" if row.type else "")
    if result.truncated:
        text.line(f"(stopped after {len(result.symbols)} symbols; narrow the pattern)", Style.NOTE)
    if result.note:
        text.line(result.note, Style.NOTE)
    return text


def near(result: NearSymbols) -> StyledText:
    """``ln``."""
    text = StyledText()
    if result.before is None:
        return text.line("no symbol near this address", Style.NOTE)
    place = result.before.name + (f"+0x{result.displacement:x}" if result.displacement else "")
    text.add(f"({format_address(result.before.address)})", Style.ADDRESS).add("   ").add(place, Style.SYMBOL)
    if result.after is not None:
        text.add("   |  ").add(f"({format_address(result.after.address)})", Style.ADDRESS)
        text.add(f"   {result.after.name}", Style.SYMBOL)
    text.line()
    if not result.displacement:
        text.line("Exact matches:", Style.NOTE)
        for name in result.exact:
            text.line(f"    {name}", Style.SYMBOL)
    if result.source:
        text.line(f"Source: {result.source}")
    return text


def path(result: SymbolPath) -> StyledText:
    """``.sympath``."""
    text = StyledText()
    text.line(f"Symbol search path is: {result.path or '(empty)'}")
    for element in result.expanded:
        text.line(f"  {element}", Style.NOTE)
    for directory in result.isf:
        text.line(f"  ISF files: {directory}", Style.NOTE)
    if result.offline:
        text.line("offline: servers are not asked", Style.NOTE)
    return text


RENDERERS = {SymbolList: symbol_list, NearSymbols: near, SymbolPath: path}
