"""Where a processor's descriptor tables are, and what its interrupts are connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.amd64.descriptors import (
    GATE_SIZE,
    SEGMENT_SIZE,
    TASK_STATE_SIZE,
    VECTORS,
    interrupt_stacks,
    parse_segment,
)
from kdive.errors import KdiveError, MemoryAccessError, UnsupportedError
from kdive.nt.processors import prcb
from kdive.record import Record
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from kdive.nt.kernel import Kernel
    from kdive.symbols.views import Struct

_IDT_LIMIT = VECTORS * GATE_SIZE - 1


class DescriptorTables(Record, frozen=True):
    """A processor's tables.

    Attributes:
        gdt: Address of the global descriptor table.
        gdt_limit: Its last byte, None if that is not recorded.
        idt: Address of the interrupt descriptor table.
        idt_limit: Its last byte.
        task: Selector of the task state segment, 0 if not recorded.
        task_state: Address of the task state segment, 0 if not recorded.
    """

    gdt: int
    gdt_limit: int | None
    idt: int
    idt_limit: int
    task: int = 0
    task_state: int = 0


def descriptor_tables(kernel: Kernel, processor: int) -> DescriptorTables:
    """Find a processor's tables: in its registers, its saved state, or its control region, in this order.

    Raises:
        UnsupportedError: The architecture has no such tables.
        KdiveError: None of the three is in the target.
    """
    if kernel.target.machine != "amd64":
        raise UnsupportedError("only x64 processors have descriptor tables")
    if isinstance(kernel.target, LiveTarget):
        values = kernel.target.special_registers(processor)
        if "gdtr" in values:
            return DescriptorTables(
                values["gdtr"], values["gdtl"], values["idtr"], min(values["idtl"], _IDT_LIMIT), values.get("tr", 0)
            )
    block = prcb(kernel, processor)
    saved = _saved(block)
    if saved is not None:
        return saved
    region = kernel.struct("_KPCR", block.address - kernel.struct("_KPCR", 0).offset_of("Prcb"))
    gdt, idt = region["GdtBase"], region["IdtBase"]
    if not gdt or not idt:
        raise KdiveError(f"the target does not hold the descriptor tables' addresses of processor {processor}")
    return DescriptorTables(gdt, None, idt, _IDT_LIMIT, task_state=region.get("TssBase"))


def _saved(block: Struct) -> DescriptorTables | None:
    """The tables in the processor state that was saved when the system stopped; None if it was not."""
    special = "ProcessorState.SpecialRegisters"
    if f"{special}.Gdtr" not in block:
        return None
    try:
        gdt, idt = block[f"{special}.Gdtr.Base"], block[f"{special}.Idtr.Base"]
        gdt_limit, idt_limit = block[f"{special}.Gdtr.Limit"], block[f"{special}.Idtr.Limit"]
    except KdiveError:
        return None
    if not gdt or not idt:
        return None
    return DescriptorTables(gdt, gdt_limit, idt, min(idt_limit, _IDT_LIMIT), block.get(f"{special}.Tr"))


def task_stacks(kernel: Kernel, tables: DescriptorTables) -> tuple[int, ...]:
    """The interrupt stacks of a processor; empty if its task state is not in the target."""
    memory = kernel.memory
    try:
        address = tables.task_state
        if not address and tables.task & ~7:
            address = parse_segment(memory.read(tables.gdt + (tables.task & ~7), 2 * SEGMENT_SIZE)).base
        return interrupt_stacks(memory.read(address, TASK_STATE_SIZE)) if address else ()
    except MemoryAccessError:
        return ()


class ConnectedInterrupt(Record, frozen=True):
    """A ``_KINTERRUPT`` and the routine that serves it."""

    address: int
    service: int


def connected_interrupts(kernel: Kernel, processor: int, limit: int = VECTORS) -> dict[int, ConnectedInterrupt]:
    """The interrupt objects of a processor by their vectors; empty where the symbols or the target lack them.

    The control block holds an array of them (``InterruptObject``) since the gates all lead to common stubs.
    """
    try:
        block = prcb(kernel, processor)
        if "InterruptObject" not in block:
            return {}
        pointers = block.array("InterruptObject")[:limit]
        kernel.type("_KINTERRUPT")
    except KdiveError:
        return {}
    found: dict[int, ConnectedInterrupt] = {}
    for vector, address in enumerate(pointers):
        if not address:
            continue
        try:
            view = kernel.struct("_KINTERRUPT", address)
            service = view.get("ServiceRoutine")
            # Message-signalled interrupts are served through a common routine that calls the driver's own.
            found[vector] = ConnectedInterrupt(address, view.get("MessageServiceRoutine") or service)
        except KdiveError:
            continue
    return found
