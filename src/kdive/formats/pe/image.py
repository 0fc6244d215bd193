"""PE headers, sections and directories, over a file or over a mapped image.

Format facts: ``winnt.h`` and Microsoft's "PE Format" specification.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.formats.guid import guid_hex
from kdive.record import Record

if TYPE_CHECKING:
    import mmap

MACHINE_I386 = 0x014C
MACHINE_ARMNT = 0x01C4
MACHINE_AMD64 = 0x8664
MACHINE_ARM64 = 0xAA64

DIRECTORY_EXPORT = 0
DIRECTORY_IMPORT = 1
DIRECTORY_RESOURCE = 2
DIRECTORY_EXCEPTION = 3
DIRECTORY_BASERELOC = 5
DIRECTORY_DEBUG = 6

_FILE_HEADER = struct.Struct("<HHIIIHH")
_SECTION = struct.Struct("<8sIIIIIIHHI")
_DEBUG_ENTRY = struct.Struct("<IIHHIIII")
_MAX_SECTIONS = 96
_DEBUG_TYPE_CODEVIEW = 2


class Section(Record, frozen=True):
    """A section header: where it lies in the image and in the file."""

    name: str
    virtual_size: int
    rva: int
    raw_size: int
    raw_offset: int
    characteristics: int


class PdbIdentity(Record, frozen=True):
    """Which PDB belongs to an image: the CodeView ``RSDS`` record.

    Attributes:
        guid: 32 upper-case hex digits.
        age: The age.
        path: The PDB's path as the linker recorded it.
    """

    guid: str
    age: int
    path: str

    @property
    def file_name(self) -> str:
        """The last part of the recorded path."""
        return self.path.replace("\\", "/").rsplit("/", 1)[-1]

    @property
    def key(self) -> str:
        """The symbol-store key: GUID and age in hex, glued."""
        return f"{self.guid}{self.age:X}"


class PeImage:
    """A PE image.

    Args:
        data: The file's bytes, or the image as mapped in memory (holes zero-filled).
        mapped: True if ``data`` is laid out by RVA rather than by file offset.
        name: For messages.

    Raises:
        FormatError: The headers are not those of a PE image.
    """

    def __init__(self, data: bytes | memoryview | mmap.mmap, *, mapped: bool = False, name: str = "PE image") -> None:
        self.buffer = Buffer(data, name)
        self.mapped = mapped
        buffer = self.buffer
        if buffer.bytes(0, 2) != b"MZ":
            raise FormatError(f"{name} does not start with MZ", offset=0)
        self.nt_offset = buffer.u32(0x3C)
        if buffer.bytes(self.nt_offset, 4) != b"PE\0\0":
            raise FormatError(f"{name} has no PE signature", offset=self.nt_offset)
        (
            self.machine,
            sections,
            self.timestamp,
            self.symbol_table,
            self.symbol_count,
            optional_size,
            self.characteristics,
        ) = buffer.unpack(_FILE_HEADER, self.nt_offset + 4)
        self.optional_offset = optional = self.nt_offset + 24
        self.magic = buffer.u16(optional)
        if self.magic not in (0x10B, 0x20B):
            raise FormatError(f"{name} has optional header magic {self.magic:#x}", offset=optional)
        self.is_64bit = self.magic == 0x20B
        self.entry_rva = buffer.u32(optional + 16)
        self.image_base = buffer.u64(optional + 24) if self.is_64bit else buffer.u32(optional + 28)
        self.section_alignment = buffer.u32(optional + 32)
        self.file_alignment = buffer.u32(optional + 36)
        self.image_size = buffer.u32(optional + 56)
        self.headers_size = buffer.u32(optional + 60)
        self.checksum = buffer.u32(optional + 64)
        self.subsystem = buffer.u16(optional + 68)
        self.dll_characteristics = buffer.u16(optional + 70)
        directories = optional + (112 if self.is_64bit else 96)
        count = min(buffer.u32(directories - 4), 16)
        self.directories: list[tuple[int, int]] = []
        for index in range(count):
            at = directories + 8 * index
            if at + 8 > optional + optional_size:
                break
            self.directories.append((buffer.u32(at), buffer.u32(at + 4)))
        self.sections: list[Section] = []
        if sections > _MAX_SECTIONS:
            raise FormatError(f"{name} claims {sections} sections", offset=self.nt_offset + 6)
        for index in range(sections):
            raw = buffer.unpack(_SECTION, optional + optional_size + index * _SECTION.size)
            label = raw[0].rstrip(b"\0").decode("latin-1")
            self.sections.append(Section(label, raw[1], raw[2], raw[3], raw[4], raw[9]))

    def directory(self, index: int) -> tuple[int, int]:
        """Return ``(rva, size)`` of a data directory, ``(0, 0)`` if absent."""
        return self.directories[index] if index < len(self.directories) else (0, 0)

    def offset_of(self, rva: int) -> int | None:
        """Return the offset in the underlying buffer of ``rva``, or None if nothing backs it."""
        if self.mapped or rva < self.headers_size:
            return rva
        for section in self.sections:
            delta = rva - section.rva
            if 0 <= delta < max(section.virtual_size, section.raw_size):
                return section.raw_offset + delta if delta < section.raw_size else None
        return None

    def read_available(self, rva: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``rva``; short where the file holds no more of the section."""
        offset = self.offset_of(rva)
        if offset is None or size <= 0 or offset >= len(self.buffer):
            return b""
        end = offset + size
        if not self.mapped and rva >= self.headers_size:
            section = next(s for s in self.sections if s.rva <= rva < s.rva + max(s.virtual_size, s.raw_size))
            end = min(end, section.raw_offset + section.raw_size)
        return bytes(self.buffer.view[offset : min(end, len(self.buffer))])

    def read(self, rva: int, size: int) -> bytes:
        """Return exactly ``size`` bytes at ``rva``.

        Raises:
            FormatError: The image does not hold them.
        """
        data = self.read_available(rva, size)
        if len(data) != size:
            raise FormatError(f"{self.buffer.name} holds {len(data)} of {size} bytes at RVA {rva:#x}", offset=rva)
        return data

    @cached_property
    def pdb_identity(self) -> PdbIdentity | None:
        """The CodeView record, or None if the image names no PDB."""
        rva, size = self.directory(DIRECTORY_DEBUG)
        for index in range(min(size // _DEBUG_ENTRY.size, 32)):
            entry = self.read_available(rva + index * _DEBUG_ENTRY.size, _DEBUG_ENTRY.size)
            if len(entry) < _DEBUG_ENTRY.size:
                break
            _, _, _, _, kind, length, at_rva, at_file = _DEBUG_ENTRY.unpack(entry)
            if kind != _DEBUG_TYPE_CODEVIEW or not 24 <= length <= 4096:
                continue
            record = self.read_available(at_rva, length) if at_rva else b""
            if not record and not self.mapped and at_file + length <= len(self.buffer):
                record = self.buffer.bytes(at_file, length)
            identity = parse_codeview(record)
            if identity is not None:
                return identity
        return None


def parse_codeview(record: bytes) -> PdbIdentity | None:
    """Decode a CodeView ``RSDS`` record; None if it is of another kind or cut short."""
    if len(record) < 24 or record[:4] != b"RSDS":
        return None
    guid = guid_hex(record[4:20])
    age = int.from_bytes(record[20:24], "little")
    path = record[24:].split(b"\0", 1)[0].decode("utf-8", "replace")
    return PdbIdentity(guid, age, path)
