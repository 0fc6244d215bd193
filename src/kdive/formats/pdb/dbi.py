"""The DBI stream: which streams hold the symbols, the modules, the section contributions, the machine.

Format facts: Microsoft's published PDB sources (``PDB/dbi``) and LLVM's "The PDB DBI Stream".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer

NO_STREAM = 0xFFFF
_HEADER = struct.Struct("<iIIHHHHHHiiiiiIiiHHI")
_MODULE = struct.Struct("<I2sHiiIHHIIHHIIIHHIII")
_CONTRIBUTION = struct.Struct("<HHiiIH")
_CONTRIBUTION_V60 = 0xF12EBA2D
_CONTRIBUTION_V2 = 0xF13151E4
_FLAG_STRIPPED = 2

DEBUG_OMAP_TO_SOURCE = 3
DEBUG_OMAP_FROM_SOURCE = 4
DEBUG_SECTIONS = 5
DEBUG_SECTIONS_ORIGINAL = 10


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """An object file that went into the image.

    Attributes:
        name: The object file.
        archive: The library it came from (the object file itself if from none).
        stream: Number of the stream with its symbols, or ``NO_STREAM``.
        symbol_size: Bytes of symbol records at the start of that stream, with the 4-byte signature.
        c11_size: Bytes of old-style line information behind them.
        c13_size: Bytes of line subsections behind those.
    """

    name: str
    archive: str
    stream: int
    symbol_size: int
    c11_size: int
    c13_size: int


class DbiStream:
    """The DBI stream.

    Attributes:
        age: The age that images record and symbol stores file under.
        machine: ``IMAGE_FILE_MACHINE_*``.
        globals_stream: Number of the stream with the hash table of the globals.
        publics_stream: The same for public symbols.
        symbols_stream: Number of the stream with the records that both refer to.
        stripped: Whether private symbols were removed.

    Raises:
        FormatError: The header is broken, or a part does not fit into the stream.
    """

    def __init__(self, data: bytes) -> None:
        self._buffer = buffer = Buffer(data, "DBI stream")
        (
            signature,
            self.version,
            self.age,
            self.globals_stream,
            _,
            self.publics_stream,
            _,
            self.symbols_stream,
            _,
            modules,
            contributions,
            section_map,
            files,
            type_servers,
            _,
            debug,
            edit_and_continue,
            flags,
            self.machine,
            _,
        ) = buffer.unpack(_HEADER, 0)
        if signature != -1:
            raise FormatError(f"the DBI stream starts with {signature & 0xFFFFFFFF:#x}", offset=0)
        at = _HEADER.size
        parts: list[Buffer] = []
        for size in (modules, contributions, section_map, files, type_servers, edit_and_continue, debug):
            parts.append(buffer.sub(at, size))
            at += size
        self._modules, self._contributions = parts[0], parts[1]
        streams = parts[6].view
        self._debug_streams: tuple[int, ...] = struct.unpack(f"<{len(streams) // 2}H", streams[: len(streams) & ~1])
        self.stripped = bool(flags & _FLAG_STRIPPED)

    def debug_stream(self, index: int) -> int:
        """Return the number of an optional debug stream (``DEBUG_*``), or ``NO_STREAM``."""
        return self._debug_streams[index] if index < len(self._debug_streams) else NO_STREAM

    @cached_property
    def modules(self) -> list[ModuleInfo]:
        """The modules, in the order in which records number them from 0."""
        raw = bytes(self._modules.view)
        found: list[ModuleInfo] = []
        at = 0
        while at + _MODULE.size <= len(raw):
            head = _MODULE.unpack_from(raw, at)
            name_end = raw.find(b"\0", at + _MODULE.size)
            archive_end = raw.find(b"\0", name_end + 1) if name_end >= 0 else -1
            if archive_end < 0:
                raise FormatError("the module list of the DBI stream is cut short", offset=at)
            found.append(
                ModuleInfo(
                    raw[at + _MODULE.size : name_end].decode("utf-8", "replace"),
                    raw[name_end + 1 : archive_end].decode("utf-8", "replace"),
                    head[11],
                    head[12],
                    head[13],
                    head[14],
                )
            )
            at = (archive_end + 4) & ~3
        return found

    @cached_property
    def _contribution_table(self) -> tuple[Buffer, int, int]:
        """The records, the size of each, and how many there are."""
        table = self._contributions
        if len(table) < 4:
            return table, 28, 0
        version = table.u32(0)
        step = {_CONTRIBUTION_V60: 28, _CONTRIBUTION_V2: 32}.get(version)
        if step is None:
            return table, 28, 0
        return table, step, (len(table) - 4) // step

    def module_at(self, section: int, offset: int) -> int | None:
        """Return the number of the module that contributed the byte at ``section:offset``, or None.

        The linker sorts the contributions by address, so this is a binary search.
        """
        table, step, count = self._contribution_table
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            head = table.unpack(_CONTRIBUTION, 4 + middle * step)
            if (head[0], head[2] & 0xFFFFFFFF) <= (section, offset):
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        at_section, _, at_offset, size, _, module = table.unpack(_CONTRIBUTION, 4 + (low - 1) * step)
        if at_section != section or offset - (at_offset & 0xFFFFFFFF) >= (size & 0xFFFFFFFF):
            return None
        return module
