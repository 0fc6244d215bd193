"""Where each physical page lies in a dump file.

A :class:`PageMap` answers "which file offset holds page frame N". Three layouts exist: runs (``DUMP_TYPE_FULL`` and the
RDMP kinds: pages of consecutive ranges, back to back) and bitmaps (one bit per page frame, pages in bit order).

Format facts: ``SUMMARY_DUMP64``/``BITMAP_DUMP`` and ``RDMP_HEADER64`` of ``ntiodump.h``, and observed dumps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kdive.errors import FormatError
from kdive.formats.kernel_dump.header import HEADER_SIZE, PAGE_SIZE, PhysicalRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.formats.buffer import Buffer

_MAX_PAGES = 1 << 40


class PageMap(ABC):
    """The page frames that a dump holds."""

    page_count: int
    """Pages that the metadata says are present."""

    @abstractmethod
    def locate(self, pfn: int, count: int) -> tuple[int, int] | None:
        """Find where page ``pfn`` lies.

        Returns:
            ``(file offset, pages)``: how many of the ``count`` wanted pages follow each other there; None if ``pfn`` is
            not in the dump.
        """

    @abstractmethod
    def runs(self) -> Sequence[PhysicalRun]:
        """The present pages as ascending runs."""

    @property
    @abstractmethod
    def end_offset(self) -> int:
        """File offset behind the last page, for noticing a file that was cut short."""


class RunPageMap(PageMap):
    """Pages of ascending or unordered runs, stored back to back from ``first_offset``."""

    def __init__(self, runs: Sequence[PhysicalRun], first_offset: int) -> None:
        offset = first_offset
        placed: list[tuple[int, int, int]] = []
        for run in runs:
            placed.append((run.base_page, run.page_count, offset))
            offset += run.page_count * PAGE_SIZE
        self._end = offset
        placed.sort()
        self._runs = [PhysicalRun(base, count) for base, count, _ in placed]
        self._bases = [base for base, _, _ in placed]
        self._offsets = [start for _, _, start in placed]
        self.page_count = sum(run.page_count for run in runs)

    def locate(self, pfn: int, count: int) -> tuple[int, int] | None:
        """See :meth:`PageMap.locate`."""
        index = bisect_right(self._bases, pfn) - 1
        if index < 0:
            return None
        run = self._runs[index]
        delta = pfn - run.base_page
        if delta >= run.page_count:
            return None
        return self._offsets[index] + delta * PAGE_SIZE, min(count, run.page_count - delta)

    def runs(self) -> Sequence[PhysicalRun]:
        """See :meth:`PageMap.runs`."""
        return self._runs

    @property
    def end_offset(self) -> int:
        """See :meth:`PageMap.end_offset`."""
        return self._end


class BitmapPageMap(PageMap):
    """One bit per page frame; present pages stored in bit order from ``first_offset``.

    The bitmap is not looked at before the first lookup. Then one vectorised population count over 64-page words gives a
    cumulative table, and a lookup is one array access and one population count.
    """

    def __init__(self, bitmap: memoryview, bits: int, first_offset: int, page_count: int) -> None:
        self._bitmap = bitmap
        self._bits = bits
        self._first = first_offset
        self.page_count = page_count

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        import numpy as np

        padded = bytes(self._bitmap) + bytes(-len(self._bitmap) % 8)
        words = np.frombuffer(padded, dtype="<u8")
        if hasattr(np, "bitwise_count"):
            counts = np.bitwise_count(words)
        else:
            octets = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
            counts = octets[np.frombuffer(padded, dtype=np.uint8)].reshape(-1, 8).sum(axis=1)
        before = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(counts, out=before[1:])
        return words, before

    def locate(self, pfn: int, count: int) -> tuple[int, int] | None:
        """See :meth:`PageMap.locate`."""
        if pfn >= self._bits:
            return None
        words, before = self._tables
        index, bit = divmod(pfn, 64)
        word = int(words[index])
        if not word >> bit & 1:
            return None
        offset = self._first + (int(before[index]) + (word & ((1 << bit) - 1)).bit_count()) * PAGE_SIZE
        found = 1
        while found < count and pfn + found < self._bits:
            index, bit = divmod(pfn + found, 64)
            rest = ~(int(words[index]) >> bit) & ((1 << (64 - bit)) - 1)
            ones = (rest & -rest).bit_length() - 1 if rest else 64 - bit
            found += ones
            if rest:
                break
        return offset, min(found, count, self._bits - pfn)

    def runs(self) -> Sequence[PhysicalRun]:
        """See :meth:`PageMap.runs`."""
        import numpy as np

        bits = np.unpackbits(np.frombuffer(bytes(self._bitmap), dtype=np.uint8), bitorder="little")[: self._bits]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], bits, [0])).astype(np.int8)))
        return [PhysicalRun(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]

    @property
    def end_offset(self) -> int:
        """See :meth:`PageMap.end_offset`."""
        return self._first + self.page_count * PAGE_SIZE


def full_dump_pages(runs: Sequence[PhysicalRun]) -> PageMap:
    """Pages of a type 1 dump: the header's runs, from behind the header."""
    return RunPageMap(runs, HEADER_SIZE)


def _bitmap_map(buffer: Buffer, bitmap_offset: int, bits: int, first: int, count: int) -> PageMap:
    if bits > _MAX_PAGES or count > bits:
        raise FormatError(f"the page bitmap claims {count} of {bits} pages", offset=HEADER_SIZE)
    if first < bitmap_offset:
        raise FormatError(f"the first page lies at {first:#x}, inside the bitmap", offset=HEADER_SIZE)
    present = min((bits + 7) // 8, max(0, len(buffer) - bitmap_offset))
    # A bitmap that is cut short still locates the pages of the part that is there.
    return BitmapPageMap(buffer.slice(bitmap_offset, present), min(bits, present * 8), first, count)


def bitmap_dump_pages(buffer: Buffer) -> PageMap:
    """Pages of a type 5 or 6 dump: ``SDMP``/``FDMP`` and a bitmap behind the header."""
    signature = buffer.bytes(HEADER_SIZE, 8)
    if signature not in (b"SDMPDUMP", b"FDMPDUMP"):
        raise FormatError("no SDMP/FDMP signature behind the dump header", offset=HEADER_SIZE)
    first = buffer.u64(HEADER_SIZE + 0x20)
    count = buffer.u64(HEADER_SIZE + 0x28)
    bits = buffer.u64(HEADER_SIZE + 0x30)
    return _bitmap_map(buffer, HEADER_SIZE + 0x38, bits, first, count)


def summary_dump_pages(buffer: Buffer) -> PageMap:
    """Pages of a type 2 dump (``SUMMARY_DUMP64``): 32-bit counts, the bitmap at +0x28."""
    signature = buffer.bytes(HEADER_SIZE, 8)
    if signature != b"SDMPDUMP":
        raise FormatError("no SDMP signature behind the dump header", offset=HEADER_SIZE)
    first = buffer.u32(HEADER_SIZE + 0xC)
    bits = buffer.u32(HEADER_SIZE + 0x10)
    count = buffer.u32(HEADER_SIZE + 0x14)
    if first == 0 and buffer.u64(HEADER_SIZE + 0x20):
        # Folklore: some writers keep type 2 in the header but store the newer bitmap header.
        return bitmap_dump_pages(buffer)
    return _bitmap_map(buffer, HEADER_SIZE + 0x28, bits, first, count)


def rdmp_dump_pages(buffer: Buffer, *, complete: bool) -> PageMap:
    """Pages of a type 8, 9 or 0xA dump: ``RDMP`` and a list of page-frame ranges.

    Args:
        buffer: The file.
        complete: True for type 0xA, whose counters before the ranges differ.
    """
    if buffer.bytes(HEADER_SIZE + 4, 8) != b"RDMPDUMP":
        raise FormatError("no RDMP signature behind the dump header", offset=HEADER_SIZE)
    at = HEADER_SIZE + 0x10
    metadata_size = buffer.u64(at)
    first = buffer.u64(at + 8)
    if metadata_size - 0x20 != first - 0x2040:
        raise FormatError(
            f"RDMP metadata size {metadata_size:#x} and first page offset {first:#x} do not belong together", offset=at
        )
    at += 16
    if complete:
        ranges = buffer.u32(at)
        at += 16
        end = min(first, at + 16 * ranges)
    else:
        at += 16
        end = first
    end = min(end, len(buffer))
    room = max(0, (end - at) // 16)
    words = buffer.slice(at, room * 16).cast("Q") if room else memoryview(b"").cast("B")
    runs: list[PhysicalRun] = []
    for index in range(room):
        pfn, count = words[2 * index], words[2 * index + 1]
        if count == 0:
            break
        if pfn + count > _MAX_PAGES:
            raise FormatError(f"page range {index} ({pfn:#x}, {count:#x}) cannot be right", offset=at + 16 * index)
        runs.append(PhysicalRun(pfn, count))
    return RunPageMap(runs, first)
