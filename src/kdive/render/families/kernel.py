"""Processes, threads and processors as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.kernel import (
    CpuInfo,
    FactSheet,
    ProcessCard,
    ProcessList,
    ProcessorList,
    ScopeChanged,
    ThreadCard,
)
from kdive.render.families.stack import stack
from kdive.render.styled import Style, StyledText


def thread_card(result: ThreadCard, *, indent: str = "") -> StyledText:
    """``!thread``."""
    text = StyledText()
    text.add(f"{indent}THREAD ").add(f"{result.address:016x}", Style.ADDRESS)
    text.add(f"  Cid {result.pid:04x}.{result.tid:04x}  Teb: {result.teb:016x} ")
    running = f" on processor {result.processor:x}" if result.processor is not None else ""
    text.line(f"{result.state}{running}")
    if result.state == "WAIT":
        text.line(f"{indent}    ({result.wait_reason})")
    if result.irps:
        text.line(f"{indent}IRP List:")
        for irp in result.irps:
            text.line(f"{indent}    {irp:016x}")
    text.line(f"{indent}Owning Process            {result.process:x}       Image:         {result.process_name}")
    if result.attached is not None:
        text.line(f"{indent}Attached Process          {result.attached:x}")
    symbol = f" ({result.start_symbol})" if result.start_symbol else ""
    text.line(f"{indent}Win32 Start Address       {result.start_address:#018x}{symbol}")
    text.line(f"{indent}Stack Base {result.stack_base:016x} Limit {result.stack_limit:016x}")
    text.line(f"{indent}Priority {result.priority} BasePriority {result.base_priority}")
    if result.notice:
        text.line(f"{indent}{result.notice}", Style.NOTE)
    if result.stack is not None:
        inner = stack(result.stack)
        for parts in inner.finished():
            text.add(indent)
            for piece, style in parts:
                text.add(piece, style)
            text.line()
    return text


def process_card(text: StyledText, result: ProcessCard, *, brief: bool) -> None:
    """One process of ``!process``."""
    session = "none" if result.session is None else f"{result.session}"
    text.add("PROCESS ").line(f"{result.address:016x}", Style.ADDRESS)
    text.line(
        f"    SessionId: {session}  Cid: {result.pid:04x}    Peb: {result.peb:010x}  ParentCid: {result.parent_pid:04x}"
    )
    handles = "not read" if result.handles is None else f"{result.handles}."
    text.add(f"    DirBase: {result.directory_table_base:08x}  ObjectTable: {result.object_table:016x}")
    text.line(f"  HandleCount: {handles}")
    text.add("    Image: ").line(result.name, Style.SYMBOL)
    if not brief:
        text.line(f"    VadRoot {result.vad_root:016x}")
        text.line(f"    Token                             {result.token:016x}")
        for label, value in result.details:
            text.line(f"    {label:<33} {value}")
    text.line()
    for thread in result.threads:
        text.extend(thread_card(thread, indent="        "))
        text.line()


def process_list(result: ProcessList) -> StyledText:
    """``!process``."""
    text = StyledText()
    for process in result.processes:
        process_card(text, process, brief=result.brief)
    if result.notice:
        text.line(result.notice, Style.NOTE)
    return text


def scope_changed(result: ScopeChanged) -> StyledText:
    """``.process`` and ``.thread``."""
    return StyledText().line(result.text)


def processors(result: ProcessorList) -> StyledText:
    """``~`` and ``!running``."""
    text = StyledText()
    if result.running:
        text.line(f"{'':6}{'Prcbs':<4} {'Current':<18} {'(Next)':<18} {'Idle':<18}", Style.HEADER)
        for row in result.processors:
            cells = (row.thread, row.next_thread, row.idle_thread)
            shown = " ".join(f"{value:016x}  " if value else f"{'-':<18}" for value in cells)
            text.add(f"  {row.number:>4}     {shown}").line(f" {row.note}" if row.note else "", Style.NOTE)
            if row.stack is not None:
                text.extend(stack(row.stack))
        return text
    for row in result.processors:
        mark = "." if row.current else " "
        text.add(f"{mark}{row.number:>3}  ")
        if row.ip is None:
            text.line(row.note or "no context", Style.NOTE)
            continue
        text.add(format_address(row.ip), Style.ADDRESS).line(f"  {row.symbol}", Style.SYMBOL)
    return text


def fact_sheet(result: FactSheet) -> StyledText:
    """``!pcr`` and its like."""
    text = StyledText()
    place = f" at {result.address:016x}" if result.address is not None else ""
    text.line(f"{result.title}{place}:" if result.facts else f"{result.title}{place}", Style.HEADER)
    width = max((len(label) for label, _ in result.facts), default=0)
    for label, value in result.facts:
        text.line(f"  {label:>{width}}: {value}")
    return text


def cpu_info(result: CpuInfo) -> StyledText:
    """``!cpuinfo``."""
    text = StyledText().line("CP  F/M/S Manufacturer  MHz Features", Style.HEADER)
    for row in result.rows:
        if row.note:
            text.add(f"{row.number:>2}  ").line(row.note, Style.NOTE)
            continue
        version = f"{row.family},{row.model},{row.stepping}"
        text.line(f"{row.number:>2} {version:>8} {row.vendor:<12} {row.mhz:>5} {row.features:016x}")
    return text


RENDERERS = {
    ThreadCard: thread_card,
    ProcessList: process_list,
    ScopeChanged: scope_changed,
    ProcessorList: processors,
    FactSheet: fact_sheet,
    CpuInfo: cpu_info,
}
