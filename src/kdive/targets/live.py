"""What a live target offers beyond a dump: events, registers that can be set, going on, stopping."""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING

from kdive.record import Record
from kdive.targets.base import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.arch.context import RegisterContext
    from kdive.arch.watchpoint import Watchpoint
    from kdive.cancel import CancelToken
    from kdive.memory.paging import PageTables
    from kdive.targets.driver_files import DriverFiles
    from kdive.targets.hardware import Hardware


class Disposition(StrEnum):
    """What becomes of the exception that a target is stopped at when it goes on."""

    HANDLED = "handled"
    NOT_HANDLED = "not_handled"


class ExceptionEvent(Record, frozen=True):
    """The target stopped: at an exception, which breakpoints, single steps and break-ins are too.

    Attributes:
        processor: The processor that stopped.
        thread: Address of the ``_ETHREAD`` that it runs, 0 if not known.
        ip: Where it stands.
        code: The exception code.
        address: Where the exception was raised.
        parameters: Its parameters.
        first_chance: Whether the target's own handlers have not been asked yet.
        slots: The debug registers that fired, by their numbers.
    """

    processor: int
    thread: int
    ip: int
    code: int
    address: int
    parameters: tuple[int, ...]
    first_chance: bool
    slots: tuple[int, ...] = ()


class ModuleEvent(Record, frozen=True):
    """A module came or went; the target waits to be sent on.

    Attributes:
        processor: The processor that reports it.
        ip: Where it stands.
        path: The image's path as the kernel knows it.
        base: Its load address.
        size: ``SizeOfImage``, 0 if the target does not say.
        unload: Whether it goes.
    """

    processor: int
    ip: int
    path: str
    base: int
    size: int
    unload: bool


class PromptEvent(Record, frozen=True):
    """The target asks a question and waits for the answer; ``limit`` is the most bytes that it takes."""

    processor: int
    text: str
    limit: int


class RestartEvent(Record, frozen=True):
    """The target has started anew: every address, handle and breakpoint of before is void. Its first stop follows."""


class LostEvent(Record, frozen=True):
    """The link to the target is gone, with the reason."""

    reason: str


TargetEvent = ExceptionEvent | ModuleEvent | PromptEvent | RestartEvent | LostEvent


class KernelHints(Record, frozen=True):
    """Where a target says that its kernel is.

    Attributes:
        base: Load address of the kernel.
        build: ``NtBuildNumber``, 0 if not known.
        module_list: Address of ``PsLoadedModuleList``, 0 if not known.
        debugger_data: Address of the debugger data block, 0 if not known.
    """

    base: int
    build: int = 0
    module_list: int = 0
    debugger_data: int = 0


class LinkStatistics(Record, frozen=True):
    """What crossed the link to a target.

    Attributes:
        requests: Requests that were made.
        sent: Packets that were sent.
        received: Packets that arrived, in order and for the first time.
        bytes_out: Bytes that were sent.
        bytes_in: Bytes that arrived.
        resent: Packets that were sent again.
        damaged: Packets that cannot be trusted.
        duplicates: Packets that arrived again.
        resets: How often numbers began anew.
        junk: Bytes that belong to no packet.
        transfer_size: Bytes that one read asks for at most.
        cache_hits: Reads of memory that needed no request.
        cache_misses: Reads of memory that needed some.
        prints_lost: Prints that were pushed out before anybody took them.
        recording: File that the session is recorded in.
        recording_failure: Why that ended early.
    """

    requests: int
    sent: int
    received: int
    bytes_out: int
    bytes_in: int
    resent: int
    damaged: int
    duplicates: int
    resets: int
    junk: int
    transfer_size: int
    cache_hits: int
    cache_misses: int
    prints_lost: int = 0
    recording: str = ""
    recording_failure: str = ""


class LiveTarget(Target):
    """A running system.

    Everything is called on the thread that owns the session. Between calls the target may stop by itself; whoever owns
    it polls for that.

    Attributes:
        halted: Whether it stands still and answers.
        processor: The processor that its registers are read of by default: the one that reported the last stop.
        thread: Address of the ``_ETHREAD`` that this processor runs, 0 if not known.
        hints: Where the kernel is; None before the target has said so.
        takes_dispositions: Whether it can be told that an exception was not handled.
        hardware: The machine below, None if the target does not reach it.
        files: Files that the target may have of the host.
    """

    takes_dispositions = True
    halted: bool
    processor: int
    thread: int
    hints: KernelHints | None
    hardware: Hardware | None = None
    files: DriverFiles

    @abstractmethod
    def poll(self, seconds: float, cancel: CancelToken | None = None) -> TargetEvent | None:
        """Wait for what happens next, at most so long; None if nothing did.

        Raises:
            CancelledError: The token was cancelled during the wait; nothing is lost by that.
        """

    @abstractmethod
    def identify(self) -> None:
        """Ask the halted target who it is, and set ``hints``; needed again after a restart.

        Raises:
            TargetError: It does not answer.
        """

    @abstractmethod
    def resume(
        self, disposition: Disposition = Disposition.HANDLED, *, step: bool = False, absorbed: bool = False
    ) -> None:
        """Let the target go on.

        Args:
            disposition: What has become of the exception that it stopped for.
            step: Run one instruction of its present processor only.
            absorbed: This stop is of no interest: what was asked for before it, a step or a break, is still awaited.

        Raises:
            TargetError: It could not be told so.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """Ask the target to stop; the stop arrives as an event."""

    def withdraw_interrupt(self) -> None:
        """Forget that the target was asked to stop: another stop came first, and nobody wants that one any more.

        A transport whose requests to stop cannot be overtaken has nothing to do.
        """

    @abstractmethod
    def registers(self, processor: int) -> RegisterContext:
        """Read the registers of a processor.

        Raises:
            TargetError: They cannot be read.
        """

    @abstractmethod
    def special_registers(self, processor: int) -> dict[str, int]:
        """Read the control, debug and descriptor table registers of a processor.

        Raises:
            TargetError: They cannot be read.
        """

    @abstractmethod
    def write_registers(self, processor: int, values: dict[str, int]) -> None:
        """Set registers of a processor; those not named keep their values.

        Raises:
            TargetError: They cannot be written, or one of that name is not there.
        """

    @abstractmethod
    def insert_breakpoint(self, address: int) -> int:
        """Set a breakpoint in kernel space and return its handle.

        Raises:
            TargetError: The target refuses.
        """

    @abstractmethod
    def insert_patch(self, address: int, physical: int) -> int:
        """Set a breakpoint by writing the breakpoint instruction to physical memory, and return its handle.

        This is how code of user space is stopped at, in whatever process has the page mapped.

        Args:
            address: Its virtual address.
            physical: Its physical address.

        Raises:
            TargetError: The target cannot do this.
        """

    @abstractmethod
    def set_watchpoints(self, slots: Sequence[Watchpoint | None]) -> None:
        """Say what the debug registers watch, on every processor, from the next time that the target goes on.

        Args:
            slots: What each debug register watches; those not named watch nothing.

        Raises:
            TargetError: There are not so many, or one cannot watch this.
        """

    @abstractmethod
    def remove_breakpoint(self, handle: int) -> None:
        """Remove a breakpoint. One that the target has removed by itself already is no error."""

    @abstractmethod
    def page_tables(self, root: int) -> PageTables:
        """Page tables of an address space of this system."""

    @abstractmethod
    def answer(self, text: str) -> None:
        """Answer the question that the target waits with."""

    @abstractmethod
    def reboot(self) -> None:
        """Restart the target."""

    @abstractmethod
    def crash(self) -> None:
        """Make the target bugcheck."""

    @abstractmethod
    def take_output(self) -> list[str]:
        """Return what the target has printed since the last call, in lines or parts of lines."""

    @abstractmethod
    def link_statistics(self) -> LinkStatistics:
        """What crossed the link so far."""

    # --- for dumps -------------------------------------------------------------------------------------------------

    @abstractmethod
    def raw_context(self, processor: int) -> bytes:
        """The ``CONTEXT`` record of a processor, with the debug registers that are in force.

        Raises:
            TargetError: It cannot be read.
        """

    @abstractmethod
    def lift_breakpoints(self) -> None:
        """Take the breakpoint instructions out of the target's memory; they come back when it goes on.

        Raises:
            TargetError: The target does not answer.
        """

    @abstractmethod
    def address_space(self) -> int:
        """Physical address of the page tables that the stopped processor reaches the kernel through.

        Raises:
            TargetError: It cannot be read.
        """
