"""The header that every 64-bit kernel dump starts with.

Format facts: ``DUMP_HEADER64`` of ``ntiodump.h``/``mindumpdef.h``, checked against dumps of builds 17134 to 22000. The
header is 0x2000 bytes long; the writer fills it with ``PAGE`` before it sets fields, so a field that was never set
reads as ``PAGEPAGE…``.
"""

from __future__ import annotations

import datetime
from enum import IntEnum
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.record import Record, field

if TYPE_CHECKING:
    from kdive.formats.buffer import Buffer

HEADER_SIZE = 0x2000
CONTEXT_OFFSET = 0x348
CONTEXT_SIZE = 3000
EXCEPTION_OFFSET = 0xF00
EXCEPTION_SIZE = 0x98
PAGE_SIZE = 0x1000
MAX_HEADER_RUNS = 42
FILLER32 = int.from_bytes(b"PAGE", "little")
FILLER64 = int.from_bytes(b"PAGEPAGE", "little")
_RUNS_OFFSET = 0x88


class DumpType(IntEnum):
    """``DUMP_TYPE_*``: how the memory behind the header is stored."""

    FULL = 1
    SUMMARY = 2
    HEADER = 3
    TRIAGE = 4
    BITMAP_FULL = 5
    BITMAP_KERNEL = 6
    AUTOMATIC = 7
    KERNEL = 8
    KERNEL_AND_USER = 9
    COMPLETE = 10


DUMP_TYPE_NAMES = {
    DumpType.FULL: "full memory dump",
    DumpType.SUMMARY: "kernel summary dump",
    DumpType.HEADER: "header only",
    DumpType.TRIAGE: "triage (mini) dump",
    DumpType.BITMAP_FULL: "full bitmap dump",
    DumpType.BITMAP_KERNEL: "kernel bitmap dump",
    DumpType.AUTOMATIC: "automatic dump",
    DumpType.KERNEL: "kernel memory dump (RDMP)",
    DumpType.KERNEL_AND_USER: "kernel and user memory dump (RDMP)",
    DumpType.COMPLETE: "complete memory dump (RDMP)",
}


class PhysicalRun(Record, frozen=True):
    """``page_count`` pages from page frame ``base_page``."""

    base_page: int
    page_count: int


class ExceptionRecord(Record, frozen=True):
    """``EXCEPTION_RECORD64``."""

    code: int
    flags: int
    record: int
    address: int
    parameters: tuple[int, ...]


class DumpHeader(Record, frozen=True):
    """The set fields of the header; a field that the writer left as filler is None (or empty)."""

    major_version: int
    build: int
    directory_table_base: int
    pfn_database: int | None
    ps_loaded_module_list: int | None
    ps_active_process_head: int | None
    machine: int
    processors: int
    bugcheck_code: int
    bugcheck_parameters: tuple[int, int, int, int]
    version_user: str
    kd_debugger_data_block: int | None
    dump_type: int
    required_size: int | None
    system_time: int | None
    system_uptime: int | None
    comment: str
    minidump_fields: int | None
    secondary_data_state: int | None
    product_type: int | None
    suite_mask: int | None
    writer_status: int | None
    secondary_version: int | None
    attributes: int | None
    boot_id: int | None
    context: bytes
    exception: ExceptionRecord | None
    runs: tuple[PhysicalRun, ...] = field(default=())

    @property
    def checked_build(self) -> bool:
        """Whether the major version says "checked" (0xC) rather than "free" (0xF)."""
        return self.major_version == 0xC

    @property
    def time(self) -> datetime.datetime | None:
        """When the system stopped, in UTC."""
        return None if self.system_time is None else filetime(self.system_time)

    @property
    def uptime(self) -> datetime.timedelta | None:
        """How long the system had been running. The header counts in 100 ns units."""
        if self.system_uptime is None or self.system_uptime >> 62:
            return None
        return datetime.timedelta(microseconds=self.system_uptime // 10)


def filetime(value: int) -> datetime.datetime | None:
    """Turn a FILETIME (100 ns units since 1601) into a UTC time; None if it is out of range."""
    try:
        return datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=value // 10)
    except OverflowError:
        return None


def _set32(buffer: Buffer, offset: int) -> int | None:
    value = buffer.u32(offset)
    return None if value == FILLER32 else value


def _set64(buffer: Buffer, offset: int) -> int | None:
    value = buffer.u64(offset)
    return None if value == FILLER64 else value


def _text(buffer: Buffer, offset: int, size: int) -> str:
    raw = buffer.bytes(offset, size)
    if raw.startswith(b"PAGE"):
        return ""
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def parse_exception(buffer: Buffer, offset: int) -> ExceptionRecord:
    """Decode an ``EXCEPTION_RECORD64`` (0x98 bytes)."""
    count = min(buffer.u32(offset + 0x18), 15)
    parameters = tuple(buffer.u64(offset + 0x20 + 8 * index) for index in range(count))
    return ExceptionRecord(
        buffer.u32(offset), buffer.u32(offset + 4), buffer.u64(offset + 8), buffer.u64(offset + 16), parameters
    )


def _runs(buffer: Buffer) -> tuple[PhysicalRun, ...]:
    count = buffer.u32(_RUNS_OFFSET)
    if count in (0, FILLER32):
        return ()
    if count > MAX_HEADER_RUNS:
        raise FormatError(
            f"the dump header lists {count} physical runs; it has room for {MAX_HEADER_RUNS}", offset=_RUNS_OFFSET
        )
    runs: list[PhysicalRun] = []
    for index in range(count):
        at = _RUNS_OFFSET + 16 + 16 * index
        run = PhysicalRun(buffer.u64(at), buffer.u64(at + 8))
        if run.base_page + run.page_count > 1 << 52:
            raise FormatError(f"physical run {index} ends beyond 64 bits of address", offset=at)
        runs.append(run)
    return tuple(runs)


def parse_header(buffer: Buffer) -> DumpHeader:
    """Decode the 0x2000-byte header at the start of ``buffer``.

    Raises:
        FormatError: The buffer is shorter than a header, or the run list cannot be right.
    """
    buffer.check(0, HEADER_SIZE)
    exception = None
    if buffer.bytes(EXCEPTION_OFFSET, 4) != b"PAGE":
        record = parse_exception(buffer, EXCEPTION_OFFSET)
        exception = record if record.code or record.address else None
    context = buffer.bytes(CONTEXT_OFFSET, CONTEXT_SIZE)
    version = buffer.u8(0x104D)
    dump_type = buffer.u32(0xF98)
    return DumpHeader(
        major_version=buffer.u32(8),
        build=buffer.u32(0xC),
        directory_table_base=buffer.u64(0x10),
        pfn_database=_set64(buffer, 0x18),
        ps_loaded_module_list=_set64(buffer, 0x20),
        ps_active_process_head=_set64(buffer, 0x28),
        machine=buffer.u32(0x30),
        processors=buffer.u32(0x34),
        bugcheck_code=buffer.u32(0x38),
        bugcheck_parameters=(buffer.u64(0x40), buffer.u64(0x48), buffer.u64(0x50), buffer.u64(0x58)),
        version_user=_text(buffer, 0x60, 32),
        kd_debugger_data_block=_set64(buffer, 0x80),
        dump_type=dump_type,
        required_size=_set64(buffer, 0xFA0),
        system_time=_set64(buffer, 0xFA8),
        comment=_text(buffer, 0xFB0, 128),
        system_uptime=_set64(buffer, 0x1030),
        minidump_fields=_set32(buffer, 0x1038),
        secondary_data_state=_set32(buffer, 0x103C),
        product_type=_set32(buffer, 0x1040),
        suite_mask=_set32(buffer, 0x1044),
        writer_status=_set32(buffer, 0x1048),
        secondary_version=None if buffer.bytes(0x104C, 4) == b"PAGE" else version,
        attributes=_set32(buffer, 0x1050),
        boot_id=_set32(buffer, 0x1054),
        context=b"" if context.startswith(b"PAGEPAGE") else context,
        exception=exception,
        runs=() if dump_type == DumpType.TRIAGE else _runs(buffer),
    )
