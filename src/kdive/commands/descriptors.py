"""Descriptor tables: gates and segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.amd64.descriptors import GATE_SIZE, SEGMENT_SIZE, SYSTEM_SEGMENT_SIZE, parse_gate, parse_segment
from kdive.commands.results.hardware import GateRow, InterruptTable, SegmentRow, SegmentTable
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.nt.descriptors import connected_interrupts, descriptor_tables, task_stacks
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_KERNEL_MODULES = ("nt", "hal")
_LAST_SELECTOR = 0xFFFF
_KNOWN_GDT = 0x7F
"""Last byte of the table that is looked at where its limit is not recorded."""

_TABLE_INDICATOR, _PRIVILEGE = 4, 3


@command(
    "!idt",
    syntax="[-a] [<vector>]",
    group=Group.KERNEL,
    summary="show the interrupt gates of the processor in scope and what they are connected to",
    details="Without -a, gates that lead to the kernel's own stubs and are connected to nothing are left out from "
    "vector 30 on. A gate that leads outside the kernel and the HAL is marked.",
    examples=("!idt", "!idt e", "!idt -a"),
    needs=(Capability.MEMORY,),
)
def idt(context: CommandContext, arguments: str) -> InterruptTable:
    """Show gates."""
    session = context.session
    words = arguments.split()
    everything = "-a" in words
    words = [word for word in words if word != "-a"]
    processor = session.scope.processor
    tables = descriptor_tables(session.kernel, processor)
    count = (tables.idt_limit + 1) // GATE_SIZE
    vectors = range(count)
    if words:
        vector = context.evaluate(" ".join(words))
        if not 0 <= vector < count:
            raise CommandError(f"no vector {vector:#x}: the table has {count:#x}")
        vectors, everything = range(vector, vector + 1), True
    data = session.memory.read(tables.idt, count * GATE_SIZE)
    connected = connected_interrupts(session.kernel, processor, count)
    stacks = task_stacks(session.kernel, tables)
    rows: list[GateRow] = []
    hidden = 0
    for vector in vectors:
        context.cancel.check()
        gate = parse_gate(data[vector * GATE_SIZE :][:GATE_SIZE])
        found = connected.get(vector)
        module = session.engine.module_at(gate.handler)
        note = ""
        if gate.present and module is None:
            note = "outside every module"
        elif gate.present and module is not None and module.name not in _KERNEL_MODULES:
            note = f"leads to {module.name}"
        if not everything and found is None and not note and (vector >= 0x30 or not gate.present):
            hidden += 1
            continue
        rows.append(
            GateRow(
                vector,
                gate.handler,
                context.name_of(gate.handler) or "",
                gate.selector,
                gate.type_name,
                gate.dpl,
                gate.present,
                stacks[gate.stack - 1] if 0 < gate.stack <= len(stacks) else None,
                found.address if found is not None else None,
                found.service if found is not None else None,
                (context.name_of(found.service) or "") if found is not None else "",
                note,
            )
        )
    return InterruptTable(processor, tables.idt, rows, hidden)


def _segments(context: CommandContext, first: int, last: int, *, clip: bool) -> SegmentTable:
    session = context.session
    processor = session.scope.processor
    tables = descriptor_tables(session.kernel, processor)
    limit = tables.gdt_limit if tables.gdt_limit is not None else _KNOWN_GDT
    rows: list[SegmentRow] = []
    selector = first
    while selector <= last:
        context.cancel.check()
        at = selector & ~(_TABLE_INDICATOR | _PRIVILEGE)
        if selector & _TABLE_INDICATOR:
            rows.append(SegmentRow(selector, 0, 0, "", note="there is no local descriptor table"))
        elif at + SEGMENT_SIZE - 1 > limit:
            if clip:
                break
            rows.append(SegmentRow(selector, 0, 0, "", note="beyond the table's limit"))
        else:
            data = session.memory.read(tables.gdt + at, min(SYSTEM_SEGMENT_SIZE, limit + 1 - at))
            found = parse_segment(data)
            rows.append(
                SegmentRow(
                    selector,
                    found.base,
                    found.limit,
                    found.type_name,
                    found.dpl,
                    found.wide,
                    found.page_granular,
                    found.present,
                    found.long,
                    found.flags,
                )
            )
            if found.size == SYSTEM_SEGMENT_SIZE:
                selector += SEGMENT_SIZE
        selector = (selector & ~(_TABLE_INDICATOR | _PRIVILEGE)) + SEGMENT_SIZE
    return SegmentTable(processor, tables.gdt, tables.gdt_limit, rows)


@command(
    "dg",
    syntax="<first-selector> [<last-selector>]",
    group=Group.MEMORY,
    summary="display segment descriptors by their selectors",
    examples=("dg @cs", "dg 0 60"),
    needs=(Capability.MEMORY,),
)
def dg(context: CommandContext, arguments: str) -> SegmentTable:
    """Display descriptors."""
    if not arguments:
        raise context.usage_error("a selector is needed")
    first, rest = context.take(arguments)
    last = context.evaluate(rest) if rest else first
    if not 0 <= first <= last <= _LAST_SELECTOR:
        raise context.usage_error("selectors go from 0 to ffff, the first not behind the last")
    return _segments(context, first, last, clip=last - first > SEGMENT_SIZE)


@command(
    "!gdt",
    group=Group.KERNEL,
    summary="show the global descriptor table of the processor in scope",
    needs=(Capability.MEMORY,),
)
def gdt(context: CommandContext, arguments: str) -> SegmentTable:
    """Show the table."""
    if arguments:
        raise context.usage_error("no arguments; ~<n>s chooses the processor, dg shows single selectors")
    return _segments(context, 0, _LAST_SELECTOR, clip=True)
