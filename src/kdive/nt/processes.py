"""Processes and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError, MemoryAccessError, SymbolNotFoundError
from kdive.record import Record
from kdive.symbols.views import Struct, find_member, walk_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.nt.kernel import Kernel

_MAX_PROCESSES = 65536
_MAX_THREADS = 65536

THREAD_STATES = (
    "INITIALIZED",
    "READY",
    "RUNNING",
    "STANDBY",
    "TERMINATED",
    "WAIT",
    "TRANSITION",
    "DEFERRED_READY",
    "GATE_WAIT",
    "WAITING_FOR_PROCESS_IN_SWAP",
)
"""``nt!_KTHREAD_STATE`` in words."""

WAIT_REASONS = (
    "Executive",
    "FreePage",
    "PageIn",
    "PoolAllocation",
    "DelayExecution",
    "Suspended",
    "UserRequest",
    "WrExecutive",
    "WrFreePage",
    "WrPageIn",
    "WrPoolAllocation",
    "WrDelayExecution",
    "WrSuspended",
    "WrUserRequest",
    "WrEventPair",
    "WrQueue",
    "WrLpcReceive",
    "WrLpcReply",
    "WrVirtualMemory",
    "WrPageOut",
    "WrRendezvous",
    "WrKeyedEvent",
    "WrTerminated",
    "WrProcessInSwap",
    "WrCpuRateControl",
    "WrCalloutStack",
    "WrKernel",
    "WrResource",
    "WrPushLock",
    "WrMutex",
    "WrQuantumEnd",
    "WrDispatchInt",
    "WrPreempted",
    "WrYieldExecution",
    "WrFastMutex",
    "WrGuardedMutex",
    "WrRundown",
    "WrAlertByThreadId",
    "WrDeferredPreempt",
    "WrPhysicalFault",
    "WrIoRing",
    "WrMdlCache",
    "WrRcu",
)
"""``_KWAIT_REASON`` of ``wdm.h``."""


class Thread(Record, frozen=True):
    """An ``_ETHREAD``.

    Attributes:
        address: Address of the ``_ETHREAD``.
        view: Its structure.
    """

    address: int
    view: Struct

    @property
    def tid(self) -> int:
        """Thread identifier."""
        return self.view["Cid.UniqueThread"]

    @property
    def pid(self) -> int:
        """Identifier of the owning process."""
        return self.view["Cid.UniqueProcess"]

    @property
    def process_address(self) -> int:
        """Address of the owning ``_EPROCESS``."""
        return self.view.get("Tcb.Process") or self.attached_address

    @property
    def attached_address(self) -> int:
        """Address of the ``_EPROCESS`` whose address space the thread runs in."""
        return self.view["Tcb.ApcState.Process"]

    @property
    def teb(self) -> int:
        """Address of the thread environment block, 0 for system threads."""
        return self.view["Tcb.Teb"]

    @property
    def state(self) -> str:
        """The scheduler state in words."""
        value = self.view["Tcb.State"]
        return THREAD_STATES[value] if value < len(THREAD_STATES) else f"state {value}"

    @property
    def wait_reason(self) -> str:
        """Why the thread waits (or last waited)."""
        value = self.view.get("Tcb.WaitReason")
        return WAIT_REASONS[value] if value < len(WAIT_REASONS) else f"reason {value}"

    @property
    def stack_bounds(self) -> tuple[int, int]:
        """``(limit, base)`` of the kernel stack."""
        return self.view["Tcb.StackLimit"], self.view["Tcb.StackBase"]

    @property
    def start_address(self) -> int:
        """Where the thread began: the Win32 start address if set, else the kernel's."""
        return self.view.get("Win32StartAddress") or self.view.get("StartAddress")


class Process(Record, frozen=True):
    """An ``_EPROCESS``.

    Attributes:
        address: Address of the ``_EPROCESS``.
        view: Its structure.
    """

    address: int
    view: Struct

    @property
    def pid(self) -> int:
        """Process identifier."""
        return self.view["UniqueProcessId"]

    @property
    def parent_pid(self) -> int:
        """Identifier of the process that created it."""
        return self.view.get("InheritedFromUniqueProcessId")

    @property
    def name(self) -> str:
        """Image name: the kernel's copy of at most 15 characters."""
        return self.view.text("ImageFileName")

    @property
    def directory_table_base(self) -> int:
        """Physical address of the root page table."""
        return self.view["Pcb.DirectoryTableBase"]

    @property
    def peb(self) -> int:
        """Address of the process environment block, 0 for system processes."""
        return self.view["Peb"]

    @property
    def session(self) -> int | None:
        """Session number, if the process belongs to one and it can be read."""
        session = self.view.get("Session")
        if not session:
            return None
        try:
            return self.view.memory.u32(session + 8)
        except MemoryAccessError:
            return None


def process_at(kernel: Kernel, address: int) -> Process:
    """View an ``_EPROCESS``.

    Raises:
        SymbolNotFoundError: The kernel's types are not known.
        MemoryAccessError: It cannot be read.
    """
    view = kernel.struct("_EPROCESS", address)
    view["UniqueProcessId"]
    return Process(address, view)


def thread_at(kernel: Kernel, address: int) -> Thread:
    """View an ``_ETHREAD``.

    Raises:
        SymbolNotFoundError: The kernel's types are not known.
        MemoryAccessError: It cannot be read.
    """
    view = kernel.struct("_ETHREAD", address)
    view["Tcb.State"]
    return Thread(address, view)


def processes(kernel: Kernel) -> Iterator[Process]:
    """Yield the active processes in list order.

    A triage dump holds one process; it alone is yielded there. The walk is bounded and stops where memory ends.

    Raises:
        SymbolNotFoundError: The kernel's types are not known.
    """
    layout = kernel.type("_EPROCESS")
    link = find_member(layout, "ActiveProcessLinks")[0]
    if kernel.triage is not None:
        process = current_process(kernel)
        if process is not None:
            yield process
        return
    head = kernel.header.ps_active_process_head if kernel.header is not None else None
    if not head:
        head = kernel.symbol("PsActiveProcessHead")
    for entry in walk_list(kernel.memory, head, _MAX_PROCESSES):
        address = entry - link
        data = kernel.memory.read_prefix(address, layout.size)
        if len(data) == layout.size:
            yield Process(address, Struct(kernel.memory, address, layout, data))


def threads(kernel: Kernel, process: Process) -> Iterator[Thread]:
    """Yield the threads of a process in list order."""
    layout = kernel.type("_ETHREAD")
    link = find_member(layout, "ThreadListEntry")[0]
    if kernel.triage is not None:
        thread = current_thread(kernel)
        if thread is not None and thread.process_address == process.address:
            yield thread
        return
    for entry in walk_list(kernel.memory, process.view.address_of("ThreadListHead"), _MAX_THREADS):
        address = entry - link
        data = kernel.memory.read_prefix(address, layout.size)
        if len(data) == layout.size:
            yield Thread(address, Struct(kernel.memory, address, layout, data))


def current_thread(kernel: Kernel, processor: int | None = None) -> Thread | None:
    """The thread that a processor (by default the one that stopped) was running; None if that is not known."""
    from kdive.nt.processors import crash_processor, processor_thread

    try:
        if kernel.triage_thread and processor is None:
            return thread_at(kernel, kernel.triage_thread)
        address = processor_thread(kernel, crash_processor(kernel) if processor is None else processor)
        return thread_at(kernel, address) if address else None
    except KdiveError:
        return None


def current_process(kernel: Kernel) -> Process | None:
    """The process that owns the current thread; None if that is not known."""
    thread = current_thread(kernel)
    if thread is None:
        return None
    try:
        return process_at(kernel, thread.process_address)
    except KdiveError:
        return None


def find_process(kernel: Kernel, selector: int | str) -> Process:
    """Find a process by PID, ``_EPROCESS`` address or image name.

    Raises:
        SymbolNotFoundError: There is no such process.
    """
    if isinstance(selector, int) and selector >> 32:
        return process_at(kernel, selector)
    for process in processes(kernel):
        if process.pid == selector or (isinstance(selector, str) and process.name.lower() == selector.lower()):
            return process
    shown = selector if isinstance(selector, str) else f"PID {selector} ({selector:#x})"
    raise SymbolNotFoundError(f"no process {shown}", hint="!process 0 0 lists the processes that the target holds")


def find_thread(kernel: Kernel, selector: int) -> Thread:
    """Find a thread by ``_ETHREAD`` address or thread identifier.

    Raises:
        SymbolNotFoundError: There is no such thread.
    """
    if selector >> 32:
        return thread_at(kernel, selector)
    for process in processes(kernel):
        for thread in threads(kernel, process):
            if thread.tid == selector:
                return thread
    raise SymbolNotFoundError(f"no thread {selector:#x}")
