"""Translated memory: virtual addresses over physical memory through a page-table format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kdive.errors import MemoryAccessError
from kdive.memory.interface import Memory, Region
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_CACHE_LIMIT = 1 << 16


class PageTableEntry(Record, frozen=True):
    """One step of a page walk.

    Attributes:
        level: The entry's name in the architecture's manual (``PXE``, ``PPE``, ``PDE``, ``PTE``).
        address: Physical address of the entry.
        value: The raw entry, or None if it cannot be read.
        state: ``valid``, ``large``, ``transition``, ``prototype``, ``paged out``, ``demand zero`` or ``zero``.
    """

    level: str
    address: int
    value: int | None
    state: str


class Translation(Record, frozen=True):
    """The outcome of a page walk.

    Attributes:
        physical: Physical address, or None if the page cannot be reached.
        page_size: Bytes from the page's start that share the translation.
        entries: Every entry looked at, the root's first.
        reason: Why there is no physical address (empty if there is one).
    """

    physical: int | None
    page_size: int
    entries: tuple[PageTableEntry, ...]
    reason: str


class PageTables(Protocol):
    """A page-table format with its root."""

    root: int
    """Physical address of the top-level table."""

    def walk(self, memory: Memory, address: int) -> Translation:
        """Walk the tables for one virtual address."""
        ...

    def mappings(self, memory: Memory, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield ``(virtual, physical, size)`` of present pages of a virtual range, ascending."""
        ...


class TranslatedMemory(Memory):
    """Virtual memory of one address space.

    Translations are remembered for as long as the object lives; a live target makes a new one at each halt.

    Args:
        physical: The memory that the tables and pages lie in.
        tables: The page tables.
    """

    def __init__(self, physical: Memory, tables: PageTables) -> None:
        self.physical = physical
        self.tables = tables
        self._cache: dict[int, int] = {}

    def translate(self, address: int) -> Translation:
        """Walk the page tables for one address."""
        return self.tables.walk(self.physical, address)

    def _page(self, page: int) -> int:
        """Physical address of a 4 KiB virtual page, or -1."""
        found = self._cache.get(page)
        if found is None:
            translation = self.tables.walk(self.physical, page << 12)
            found = -1 if translation.physical is None else translation.physical
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            self._cache[page] = found
        return found

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        """See :meth:`Memory.read_available`."""
        end = min(address + size, 1 << 64)
        runs: list[tuple[int, list[bytes]]] = []
        expected = -1
        while address < end:
            start = self._page(address >> 12)
            length = min(0x1000 - (address & 0xFFF), end - address)
            if start < 0:
                address += length
                continue
            physical = start + (address & 0xFFF)
            # Neighbouring pages often follow each other physically: one read then serves many.
            while address + length < end:
                following = self._page((address + length) >> 12)
                if following != physical + length:
                    break
                length += min(0x1000, end - address - length)
            for at, data in self.physical.read_available(physical, length):
                virtual = address + (at - physical)
                if virtual == expected:
                    runs[-1][1].append(data)
                else:
                    runs.append((virtual, [data]))
                expected = virtual + len(data)
            address += length
        return [(start, b"".join(parts)) for start, parts in runs]

    def reason(self, address: int) -> str:
        """See :meth:`Memory.reason`."""
        translation = self.translate(address)
        if translation.physical is None:
            return translation.reason
        return self.physical.reason(translation.physical)

    def write(self, address: int, data: bytes) -> None:
        """Write through to physical memory, page by page."""
        at = 0
        while at < len(data):
            translation = self.translate(address + at)
            if translation.physical is None:
                raise MemoryAccessError(address + at, len(data) - at, translation.reason)
            length = min(0x1000 - ((address + at) & 0xFFF), len(data) - at)
            self.physical.write(translation.physical, data[at : at + length])
            at += length

    def regions(self) -> list[Region]:
        """See :meth:`Memory.regions`. Walks every table: use :meth:`mappings` for a part."""
        merged: list[Region] = []
        for virtual, _, size in self.tables.mappings(self.physical, 0, 1 << 64):
            if merged and merged[-1].end == virtual:
                merged[-1] = Region(merged[-1].start, merged[-1].size + size)
            else:
                merged.append(Region(virtual, size))
        return merged
