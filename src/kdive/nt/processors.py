"""Processors: their control blocks, current threads and saved contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError, MemoryAccessError, SymbolNotFoundError
from kdive.symbols.views import Struct
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.nt.kernel import Kernel


def prcb_address(kernel: Kernel, processor: int) -> int:
    """Return the address of a processor's ``_KPRCB`` from ``nt!KiProcessorBlock``; 0 if it cannot be read."""
    try:
        return kernel.memory.u64(kernel.symbol("KiProcessorBlock") + 8 * processor)
    except (MemoryAccessError, SymbolNotFoundError):
        return 0


def prcb(kernel: Kernel, processor: int) -> Struct:
    """View a processor's ``_KPRCB``.

    In a triage dump the writer's copy stands in for the processor that stopped.

    Raises:
        KdiveError: It is not known where it is, or it is not in memory.
    """
    if not 0 <= processor < max(kernel.target.processors, 1):
        raise KdiveError(f"no processor {processor}: the target has {kernel.target.processors}")
    address = prcb_address(kernel, processor)
    triage = kernel.triage
    if triage is not None and triage.prcb_offset:
        layout = kernel.type("_KPRCB")
        present = max(0, len(triage.buffer) - triage.prcb_offset)
        if present >= layout.size:
            data = triage.buffer.bytes(triage.prcb_offset, layout.size)
            copy = Struct(kernel.memory, address, layout, data)
            if copy["Number"] == processor:
                return copy
    if not address:
        raise KdiveError(f"the control block of processor {processor} is not in the dump")
    view = kernel.struct("_KPRCB", address)
    view["Number"]
    return view


def processor_thread(kernel: Kernel, processor: int) -> int:
    """Return the address of the thread that a processor runs; 0 if unknown."""
    data = kernel.debugger_data
    try:
        return prcb(kernel, processor)["CurrentThread"]
    except KdiveError:
        address = prcb_address(kernel, processor)
        offset = data.offset("OffsetPrcbCurrentThread") if data is not None else 0
        if not address or not offset:
            return 0
        raw = kernel.memory.read_prefix(address + offset, 8)
        return int.from_bytes(raw, "little") if len(raw) == 8 else 0


def crash_processor(kernel: Kernel) -> int:
    """Return the number of the processor that the target stopped on, 0 if it cannot be told.

    A dump header does not say. A triage dump's copy of the control block does; elsewhere it is the processor whose
    thread owns the stack that the header's context points into.
    """
    if isinstance(kernel.target, LiveTarget):
        return kernel.target.processor
    triage, data = kernel.triage, kernel.debugger_data
    if triage is not None:
        offset = data.offset("OffsetPrcbNumber") if data is not None else 0
        at = triage.prcb_offset + offset
        if triage.prcb_offset and offset and at + 4 <= len(triage.buffer):
            number = triage.buffer.u32(at)
            return number if number < max(kernel.target.processors, 1) else 0
        return 0
    context = kernel.target.crash_context()
    if context is None:
        return 0
    for processor in range(min(kernel.target.processors, 2048)):
        thread = processor_thread(kernel, processor)
        if not thread:
            continue
        try:
            view = kernel.struct("_KTHREAD", thread)
            if view["StackLimit"] <= context.sp < view["StackBase"]:
                return processor
        except KdiveError:
            continue
    return 0


def processor_context(kernel: Kernel, processor: int) -> RegisterContext:
    """Return the registers that a processor saved when the system stopped.

    The control block points at them (``Context``); older kernels keep them inside it. A dump header holds those of one
    processor, or, when the bugcheck was raised by an exception handler, those of the exception itself.

    Raises:
        KdiveError: They are not in the target.
    """
    if isinstance(kernel.target, LiveTarget):
        return kernel.target.registers(processor)
    context = None
    try:
        context = _saved_context(kernel, prcb(kernel, processor))
    except KdiveError as error:
        if processor != crash_processor(kernel):
            raise
        context = kernel.target.crash_context()
        if context is None:
            raise KdiveError("the target holds no registers of this processor") from error
    if context is None and processor == crash_processor(kernel):
        context = kernel.target.crash_context()
    if context is None:
        raise KdiveError(f"the registers of processor {processor} are not in the target")
    return context


def _saved_context(kernel: Kernel, view: Struct) -> RegisterContext | None:
    """Decode the context that a control block leads to; None if it is empty or not in memory."""
    if kernel.target.machine == "arm64":
        from kdive.arch.arm64.context import CONTEXT_SIZE, decode_context
    else:
        from kdive.arch.amd64.context import CONTEXT_SIZE, decode_context
    pointer = view.get("Context")
    raw = kernel.memory.read_prefix(pointer, CONTEXT_SIZE) if pointer else b""
    if len(raw) == CONTEXT_SIZE:
        context = decode_context(raw)
        if context.ip:
            return context
    offset = view.offset_of("ProcessorState.ContextFrame")
    embedded = view.data[offset : offset + CONTEXT_SIZE]
    context = decode_context(embedded) if len(embedded) == CONTEXT_SIZE else None
    return context if context is not None and context.ip else None
