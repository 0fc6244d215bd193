"""Triage dumps (type 4, "minidumps"): fragments of virtual memory and copies of a few structures.

Format facts: ``TRIAGE_DUMP64`` of ``ntiodump.h`` (at 0x2000), checked against dumps of builds 17134 to 22000. Offsets
are from the start of the file; zero means "not written".
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kdive.errors import FormatError
from kdive.formats.kernel_dump.header import HEADER_SIZE
from kdive.record import Record, field

if TYPE_CHECKING:
    from kdive.formats.buffer import Buffer

_BLOCK = struct.Struct("<18I")
_DATA_BLOCK = struct.Struct("<QII")
DRIVER_ENTRY_SIZE = 0x90
_UNLOADED_ENTRY_SIZE = 0x38
_MAX_DRIVERS = 4096
_MAX_BLOCKS = 1 << 16
_OVERFLOWED = 0x100
_OPTIONS_UNSET = 0xFFFFFFFF


class TriageDriver(Record, frozen=True):
    """A loaded driver as the triage dump lists it.

    Attributes:
        path: The name in the string pool, often a whole path.
        base: Load address.
        size: ``SizeOfImage``.
        timestamp: ``TimeDateStamp`` of the image.
        checksum: Checksum of the image.
        entry_point: Address of the entry point, 0 if not recorded.
    """

    path: str
    base: int
    size: int
    timestamp: int
    checksum: int
    entry_point: int


class UnloadedDriver(Record, frozen=True):
    """A driver that was unloaded: its name (cut to 12 characters by the kernel), start and end address."""

    name: str
    start: int
    end: int


class Fragment(Record, frozen=True):
    """A piece of virtual memory: ``address``, and where its bytes lie in the file."""

    address: int
    offset: int
    size: int
    origin: str


class TriageBlock(Record, frozen=True, dict=True):
    """The decoded triage block.

    Attributes:
        missing: What the file should hold but does not, for the user.
    """

    buffer: Buffer
    service_pack_build: int
    size_of_dump: int
    valid_offset: int
    context_offset: int
    exception_offset: int
    mm_offset: int
    unloaded_offset: int
    prcb_offset: int
    process_offset: int
    thread_offset: int
    call_stack_offset: int
    call_stack_size: int
    driver_list_offset: int
    driver_count: int
    string_pool_offset: int
    string_pool_size: int
    broken_driver_offset: int
    options: int
    top_of_stack: int
    data_page_address: int = 0
    data_page_offset: int = 0
    data_page_size: int = 0
    debugger_data_offset: int = 0
    debugger_data_size: int = 0
    data_blocks_offset: int = 0
    data_blocks_count: int = 0
    missing: list[str] = field(default_factory=list[str])

    @property
    def overflowed(self) -> bool:
        """Whether the writer ran out of room.

        Folklore: fast dump writers (seen in every dump of builds 17134 to 22000) leave the options as 0xFFFFFFFF, which
        does not mean that every option is set.
        """
        return self.options != _OPTIONS_UNSET and bool(self.options & _OVERFLOWED)

    @property
    def valid(self) -> bool:
        """Whether the ``TRGD`` mark is where the header says."""
        offset = self.valid_offset
        return 0 < offset <= len(self.buffer) - 4 and self.buffer.bytes(offset, 4) == b"TRGD"

    def string(self, offset: int) -> str:
        """Read a counted UTF-16 string (32-bit character count, then characters) of the string pool."""
        if not offset or offset + 4 > len(self.buffer):
            return ""
        count = self.buffer.u32(offset)
        if count > 1024:
            return ""
        available = max(0, min(count, (len(self.buffer) - offset - 4) // 2))
        return self.buffer.utf16(offset + 4, available)

    @cached_property
    def drivers(self) -> list[TriageDriver]:
        """The loaded drivers, in list order (the kernel first)."""
        drivers: list[TriageDriver] = []
        for index in range(self.driver_count):
            offset = self.driver_list_offset + index * DRIVER_ENTRY_SIZE
            if offset + DRIVER_ENTRY_SIZE > len(self.buffer):
                self.missing.append(f"{self.driver_count - index} of {self.driver_count} driver entries")
                break
            entry = self.buffer.sub(offset, DRIVER_ENTRY_SIZE)
            base = entry.u64(0x38)
            if not base:
                continue
            drivers.append(
                TriageDriver(
                    self.string(entry.u32(0)) or f"driver_{index}",
                    base,
                    entry.u32(0x48),
                    entry.u32(0x88),
                    entry.u32(0x80),
                    entry.u64(0x40),
                )
            )
        return drivers

    @cached_property
    def unloaded(self) -> list[UnloadedDriver]:
        """The drivers that were unloaded, most recent last as written."""
        if not self.unloaded_offset or self.unloaded_offset + 8 > len(self.buffer):
            return []
        count = min(self.buffer.u32(self.unloaded_offset), 256)
        found: list[UnloadedDriver] = []
        for index in range(count):
            offset = self.unloaded_offset + 8 + index * _UNLOADED_ENTRY_SIZE
            if offset + _UNLOADED_ENTRY_SIZE > len(self.buffer):
                break
            length = min(self.buffer.u16(offset), 24)
            name = self.buffer.utf16(offset + 0x10, length // 2)
            found.append(UnloadedDriver(name, self.buffer.u64(offset + 0x28), self.buffer.u64(offset + 0x30)))
        return found

    @property
    def broken_driver(self) -> str:
        """The driver that the kernel itself blamed, or an empty string."""
        return self.string(self.broken_driver_offset)

    def fragments(self, debugger_data_address: int | None) -> list[Fragment]:
        """Every piece of virtual memory that the dump holds, clipped to what the file really has."""
        wanted: list[Fragment] = []
        if self.call_stack_offset and self.call_stack_size:
            wanted.append(Fragment(self.top_of_stack, self.call_stack_offset, self.call_stack_size, "call stack"))
        if self.data_page_offset and self.data_page_size:
            wanted.append(Fragment(self.data_page_address, self.data_page_offset, self.data_page_size, "data page"))
        if debugger_data_address and self.debugger_data_offset and self.debugger_data_size:
            wanted.append(
                Fragment(debugger_data_address, self.debugger_data_offset, self.debugger_data_size, "debugger data")
            )
        room = max(0, (len(self.buffer) - self.data_blocks_offset) // _DATA_BLOCK.size)
        count = min(self.data_blocks_count, room) if self.data_blocks_offset else 0
        if count < self.data_blocks_count:
            self.missing.append(f"{self.data_blocks_count - count} of {self.data_blocks_count} data block entries")
        if count:
            table = self.buffer.slice(self.data_blocks_offset, count * _DATA_BLOCK.size)
            wanted.extend(
                Fragment(address, offset, size, "data block")
                for address, offset, size in _DATA_BLOCK.iter_unpack(table)
                if size
            )
        kept: list[Fragment] = []
        lost = 0
        for fragment in wanted:
            present = min(fragment.size, len(self.buffer) - fragment.offset)
            if present < fragment.size:
                lost += fragment.size - max(present, 0)
            if present > 0:
                kept.append(Fragment(fragment.address, fragment.offset, present, fragment.origin))
        if lost:
            self.missing.append(f"{lost:#x} bytes of memory blocks")
        return kept


def parse_triage(buffer: Buffer) -> TriageBlock:
    """Decode the triage block at 0x2000.

    The oldest triage dumps (Windows 2000/XP before service packs) end their block at 0x50: the fields behind stay zero.

    Raises:
        FormatError: The block is cut off, or its counts cannot be right.
    """
    values: tuple[int, ...] = buffer.unpack(_BLOCK, HEADER_SIZE)
    if values[13] > _MAX_DRIVERS:
        raise FormatError(f"the triage block lists {values[13]} drivers", offset=HEADER_SIZE + 0x34)
    top = buffer.u64(HEADER_SIZE + 0x48)
    first_data = min((offset for offset in values[5:17] if offset > HEADER_SIZE), default=HEADER_SIZE + 0x80)
    newer = first_data >= HEADER_SIZE + 0x80 and len(buffer) >= HEADER_SIZE + 0x80
    tail: tuple[int, ...] = (0,) * 7
    if newer:
        tail = (buffer.u64(HEADER_SIZE + 0x60), *(buffer.u32(HEADER_SIZE + 0x68 + 4 * index) for index in range(6)))
    if tail[6] > _MAX_BLOCKS:
        raise FormatError(f"the triage block lists {tail[6]} data blocks", offset=HEADER_SIZE + 0x7C)
    names = TriageBlock.__struct_fields__[1:-1]
    numbers: dict[str, Any] = dict(zip(names, (*values, top, *tail), strict=True))
    block = TriageBlock(buffer, **numbers)
    if block.size_of_dump > len(buffer):
        block.missing.append(f"{block.size_of_dump - len(buffer):#x} bytes at the end of the file")
    return block
