"""Run control as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.run import BreakpointList, StopReport
from kdive.render.families.stack import registers
from kdive.render.styled import Style, StyledText


def stop(result: StopReport) -> StyledText:
    """Why the target stands still, with its registers."""
    text = StyledText()
    for line in "".join(result.output).splitlines():
        text.add("[dbgprint] ", Style.NOTE).line(line)
    if result.text:
        text.line(result.text, Style.HEADER)
    if result.registers is not None:
        text.extend(registers(result.registers))
    return text


def breakpoints(result: BreakpointList) -> StyledText:
    """``bl``: WinDbg's columns."""
    text = StyledText()
    for row in result.breakpoints:
        text.add(f"{row.id:2d} {'e' if row.enabled else 'd'} ")
        text.add(format_address(row.address), Style.ADDRESS)
        text.add(f"     {row.passes:04x} (0001) ").add(row.symbol, Style.SYMBOL)
        text.line(f' "{row.commands}"' if row.commands else "")
    if not result.breakpoints:
        text.line("no breakpoints", Style.NOTE)
    return text


RENDERERS = {StopReport: stop, BreakpointList: breakpoints}
