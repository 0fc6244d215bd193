"""Virtual memory that consists of loose pieces, as in a triage dump."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kdive.memory.interface import Memory, Region

if TYPE_CHECKING:
    from collections.abc import Iterable


class FragmentMemory(Memory):
    """Pieces of memory at fixed addresses.

    Where pieces overlap, the one given first wins. The pieces are cut to disjoint ones once, so that a read is one
    bisection and a join.

    Args:
        fragments: ``(address, view of the bytes)``.
        absent: The reason given for other addresses.
    """

    def __init__(self, fragments: Iterable[tuple[int, memoryview]], absent: str = "not in the dump") -> None:
        self._absent = absent
        self._starts: list[int] = []
        self._views: list[memoryview] = []
        for address, view in fragments:
            self.add(address, view)

    def add(self, address: int, view: memoryview) -> None:
        """Add a piece; where memory is there already, that stays."""
        starts, views = self._starts, self._views
        at = address
        end = address + len(view)
        while at < end:
            index = bisect_right(starts, at) - 1
            if index >= 0 and at < starts[index] + len(views[index]):
                at = starts[index] + len(views[index])
                continue
            stop = min(end, starts[index + 1]) if index + 1 < len(starts) else end
            starts.insert(index + 1, at)
            views.insert(index + 1, view[at - address : stop - address])
            at = stop

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        """See :meth:`Memory.read_available`."""
        end = address + size
        runs: list[tuple[int, bytes]] = []
        index = max(bisect_right(self._starts, address) - 1, 0)
        while index < len(self._starts) and self._starts[index] < end:
            start = self._starts[index]
            view = self._views[index]
            index += 1
            low, high = max(address, start), min(end, start + len(view))
            if low >= high:
                continue
            data = bytes(view[low - start : high - start])
            if runs and runs[-1][0] + len(runs[-1][1]) == low:
                runs[-1] = (runs[-1][0], runs[-1][1] + data)
            else:
                runs.append((low, data))
        return runs

    def reason(self, address: int) -> str:
        """See :meth:`Memory.reason`."""
        del address
        return self._absent

    def regions(self) -> list[Region]:
        """See :meth:`Memory.regions`."""
        merged: list[Region] = []
        for start, view in zip(self._starts, self._views, strict=True):
            if merged and merged[-1].end == start:
                merged[-1] = Region(merged[-1].start, merged[-1].size + len(view))
            else:
                merged.append(Region(start, len(view)))
        return merged
