"""Makes a bootable image of the guest: an ELF file for QEMU's -kernel, with the kernel at any base.

Physical memory (the first megabyte is the firmware's): 0x100000 boot code, 0x101000 parameters, 0x108000 shared user
data, 0x110000 page tables, 0x1F0000 top of the boot stack, 0x200000 kernel, behind it the drivers. Images are laid
out and relocated here, so that the guest needs no loader; page tables are ready as well, with 4 KiB pages for images
(their sections' rights) and 2 MiB pages elsewhere.
"""

from __future__ import annotations

import struct
from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
PARAMETERS, SHARED, TABLES, BOOT_CODE, BOOT_STACK, KERNEL = 0x101000, 0x108000, 0x110000, 0x100000, 0x1F0000, 0x200000
WINDOW = 0xFFFF800000000000
SHARED_DATA = 0xFFFFF78000000000
SELF_MAP_SLOT = 493
KERNEL_BASE = 0xFFFFF80000200000
DRIVER_BASE = 0xFFFFF80040000000
PAGE, LARGE_PAGE = 0x1000, 0x200000
LOCAL_APIC = 0xFEE00000
PRESENT, WRITE, UNCACHED, LARGE, NO_EXECUTE = 1, 2, 0x10, 0x80, 1 << 63
_SECTION_EXECUTE, _SECTION_WRITE = 0x20000000, 0x80000000
_RELOCATION_DIR64 = 10


class Pe:
    """A PE image laid out in memory order and relocated.

    Args:
        data: The file.
        base: Where it will lie.
    """

    def __init__(self, data: bytes, base: int) -> None:
        header = struct.unpack_from("<I", data, 0x3C)[0]
        sections, optional_size = struct.unpack_from("<H12xH", data, header + 6)
        optional = header + 24
        self.base = base
        self.entry = struct.unpack_from("<I", data, optional + 16)[0]
        preferred = struct.unpack_from("<Q", data, optional + 24)[0]
        size, headers = struct.unpack_from("<II", data, optional + 56)
        self.size = (size + PAGE - 1) & ~(PAGE - 1)
        image = bytearray(self.size)
        image[:headers] = data[:headers]
        self.rights: list[tuple[int, int, int]] = [(0, headers, 0)]
        for index in range(sections):
            at = optional + optional_size + 40 * index
            virtual, rva, raw, place = struct.unpack_from("<IIII", data, at + 8)
            image[rva : rva + min(virtual, raw)] = data[place : place + min(virtual, raw)]
            self.rights.append((rva, virtual, struct.unpack_from("<I", data, at + 36)[0]))
        self._relocate(image, base - preferred, *struct.unpack_from("<II", data, optional + 112 + 5 * 8))
        struct.pack_into("<Q", image, optional + 24, base)
        self.data = bytes(image)

    @staticmethod
    def _relocate(image: bytearray, delta: int, rva: int, size: int) -> None:
        at, end = rva, rva + size
        while at + 8 <= end and delta:
            page, length = struct.unpack_from("<II", image, at)
            for place in range(at + 8, at + length, 2):
                entry = struct.unpack_from("<H", image, place)[0]
                if entry >> 12 == _RELOCATION_DIR64:
                    where = page + (entry & 0xFFF)
                    value = struct.unpack_from("<Q", image, where)[0]
                    struct.pack_into("<Q", image, where, (value + delta) & (1 << 64) - 1)
            at += max(length, 8)

    def flags(self, rva: int) -> int:
        """The page-table flags of the page at an RVA."""
        for start, size, rights in self.rights:
            if start <= rva < start + ((size + PAGE - 1) & ~(PAGE - 1)):
                write = WRITE if rights & _SECTION_WRITE else 0
                return PRESENT | write | (0 if rights & _SECTION_EXECUTE else NO_EXECUTE)
        return PRESENT | NO_EXECUTE


class Tables:
    """Four-level page tables under construction, for physical memory from :data:`TABLES` on."""

    def __init__(self) -> None:
        self._tables: list[list[int]] = [[0] * 512]
        self._tables[0][SELF_MAP_SLOT] = TABLES | PRESENT | WRITE | NO_EXECUTE

    def _table(self, virtual: int, levels: int) -> list[int]:
        table = self._tables[0]
        for level in range(levels):
            index = virtual >> (39 - 9 * level) & 511
            if not table[index]:
                table[index] = TABLES + PAGE * len(self._tables) | PRESENT | WRITE
                self._tables.append([0] * 512)
            table = self._tables[((table[index] & 0xFFFFFFFFFF000) - TABLES) // PAGE]
        return table

    def page(self, virtual: int, physical: int, flags: int) -> None:
        """Map a page of 4 KiB."""
        self._table(virtual, 3)[virtual >> 12 & 511] = physical | flags

    def large_page(self, virtual: int, physical: int, flags: int) -> None:
        """Map a page of 2 MiB."""
        self._table(virtual, 2)[virtual >> 21 & 511] = physical | flags | LARGE

    def data(self) -> bytes:
        """The tables' bytes."""
        return b"".join(struct.pack("<512Q", *table) for table in self._tables)


def _elf(segments: list[tuple[int, bytes]], entry: int) -> bytes:
    """An ELF file with loadable segments and the note by which QEMU finds its 32-bit entry (PVH)."""
    note = struct.pack("<III4sI", 4, 4, 18, b"Xen\0", entry)
    count = len(segments) + 1
    at = 64 + 56 * count
    headers = [struct.pack("<IIQQQQQQ", 4, 4, at, 0, 0, len(note), len(note), 4)]
    body = [note]
    at += len(note)
    for physical, data in segments:
        headers.append(struct.pack("<IIQQQQQQ", 1, 7, at, physical, physical, len(data), len(data), 1))
        body.append(data)
        at += len(data)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, 0, 0, 64, 56, count, 64, 0, 0)
    return b"".join([head, *headers, *body])


def build_image(memory: int, base: int = KERNEL_BASE, seed: int = 0, images: Path = IMAGES) -> bytes:
    """Make a bootable image.

    Args:
        memory: Bytes of memory of the machine, a multiple of 2 MiB, at most 1 GiB.
        base: Load address of the kernel, a multiple of 2 MiB.
        seed: Passed to the guest.
        images: Where the built parts are.
    """
    tables = Tables()
    for physical in range(0, memory, LARGE_PAGE):
        tables.large_page(WINDOW + physical, physical, PRESENT | WRITE | NO_EXECUTE)
    tables.large_page(WINDOW + LOCAL_APIC, LOCAL_APIC, PRESENT | WRITE | UNCACHED | NO_EXECUTE)
    tables.large_page(0, 0, PRESENT | WRITE)
    tables.page(SHARED_DATA, SHARED, PRESENT | WRITE | NO_EXECUTE)
    segments = [(BOOT_CODE, (images / "boot.bin").read_bytes())]
    modules: list[bytes] = []
    kernel = Pe((images / "ntoskrnl.exe").read_bytes(), base)
    place = KERNEL
    virtual = DRIVER_BASE
    for index, path in enumerate([images / "ntoskrnl.exe", *sorted(images.glob("*.sys"))]):
        image = kernel if index == 0 else Pe(path.read_bytes(), virtual)
        for rva in range(0, image.size, PAGE):
            tables.page(image.base + rva, place + rva, image.flags(rva))
        segments.append((place, image.data))
        if index:
            modules.append(struct.pack("<QII48s", image.base, image.size, image.entry, path.name.encode()))
            virtual += (image.size + 0xFFFF) & ~0xFFFF
        place += (image.size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1)
    parameters = struct.pack(
        "<QQQQIIQII",
        base + kernel.entry,
        WINDOW + BOOT_STACK,
        WINDOW + PARAMETERS,
        base,
        kernel.size,
        kernel.entry,
        memory,
        len(modules),
        seed,
    )
    segments += [(PARAMETERS, parameters + b"".join(modules)), (SHARED, bytes(PAGE)), (TABLES, tables.data())]
    return _elf(sorted(segments), BOOT_CODE)
