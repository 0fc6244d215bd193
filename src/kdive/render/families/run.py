"""Run control as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.run import BreakpointList, BreakpointRow, FilterList, StopReport, TraceReport
from kdive.render.families.stack import registers
from kdive.render.styled import Style, StyledText


def stop(result: StopReport) -> StyledText:
    """Why the target stands still, with its registers."""
    text = StyledText()
    for line in "".join(result.output).splitlines():
        text.add("[dbgprint] ", Style.NOTE).line(line)
    for note in result.notes:
        text.line(note, Style.NOTE)
    if result.text:
        text.line(result.text, Style.HEADER)
    if result.registers is not None:
        text.extend(registers(result.registers))
    return text


def breakpoints(result: BreakpointList) -> StyledText:
    """``bl``: WinDbg's columns."""
    text = StyledText()
    for row in result.breakpoints:
        state = ("e" if row.enabled else "d") + ("u" if row.deferred else " ")
        text.add(f"{row.id:2d} {state} ")
        text.add(format_address(row.address) if row.address is not None else " " * 17, Style.ADDRESS)
        text.add(f" {row.access + f'{row.size:x}' if row.access else '':3} {row.left:04x} ({row.passes:04x}) ")
        text.add(row.symbol if row.address is not None else f"({row.symbol})", Style.SYMBOL)
        text.line(_restrictions(row))
    if not result.breakpoints:
        text.line("no breakpoints", Style.NOTE)
    return text


def _restrictions(row: BreakpointRow) -> str:
    parts = ["/1"] if row.once else []
    parts += [f"/p {format_address(row.process)}"] if row.process else []
    parts += [f"/t {format_address(row.thread)}"] if row.thread else []
    parts += [f"/c {row.processor}"] if row.processor is not None else []
    parts += [f'/w "{row.condition}"'] if row.condition else []
    parts += [f"hits {row.hits}"] if row.hits else []
    parts += [f'"{row.commands}"'] if row.commands else []
    return "".join(f" {part}" for part in parts)


_MODES = {"break": "break", "second": "second-chance break", "notify": "output", "ignore": "ignore"}


def filters(result: FilterList) -> StyledText:
    """``sx``: WinDbg's columns."""
    text = StyledText()
    for row in result.filters:
        handled = "" if row.code is None and row.alias != "*" else " - handled" if row.handled else " - not handled"
        module = f" (only {row.module})" if row.module else ""
        commands = f' "{row.commands}"' if row.commands else ""
        text.line(f"{row.alias:>8} - {row.name} - {_MODES[row.mode]}{handled}{module}{commands}")
    return text


def trace(result: TraceReport) -> StyledText:
    """``wt``: instructions of its own, of what it called, and the call tree."""
    text = StyledText()
    for row in result.calls:
        text.add(f"{row.instructions:5d} {row.called:5d} [{row.depth:3d}] ").add("  " * row.depth)
        text.line(row.symbol, Style.SYMBOL)
    text.line(f"{result.instructions} instructions were executed in {len(result.calls)} calls", Style.NOTE)
    text.extend(stop(result.stop))
    return text


RENDERERS = {StopReport: stop, BreakpointList: breakpoints, FilterList: filters, TraceReport: trace}
