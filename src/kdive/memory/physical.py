"""Physical memory of a page dump: page frames looked up in the file's own page map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.formats.kernel_dump.header import PAGE_SIZE
from kdive.memory.interface import Memory, Region

if TYPE_CHECKING:
    from kdive.formats.kernel_dump.pages import PageMap

_PAGE_MASK = PAGE_SIZE - 1


class PagedFileMemory(Memory):
    """Physical memory held in a file.

    Args:
        view: The mapped file.
        pages: Where each page frame lies.
    """

    def __init__(self, view: memoryview, pages: PageMap) -> None:
        self._view = view
        self._pages = pages

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        """See :meth:`Memory.read_available`."""
        end = address + size
        if size > 0 and (address & _PAGE_MASK) + size <= PAGE_SIZE:
            found = self._pages.locate(address >> 12, 1)
            if found is None:
                return []
            offset = found[0] + (address & _PAGE_MASK)
            data = bytes(self._view[offset : offset + size])
            return [(address, data)] if data else []
        runs: list[tuple[int, list[bytes]]] = []
        expected = -1
        while address < end:
            pfn, skip = address >> 12, address & _PAGE_MASK
            wanted = (end - (address - skip) + _PAGE_MASK) >> 12
            found = self._pages.locate(pfn, wanted)
            if found is None:
                address = (pfn + 1) << 12
                continue
            offset, count = found
            length = min(count * PAGE_SIZE - skip, end - address)
            data = bytes(self._view[offset + skip : offset + skip + length])
            if data:
                if address == expected:
                    runs[-1][1].append(data)
                else:
                    runs.append((address, [data]))
                expected = address + len(data)
            address += length
        return [(start, b"".join(parts)) for start, parts in runs]

    def reason(self, address: int) -> str:
        """See :meth:`Memory.reason`."""
        if self._pages.locate(address >> 12, 1) is None:
            return "physical page not in the dump"
        return "the dump file is cut off before this page"

    def regions(self) -> list[Region]:
        """See :meth:`Memory.regions`."""
        return [Region(run.base_page << 12, run.page_count << 12) for run in self._pages.runs()]
