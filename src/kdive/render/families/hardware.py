"""The machine below the system as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.hardware import (
    InterruptTable,
    LocalApic,
    PciBuses,
    PciFunctionRow,
    PortValue,
    RegisterValue,
    SegmentTable,
)
from kdive.render.styled import Style, StyledText

_COMMAND_LETTERS = ((0, "i"), (1, "m"), (2, "b"), (4, "v"), (6, "p"), (8, "s"))
_STATUS_LETTERS = ((4, "c"), (5, "6"), (7, "f"), (13, "m"), (12, "a"))


def register_value(result: RegisterValue) -> StyledText:
    """``rdmsr``: WinDbg's line."""
    name = f" {result.name}" if result.name else ""
    text = StyledText().add(f"msr[{result.register:x}] = ").add(format_address(result.value), Style.NUMBER)
    return text.line(name)


def port_value(result: PortValue) -> StyledText:
    """``ib``; a write says nothing, as WinDbg's."""
    if result.written:
        return StyledText()
    text = StyledText().add(f"{result.port:08x}", Style.ADDRESS)
    return text.line(f": {result.value:0{2 * result.size}x}")


def _letters(value: int, table: tuple[tuple[int, str], ...]) -> str:
    return "".join(letter if value >> bit & 1 else "." for bit, letter in table)


def _raw(text: StyledText, row: PciFunctionRow, size: int) -> None:
    for at in range(0, len(row.raw), 16):
        piece = row.raw[at : at + 16]
        cells = [f"{int.from_bytes(piece[i : i + size], 'little'):0{2 * size}x}" for i in range(0, len(piece), size)]
        text.line(f"      {at:02x}: {' '.join(cells)}")


def pci(result: PciBuses) -> StyledText:
    """``!pci``: a block a bus, a line a function."""
    text = StyledText()
    for bus in result.buses:
        text.line(f"PCI Segment 0 Bus {bus:#x}" if bus else "PCI Segment 0 Bus 0", Style.HEADER)
        rows = [row for row in result.functions if row.bus == bus]
        for row in rows:
            text.add(f"{row.device:02x}:{row.function:x}  ", Style.ADDRESS)
            text.add(f"{row.vendor_id:04x}:{row.device_id:04x}.{row.revision:02x}  ")
            text.add(f"Cmd[{row.command:04x}:{_letters(row.command, _COMMAND_LETTERS)}]  ")
            text.add(f"Sts[{row.status:04x}:{_letters(row.status, _STATUS_LETTERS)}]  ").add(row.class_name)
            if row.subsystem is not None:
                text.add(f"  SubID:{row.subsystem[0]:04x}:{row.subsystem[1]:04x}")
            if row.secondary_bus is not None:
                text.add(f"  {row.bus}->{row.secondary_bus}")
            text.line()
            for bar in row.bars:
                kind = {"io": "IO ", "memory": "MEM", "memory64": "MEM64"}[bar.space]
                prefetch = " prefetchable" if bar.prefetchable else ""
                text.line(f"      BAR{bar.index}  {kind:<5} {bar.address:x}{prefetch}")
            _raw(text, row, result.raw_size)
        if not rows:
            text.line("      nothing", Style.NOTE)
    return text


def interrupts(result: InterruptTable) -> StyledText:
    """``!idt``."""
    text = StyledText().line().line(f"Dumping IDT: {result.base:016x}", Style.HEADER).line()
    for gate in result.gates:
        text.add(f"{gate.vector:02x}:\t")
        if not gate.present:
            text.line("not present", Style.NOTE)
            continue
        shown = gate.service if gate.service is not None else gate.handler
        symbol = gate.service_symbol if gate.service is not None else gate.symbol
        text.add(f"{shown:016x}", Style.ADDRESS).add(" ").add(symbol, Style.SYMBOL)
        if gate.interrupt is not None:
            text.add(f" (KINTERRUPT {gate.interrupt:016x})")
        if gate.stack is not None:
            text.add(f"\tStack = 0x{gate.stack:016X}")
        if gate.note:
            text.add(f"  ({gate.note})", Style.WARNING)
        text.line()
    if result.hidden:
        text.line(f"{result.hidden} gates lead to the kernel's own stubs; !idt -a shows them", Style.NOTE)
    return text


def segments(result: SegmentTable) -> StyledText:
    """``dg``: WinDbg's table."""
    text = StyledText()
    text.line("                                                    P Si Gr Pr Lo", Style.HEADER)
    text.line("Sel        Base              Limit          Type    l ze an es ng Flags", Style.HEADER)
    text.line("---- ----------------- ----------------- ---------- - -- -- -- -- --------", Style.HEADER)
    for row in result.rows:
        text.add(f"{row.selector:04X} ")
        if row.note:
            text.line(row.note, Style.NOTE)
            continue
        text.add(f"{format_address(row.base)} {format_address(row.limit)} {row.type:<10} {row.dpl:x} ")
        text.add(f"{'Bg' if row.wide else 'Nb'} {'Pg' if row.page_granular else 'By'} ")
        text.line(f"{'P ' if row.present else 'NP'} {'Lo' if row.long else 'Nl'} {row.flags:08x}")
    return text


def apic(result: LocalApic) -> StyledText:
    """``!apic``."""
    text = StyledText()
    place = "x2APIC" if result.x2apic else f"@ {result.base:x}"
    format_ = "" if result.format is None else f"  DestFmt:{result.format:08x}"
    text.line(
        f"Apic {place}  ID:{result.id:x} ({result.version:x})  LogDesc:{result.logical:08x}{format_}  "
        f"TPR {result.task_priority:02X}  PPR {result.processor_priority:02X}"
        f"{'' if result.enabled else '  (switched off)'}",
        Style.HEADER,
    )
    text.line(
        f"TimeCnt: {result.timer_initial:08x}clk  Current: {result.timer_current:08x}  Divide:{result.timer_divide:x}  "
        f"SpurVec:{result.spurious & 0xFF:02x}  error:{result.error:x}"
    )
    text.line(f"Ipi Cmd: {format_address(result.command)}  Vec:{result.command & 0xFF:02X}")
    for vector in result.vectors:
        text.add(f"{vector.name + '..':.<7.7}: {vector.value:08x}  Vec:{vector.vector:02X}  {vector.delivery:<8}")
        text.add(f" {'lvl' if vector.level else 'edg'} {'low ' if vector.low else 'high'}")
        text.line(f"  {'m' if vector.masked else ' '}  {vector.mode}")
    for name, numbers in (("TMR", result.trigger_mode), ("IRR", result.requested), ("ISR", result.in_service)):
        text.line(f"{name}: {', '.join(f'{number:02X}' for number in numbers)}")
    return text


RENDERERS = {
    RegisterValue: register_value,
    PortValue: port_value,
    PciBuses: pci,
    InterruptTable: interrupts,
    SegmentTable: segments,
    LocalApic: apic,
}
