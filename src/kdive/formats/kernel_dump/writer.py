"""Writes 64-bit kernel dumps: a header and the pages of physical memory behind it.

Nothing here opens files or reads targets: the pages come from an iterator, the file's bytes leave through another. So a
live system can be dumped while it is read, and one dump be written again as another kind.

Format facts: see :mod:`kdive.formats.kernel_dump.header` and :mod:`kdive.formats.kernel_dump.pages`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from msgspec import structs

from kdive.errors import FormatError
from kdive.formats.kernel_dump.header import (
    CONTEXT_OFFSET,
    CONTEXT_SIZE,
    EXCEPTION_OFFSET,
    EXCEPTION_SIZE,
    HEADER_SIZE,
    MAX_HEADER_RUNS,
    PAGE_SIZE,
    DumpType,
    PhysicalRun,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdive.formats.kernel_dump.header import DumpHeader, ExceptionRecord

_RUNS_OFFSET = 0x88
_COMMENT_SIZE = 128
_VERSION_SIZE = 32
_MAX_PARAMETERS = 15
_BITMAP = HEADER_SIZE + 0x38
_MAX_BITMAP_PAGES = 1 << 34


def merged_runs(runs: Iterable[PhysicalRun]) -> tuple[PhysicalRun, ...]:
    """Sort runs, drop empty ones and join those that touch.

    Raises:
        FormatError: Two of them overlap.
    """
    found: list[PhysicalRun] = []
    for run in sorted((run for run in runs if run.page_count), key=lambda run: run.base_page):
        if found and run.base_page < (end := found[-1].base_page + found[-1].page_count):
            raise FormatError(
                f"physical runs overlap: one ends at page {end:#x}, the next begins at {run.base_page:#x}"
            )
        if found and run.base_page == found[-1].base_page + found[-1].page_count:
            found[-1] = PhysicalRun(found[-1].base_page, found[-1].page_count + run.page_count)
        else:
            found.append(run)
    return tuple(found)


def encode_exception(record: ExceptionRecord) -> bytes:
    """Write an ``EXCEPTION_RECORD64``."""
    parameters = record.parameters[:_MAX_PARAMETERS]
    head = struct.pack(
        "<IIQQI4x", record.code, record.flags, record.record, record.address, len(parameters)
    ) + struct.pack(f"<{len(parameters)}Q", *parameters)
    return head.ljust(EXCEPTION_SIZE, b"\0")


def encode_header(header: DumpHeader) -> bytes:
    """Write a header: what :func:`~kdive.formats.kernel_dump.header.parse_header` reads; None leaves the filler.

    Raises:
        FormatError: It has more runs than a header has room for.
    """
    raw = bytearray(b"PAGE" * (HEADER_SIZE // 4))
    raw[4:8] = b"DU64"

    def put(form: str, offset: int, *values: int | None) -> None:
        if None not in values:
            struct.pack_into(form, raw, offset, *values)

    def text(offset: int, size: int, value: str) -> None:
        raw[offset : offset + size] = value.encode("utf-8")[: size - 1].ljust(size, b"\0")

    put("<IIQ", 8, header.major_version, header.build, header.directory_table_base)
    put("<Q", 0x18, header.pfn_database)
    put("<Q", 0x20, header.ps_loaded_module_list)
    put("<Q", 0x28, header.ps_active_process_head)
    put("<III4x", 0x30, header.machine, header.processors, header.bugcheck_code)
    put("<4Q", 0x40, *header.bugcheck_parameters)
    text(0x60, _VERSION_SIZE, header.version_user)
    put("<Q", 0x80, header.kd_debugger_data_block)
    if len(header.runs) > MAX_HEADER_RUNS:
        raise FormatError(f"{len(header.runs)} physical runs; a dump header has room for {MAX_HEADER_RUNS}")
    if header.runs:
        put("<I4xQ", _RUNS_OFFSET, len(header.runs), sum(run.page_count for run in header.runs))
        for index, run in enumerate(header.runs):
            put("<QQ", _RUNS_OFFSET + 16 + 16 * index, run.base_page, run.page_count)
    if header.context:
        raw[CONTEXT_OFFSET : CONTEXT_OFFSET + CONTEXT_SIZE] = header.context[:CONTEXT_SIZE].ljust(CONTEXT_SIZE, b"\0")
    if header.exception is not None:
        raw[EXCEPTION_OFFSET : EXCEPTION_OFFSET + EXCEPTION_SIZE] = encode_exception(header.exception)
    put("<I4x", 0xF98, header.dump_type)
    put("<Q", 0xFA0, header.required_size)
    put("<Q", 0xFA8, header.system_time)
    text(0xFB0, _COMMENT_SIZE, header.comment)
    put("<Q", 0x1030, header.system_uptime)
    put("<I", 0x1038, header.minidump_fields)
    put("<I", 0x103C, header.secondary_data_state)
    put("<I", 0x1040, header.product_type)
    put("<I", 0x1044, header.suite_mask)
    put("<I", 0x1048, header.writer_status)
    if header.secondary_version is not None:
        put("<4B", 0x104C, 0, header.secondary_version, 0, 0)
    put("<I", 0x1050, header.attributes)
    put("<I", 0x1054, header.boot_id)
    return bytes(raw)


def _bitmap_head(runs: Sequence[PhysicalRun], pages: int) -> bytes:
    """What lies between the header and the pages of a full bitmap dump: the bitmap and where the pages begin."""
    bits = runs[-1].base_page + runs[-1].page_count if runs else 0
    if bits > _MAX_BITMAP_PAGES:
        raise FormatError(f"physical memory up to page {bits:#x} is more than a page bitmap is made for")
    bitmap = bytearray((bits + 7) // 8)
    for run in runs:
        start, end = run.base_page, run.base_page + run.page_count
        while start < end and start % 8:
            bitmap[start // 8] |= 1 << start % 8
            start += 1
        whole = (end - start) // 8
        if whole > 0:
            bitmap[start // 8 : start // 8 + whole] = b"\xff" * whole
            start += 8 * whole
        for page in range(start, end):
            bitmap[page // 8] |= 1 << page % 8
    first = (_BITMAP + len(bitmap) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1)
    head = b"FDMPDUMP" + bytes(0x18) + struct.pack("<QQQ", first, pages, bits)
    return (head + bitmap).ljust(first - HEADER_SIZE, b"\0")


def full_dump(header: DumpHeader, runs: Iterable[PhysicalRun], pages: Iterable[bytes]) -> Iterator[bytes]:
    """Make a full dump: ``DUMP_TYPE_FULL``, or a full bitmap dump when there are more runs than a header can list.

    Args:
        header: What the header is to say; its type, runs and size are set here.
        runs: The page frames, in any order.
        pages: Their contents, in ascending order of page frames, in pieces of any size.

    Yields:
        The bytes of the file, in order.

    Raises:
        FormatError: The pages are not as many bytes as the runs say, or the runs overlap.
    """
    ordered = merged_runs(runs)
    count = sum(run.page_count for run in ordered)
    listed = len(ordered) <= MAX_HEADER_RUNS
    middle = b"" if listed else _bitmap_head(ordered, count)
    size = HEADER_SIZE + len(middle) + count * PAGE_SIZE
    kind = DumpType.FULL if listed else DumpType.BITMAP_FULL
    yield encode_header(structs.replace(header, dump_type=kind, runs=ordered if listed else (), required_size=size))
    if middle:
        yield middle
    left = count * PAGE_SIZE
    for piece in pages:
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        raise FormatError(
            f"the pages are {'more' if left < 0 else f'{left:#x} bytes less'} than the {count} that the runs promise"
        )


def full_dump_size(runs: Iterable[PhysicalRun]) -> int:
    """Bytes that a full dump of these runs takes."""
    ordered = merged_runs(runs)
    count = sum(run.page_count for run in ordered)
    middle = 0 if len(ordered) <= MAX_HEADER_RUNS else len(_bitmap_head(ordered, count))
    return HEADER_SIZE + middle + count * PAGE_SIZE
