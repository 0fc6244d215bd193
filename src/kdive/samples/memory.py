"""Physical memory and page tables under construction."""

from __future__ import annotations

PAGE = 0x1000
_PRESENT_WRITABLE = 0x63
_USER = 4


class PhysicalBuilder:
    """Page frames, handed out in order.

    Args:
        first: First page frame number to hand out.
        gap: Page frames to skip after every eighth, so that runs and bitmaps have holes.
    """

    def __init__(self, first: int = 0x100, gap: int = 3) -> None:
        self.pages: dict[int, bytearray] = {}
        self._next = first
        self._gap = gap

    def allocate(self) -> int:
        """Take a zeroed page; return its frame number."""
        pfn = self._next
        self._next += 1
        if len(self.pages) % 8 == 7:
            self._next += self._gap
        self.pages[pfn] = bytearray(PAGE)
        return pfn

    def write(self, address: int, data: bytes) -> None:
        """Write inside one allocated page."""
        page = self.pages[address >> 12]
        page[address & 0xFFF : (address & 0xFFF) + len(data)] = data

    def read_u64(self, address: int) -> int:
        """Read a word of an allocated page."""
        page = self.pages[address >> 12]
        return int.from_bytes(page[address & 0xFFF : (address & 0xFFF) + 8], "little")


class AddressSpaceBuilder:
    """AMD64 page tables over a :class:`PhysicalBuilder`.

    Args:
        physical: Where tables and pages go.
        levels: 4 or 5.
        kernel: An address space whose upper half is shared.
    """

    def __init__(self, physical: PhysicalBuilder, levels: int = 4, kernel: AddressSpaceBuilder | None = None) -> None:
        self.physical = physical
        self.levels = levels
        self.root = physical.allocate() << 12
        if kernel is not None:
            for index in range(256, 512):
                entry = physical.read_u64(kernel.root + 8 * index)
                physical.write(self.root + 8 * index, entry.to_bytes(8, "little"))

    def _table(self, table: int, index: int, user: bool) -> int:
        entry = self.physical.read_u64(table + 8 * index)
        if not entry & 1:
            entry = self.physical.allocate() << 12 | _PRESENT_WRITABLE | (_USER if user else 0)
            self.physical.write(table + 8 * index, entry.to_bytes(8, "little"))
        return entry & 0x000F_FFFF_FFFF_F000

    def entry_address(self, virtual: int, level: int = 0) -> int:
        """Physical address of a page-table entry, making the tables above it."""
        table = self.root
        user = not virtual >> 63
        for step in range(self.levels - 1, level, -1):
            table = self._table(table, virtual >> (12 + 9 * step) & 0x1FF, user)
        return table + 8 * (virtual >> (12 + 9 * level) & 0x1FF)

    def set_entry(self, virtual: int, value: int, level: int = 0) -> None:
        """Set a raw entry: any software state, or a large page at level 1 or 2."""
        self.physical.write(self.entry_address(virtual, level), value.to_bytes(8, "little"))

    def map(self, virtual: int, pfn: int) -> None:
        """Map a 4 KiB page."""
        self.set_entry(virtual, pfn << 12 | _PRESENT_WRITABLE | (0 if virtual >> 63 else _USER))

    def write(self, virtual: int, data: bytes) -> None:
        """Write bytes, mapping fresh pages where there are none."""
        at = 0
        while at < len(data):
            address = virtual + at
            entry = self.physical.read_u64(self.entry_address(address))
            if not entry & 1:
                self.map(address & ~0xFFF, self.physical.allocate())
                entry = self.physical.read_u64(self.entry_address(address))
            count = min(PAGE - (address & 0xFFF), len(data) - at)
            self.physical.write((entry & 0x000F_FFFF_FFFF_F000) | (address & 0xFFF), data[at : at + count])
            at += count
