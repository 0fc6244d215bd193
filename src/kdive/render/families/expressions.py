"""Values, formats and variables as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.expressions import Evaluated, Formats, VariableList
from kdive.render.families.target import moment
from kdive.render.styled import Style, StyledText


def evaluated(result: Evaluated) -> StyledText:
    """``?`` and ``??``."""
    text = StyledText()
    symbol = f"  {result.symbol}" if result.symbol else ""
    if not result.type:
        return text.add("Evaluate expression: ").line(
            f"{result.signed} = {format_address(result.value)}{symbol}", Style.NUMBER
        )
    if result.pointer or result.compound:
        return text.line(f"{result.type} 0x{format_address(result.value)}{symbol}")
    if result.enumerator:
        return text.line(f"{result.type} {result.enumerator} ({result.value:#x})")
    shown = f"{result.signed} ({result.value:#x})" if result.signed < 0 else f"{result.value:#x}"
    return text.line(f"{result.type} {shown}")


def formats(result: Formats) -> StyledText:
    """``.formats``."""
    text = StyledText().line("Evaluate expression:", Style.HEADER)
    text.line(f"  Hex:     {format_address(result.hexadecimal)}")
    text.line(f"  Decimal: {result.decimal}")
    text.line(f"  Octal:   {result.octal.zfill(22)}")
    binary = result.binary
    text.line(f"  Binary:  {' '.join(binary[at : at + 8] for at in range(0, 64, 8))}")
    text.line(f"  Chars:   {result.characters}")
    text.line(f"  Time:    {moment(result.time) if result.time is not None else '***** Invalid'}")
    text.line(f"  Float:   low {result.float_low:g}")
    return text.line(f"  Double:  {result.double:g}")


def variables(result: VariableList) -> StyledText:
    """``vars``."""
    text = StyledText()
    for title, entries in (("user", result.user), ("results", result.results)):
        text.line(title, Style.HEADER)
        for name, value in entries.items():
            text.line(f"  {name:<12} {format_address(value)}")
        if not entries:
            text.line("  none", Style.NOTE)
    if result.result_count > len(result.results):
        text.line(f"  … {result.result_count} in all", Style.NOTE)
    text.line("builtins", Style.HEADER)
    names = result.builtin
    for at in range(0, len(names), 8):
        text.line("  " + " ".join(f"{name:<13}" for name in names[at : at + 8]))
    return text


RENDERERS = {Evaluated: evaluated, Formats: formats, VariableList: variables}
