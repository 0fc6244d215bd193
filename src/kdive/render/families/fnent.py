"""Unwind data as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.fnent import FunctionEntry
from kdive.render.styled import Style, StyledText


def entry(result: FunctionEntry) -> StyledText:
    """``.fnent``."""
    text = StyledText()
    text.add("Debugger function entry for ").line(result.name, Style.SYMBOL)
    _entry(text, result, "")
    return text


def _entry(text: StyledText, result: FunctionEntry, indent: str) -> None:
    for label, address in (
        ("BeginAddress     ", result.begin),
        ("EndAddress       ", result.end),
        ("UnwindInfoAddress", result.unwind),
    ):
        text.add(f"{indent}{label} = ").line(format_address(address), Style.ADDRESS)
    text.line()
    text.line(f"{indent}Unwind info:")
    text.line(f"{indent}  " + ", ".join(f"{name} {value}" for name, value in result.facts.items()))
    for index, step in enumerate(result.steps):
        place = f"offs {step.offset:x}, " if step.offset >= 0 else ""
        text.line(f"{indent}  {index:02x}: {place}{step.name} {step.operands}".rstrip())
    if result.epilogues:
        text.line(f"{indent}  epilogs at " + ", ".join(f"+{offset:x}" for offset in result.epilogues))
    if result.chained is not None:
        text.line(f"{indent}Chained to {result.chained.name}:")
        _entry(text, result.chained, indent + "  ")


RENDERERS = {FunctionEntry: entry}
