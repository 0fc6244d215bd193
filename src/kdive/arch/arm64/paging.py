"""ARM64 page tables: 4 KiB granule, 48-bit addresses, TTBR0 below and TTBR1 above.

Format facts: Arm Architecture Reference Manual, "The AArch64 Virtual Memory System Architecture"; software PTEs as in
``nt!_MMPTE_TRANSITION`` and ``nt!_MMPTE_PROTOTYPE`` of ARM64 kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.memory.paging import PageTableEntry, Translation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.memory.interface import Memory

_FRAME = 0x0000_FFFF_FFFF_F000
_VALID = 1
_TABLE = 1 << 1
_PROTOTYPE = 1 << 10
_TRANSITION = 1 << 11
LEVEL_NAMES = ("PTE", "PDE", "PPE", "PXE")


def classify(value: int) -> str:
    """Name the state of a descriptor that is not valid."""
    if value == 0:
        return "zero"
    if value & _PROTOTYPE:
        return "prototype"
    if value & _TRANSITION:
        return "transition"
    return "paged out" if value >> 32 else "demand zero"


class Arm64PageTables:
    """The tables below TTBR0 (user half) and TTBR1 (kernel half).

    Args:
        ttbr0: Root of the lower half.
        ttbr1: Root of the upper half. Windows' directory table base serves both halves when only one is known: its
            kernel root is the same table, or the page behind it.
    """

    def __init__(self, ttbr0: int, ttbr1: int | None = None) -> None:
        self.root = ttbr0 & _FRAME
        self.kernel_root = self.root if ttbr1 is None else ttbr1 & _FRAME

    def walk(self, memory: Memory, address: int) -> Translation:
        """See :meth:`kdive.memory.paging.PageTables.walk`."""
        top = address >> 48
        if top not in (0, 0xFFFF):
            return Translation(None, 0x1000, (), "address is not canonical")
        table = self.kernel_root if address >> 55 & 1 else self.root
        entries: list[PageTableEntry] = []
        for level in range(3, -1, -1):
            shift = 12 + 9 * level
            at = table + ((address >> shift) & 0x1FF) * 8
            raw = memory.read_prefix(at, 8)
            if len(raw) < 8:
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, None, "unreadable"))
                return Translation(None, 1 << shift, tuple(entries), "page table not in memory")
            value = int.from_bytes(raw, "little")
            if not value & _VALID:
                state = classify(value)
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, state))
                if state == "transition" and level == 0:
                    return Translation((value & _FRAME) | (address & 0xFFF), 0x1000, tuple(entries), "")
                reason = "page is in the page file" if state == "paged out" else "page not mapped"
                if state == "prototype":
                    reason = "prototype PTE: the page is reached through its section"
                return Translation(None, 1 << shift, tuple(entries), reason)
            if not value & _TABLE and level:
                if level == 3:
                    entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, "reserved"))
                    return Translation(None, 1 << shift, tuple(entries), "reserved level 0 block descriptor")
                size = 1 << shift
                entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, "large"))
                return Translation((value & _FRAME & ~(size - 1)) | (address & (size - 1)), size, tuple(entries), "")
            entries.append(PageTableEntry(LEVEL_NAMES[level], at, value, "valid"))
            table = value & _FRAME
        return Translation(table | (address & 0xFFF), 0x1000, tuple(entries), "")

    def mappings(self, memory: Memory, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See :meth:`kdive.memory.paging.PageTables.mappings`."""
        yield from self._mappings(memory, self.root, 3, 0, start, end)
        yield from self._mappings(memory, self.kernel_root, 3, 0xFFFF << 48, start, end)

    def _mappings(
        self, memory: Memory, table: int, level: int, base: int, start: int, end: int
    ) -> Iterator[tuple[int, int, int]]:
        raw = memory.read_prefix(table, 0x1000)
        span = 1 << (12 + 9 * level)
        for index, value in enumerate(memoryview(raw[: len(raw) & ~7]).cast("Q")):
            virtual = base + index * span
            if not value & _VALID or virtual + span <= start or virtual >= end:
                continue
            if level == 0 or not value & _TABLE:
                yield virtual, value & _FRAME & ~(span - 1), span
            elif (value & _FRAME) != table:
                yield from self._mappings(memory, value & _FRAME, level - 1, virtual, start, end)
