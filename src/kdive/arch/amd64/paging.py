"""AMD64 page tables: four and five levels, 4 KiB, 2 MiB and 1 GiB pages, and Windows' software PTEs.

Format facts: Intel SDM volume 3A, chapter "Paging"; the software forms are ``nt!_MMPTE_TRANSITION``,
``nt!_MMPTE_PROTOTYPE`` and ``nt!_MMPTE_SOFTWARE`` (bits 10 and 11, the same in every 64-bit Windows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.memory.paging import PageTableEntry, Translation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.memory.interface import Memory

_FRAME = 0x000F_FFFF_FFFF_F000
_PRESENT = 1
_LARGE = 1 << 7
_PROTOTYPE = 1 << 10
_TRANSITION = 1 << 11
LEVEL_NAMES = ("PTE", "PDE", "PPE", "PXE", "P5E")


def classify(value: int) -> str:
    """Name the state of a page-table entry that is not present."""
    if value == 0:
        return "zero"
    if value & _PROTOTYPE:
        return "prototype"
    if value & _TRANSITION:
        return "transition"
    return "paged out" if value >> 32 else "demand zero"


_REASONS = {
    "zero": "page not mapped",
    "prototype": "prototype PTE: the page is reached through its section",
    "paged out": "page is in the page file",
    "demand zero": "demand-zero page: never touched",
}


class Amd64PageTables:
    """The tables below one CR3 value.

    Args:
        cr3: Directory table base; low bits (PCID) are ignored.
        levels: 4, or 5 when CR4.LA57 is set.
    """

    def __init__(self, cr3: int, levels: int = 4) -> None:
        self.root = cr3 & _FRAME
        self.levels = levels

    def _canonical(self, address: int) -> bool:
        top = address >> (12 + 9 * self.levels - 1)
        return top == 0 or top == (1 << (64 - (12 + 9 * self.levels - 1))) - 1

    def walk(self, memory: Memory, address: int) -> Translation:
        """See :meth:`kdive.memory.paging.PageTables.walk`.

        A page in transition (off a working set, still in memory) translates; its entry's state says so.
        """
        if not self._canonical(address):
            return Translation(None, 0x1000, (), "address is not canonical")
        entries: list[PageTableEntry] = []
        table = self.root
        for level in range(self.levels - 1, -1, -1):
            shift = 12 + 9 * level
            at = table + ((address >> shift) & 0x1FF) * 8
            raw = memory.read_prefix(at, 8)
            if len(raw) < 8:
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, None, "unreadable"))
                return Translation(None, 1 << shift, tuple(entries), "page table not in memory")
            value = int.from_bytes(raw, "little")
            if not value & _PRESENT:
                state = classify(value)
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, state))
                if state == "transition":
                    if level:
                        table = value & 0x0000_FFFF_FFFF_F000
                        continue
                    physical = (value & 0x0000_FFFF_FFFF_F000) | (address & 0xFFF)
                    return Translation(physical, 0x1000, tuple(entries), "")
                return Translation(None, 1 << shift, tuple(entries), _REASONS[state])
            if level in (1, 2) and value & _LARGE:
                size = 1 << shift
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, "large"))
                physical = (value & _FRAME & ~(size - 1)) | (address & (size - 1))
                return Translation(physical, size, tuple(entries), "")
            entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, "valid"))
            table = value & _FRAME
        return Translation(table | (address & 0xFFF), 0x1000, tuple(entries), "")

    def mappings(self, memory: Memory, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See :meth:`kdive.memory.paging.PageTables.mappings`. Reads each table once, whole."""
        yield from self._mappings(memory, self.root, self.levels - 1, 0, start, end)

    def _mappings(
        self, memory: Memory, table: int, level: int, base: int, start: int, end: int
    ) -> Iterator[tuple[int, int, int]]:
        raw = memory.read_prefix(table, 0x1000)
        values = memoryview(raw[: len(raw) & ~7]).cast("Q")
        shift = 12 + 9 * level
        span = 1 << shift
        top = 1 << (11 + 9 * self.levels)
        for index, value in enumerate(values):
            if not value:
                continue
            virtual = base + index * span
            if level == self.levels - 1 and virtual & top:
                virtual |= ((1 << 64) - 1) & ~((top << 1) - 1)
            if virtual + span <= start or virtual >= end:
                continue
            if not value & _PRESENT:
                if level == 0 and classify(value) == "transition":
                    yield virtual, value & 0x0000_FFFF_FFFF_F000, span
                continue
            if level == 0:
                yield virtual, value & _FRAME, span
            elif level in (1, 2) and value & _LARGE:
                yield virtual, value & _FRAME & ~(span - 1), span
            elif (value & _FRAME) != table:
                # A self-map entry points back at its own table; following it would list the tables over and over.
                yield from self._mappings(memory, value & _FRAME, level - 1, virtual, start, end)


def flag_text(value: int) -> str:
    """Spell the flags of a present entry as ``!pte`` does: ``---DA--KWEV``.

    From the left: copy-on-write (C), prototype (-), global (G), large (L), dirty (D), accessed (A), cache disabled (N),
    write-through (T), user (U) or kernel (K), writable (W) or read-only (R), executable (E), valid (V).
    """
    return "".join(
        (
            "C" if value & 1 << 9 else "-",
            "G" if value & 1 << 8 else "-",
            "L" if value & _LARGE else "-",
            "D" if value & 1 << 6 else "-",
            "A" if value & 1 << 5 else "-",
            "N" if value & 1 << 4 else "-",
            "T" if value & 1 << 3 else "-",
            "U" if value & 1 << 2 else "K",
            "W" if value & 1 << 1 else "R",
            "-" if value >> 63 else "E",
            "V" if value & 1 else "-",
        )
    )
