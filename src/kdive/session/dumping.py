"""What goes into a dump of a session's target: the header, the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import CommandError, KdiveError
from kdive.formats.kernel_dump.header import CONTEXT_SIZE, PAGE_SIZE, DumpHeader, DumpType, ExceptionRecord
from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_ARM64
from kdive.nt.clock import SHARED_DATA
from kdive.nt.physical import physical_runs
from kdive.record import Record
from kdive.session.crash import recorded_bugcheck
from kdive.targets.live import ExceptionEvent, LiveTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdive.formats.kernel_dump.header import PhysicalRun
    from kdive.memory.interface import Memory
    from kdive.session.session import Session

_MACHINES = {"amd64": MACHINE_AMD64, "arm64": MACHINE_ARM64}
_FREE_BUILD = 0xF
_PIECE = 1 << 16


class DumpPlan(Record, frozen=True):
    """What a dump will hold.

    Attributes:
        header: What its header says.
        runs: The page frames.
        note: How they were found, if not from the kernel's own list.
    """

    header: DumpHeader
    runs: tuple[PhysicalRun, ...]
    note: str = ""


def plan_dump(session: Session, comment: str) -> DumpPlan:
    """Gather what a full dump of the target needs besides its memory.

    Raises:
        CommandError: The target's memory is not known by physical pages.
        KdiveError: The target does not answer.
    """
    dump = session.dump
    if dump is not None:
        if dump.dump.pages is None:
            raise CommandError("this dump holds no physical memory")
        return DumpPlan(dump.dump.header, tuple(dump.dump.pages.runs()))
    target = session.target
    if not isinstance(target, LiveTarget):
        raise CommandError("only live targets and dumps can be dumped")
    runs, note = physical_runs(session.kernel, session.cancel)
    return DumpPlan(_live_header(session, target, comment), runs, note)


def _live_header(session: Session, target: LiveTarget, comment: str) -> DumpHeader:
    kernel = session.kernel
    hints = target.hints

    def address(name: str) -> int | None:
        try:
            return kernel.symbol(name)
        except KdiveError:
            return None

    def pointed(name: str) -> int | None:
        place = address(name)
        try:
            return kernel.memory.u64(place) if place is not None else None
        except KdiveError:
            return None

    code, parameters = recorded_bugcheck(session)
    parameters = (*parameters, 0, 0, 0, 0)
    time, uptime, product, suites = _shared_data(session)
    return DumpHeader(
        major_version=_FREE_BUILD,
        build=kernel.build or 0,
        directory_table_base=target.address_space(),
        pfn_database=pointed("MmPfnDatabase"),
        ps_loaded_module_list=(hints.module_list if hints is not None else 0) or address("PsLoadedModuleList"),
        ps_active_process_head=address("PsActiveProcessHead"),
        machine=_MACHINES[target.machine],
        processors=target.processors,
        bugcheck_code=code,
        bugcheck_parameters=(parameters[0], parameters[1], parameters[2], parameters[3]),
        version_user="",
        kd_debugger_data_block=(hints.debugger_data if hints is not None else 0) or address("KdDebuggerDataBlock"),
        dump_type=DumpType.FULL,
        required_size=None,
        system_time=time,
        system_uptime=uptime,
        comment=comment,
        minidump_fields=None,
        secondary_data_state=0,
        product_type=product,
        suite_mask=suites,
        writer_status=0,
        secondary_version=None,
        attributes=None,
        boot_id=None,
        context=target.raw_context(target.processor).ljust(CONTEXT_SIZE, b"\0"),
        exception=_exception(session),
    )


def _exception(session: Session) -> ExceptionRecord | None:
    """The exception of the last stop."""
    last = session.run.last if session.run is not None else None
    event = last.event if last is not None else None
    if not isinstance(event, ExceptionEvent):
        return None
    return ExceptionRecord(event.code, 0, 0, event.address, tuple(event.parameters))


def _shared_data(session: Session) -> tuple[int | None, int | None, int | None, int | None]:
    """System time and uptime in 100 ns, product type and suites, as the kernel shares them with user mode."""
    try:
        view = session.kernel.struct("_KUSER_SHARED_DATA", SHARED_DATA)
        time = view["SystemTime.LowPart"] | view["SystemTime.High1Time"] << 32
        uptime = view["InterruptTime.LowPart"] | view["InterruptTime.High1Time"] << 32
        return time & (1 << 64) - 1, uptime & (1 << 64) - 1, view.get("NtProductType"), view.get("SuiteMask")
    except KdiveError:
        return None, None, None, None


class PageReader:
    """Reads the pages of runs in ascending order; what cannot be read becomes zeros and is counted.

    Args:
        memory: Physical memory.
        runs: The page frames, ascending.
        progress: Called with the bytes that were read so far; may raise to stop.

    Attributes:
        missing: Pages of which not all could be read.
    """

    def __init__(self, memory: Memory, runs: Sequence[PhysicalRun], progress: Callable[[int], None]) -> None:
        self._memory = memory
        self._runs = runs
        self._progress = progress
        self.missing = 0

    def pages(self) -> Iterator[bytes]:
        """Yield the pages' bytes in pieces."""
        done = 0
        for run in self._runs:
            start, size = run.base_page * PAGE_SIZE, run.page_count * PAGE_SIZE
            at = 0
            while at < size:
                length = min(_PIECE, size - at)
                yield self._piece(start + at, length)
                at += length
                done += length
                self._progress(done)

    def _piece(self, address: int, length: int) -> bytes:
        found = list(self._memory.chunks(address, length))
        if len(found) == 1 and len(found[0][1]) == length:
            return found[0][1]
        data = bytearray(length)
        covered = [0] * (length // PAGE_SIZE)
        for place, piece in found:
            offset = place - address
            data[offset : offset + len(piece)] = piece
            for page in range(offset // PAGE_SIZE, (offset + len(piece) + PAGE_SIZE - 1) // PAGE_SIZE):
                low, high = max(offset, page * PAGE_SIZE), min(offset + len(piece), (page + 1) * PAGE_SIZE)
                covered[page] += high - low
        self.missing += sum(1 for count in covered if count < PAGE_SIZE)
        return bytes(data)
