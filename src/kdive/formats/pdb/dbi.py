"""The DBI stream: which streams hold the symbols, the modules, the section contributions, the machine.

Format facts: Microsoft's published PDB sources (``PDB/dbi``) and LLVM's "The PDB DBI Stream".
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_STREAM = 0xFFFF
_HEADER = struct.Struct("<iIIHHHHHHiiiiiIiiHHI")
_MODULE = struct.Struct("<I2sHiiIHHIIHHIIIHHIII")
_CONTRIBUTION_V60 = 0xF12EBA2D
_CONTRIBUTION_V2 = 0xF13151E4
_FLAG_INCREMENTAL = 1
_FLAG_STRIPPED = 2

DEBUG_OMAP_TO_SOURCE = 3
DEBUG_OMAP_FROM_SOURCE = 4
DEBUG_SECTIONS = 5
DEBUG_SECTIONS_ORIGINAL = 10


class ModuleInfo(Record, frozen=True):
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
        incremental: Whether the image was linked incrementally, so that calls go through a table of thunks.

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
        self._modules, self._contributions, self._files = parts[0], parts[1], parts[3]
        streams = parts[6].view
        self._debug_streams: tuple[int, ...] = struct.unpack(f"<{len(streams) // 2}H", streams[: len(streams) & ~1])
        self.stripped = bool(flags & _FLAG_STRIPPED)
        self.incremental = bool(flags & _FLAG_INCREMENTAL)

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

    def source_files(self) -> Iterator[list[str]]:
        """Yield the paths of the source files of each module, in the order of the modules.

        The count of all files in the table's head has 16 bits and wraps; the counts of the modules do not.

        Raises:
            FormatError: The table is cut short.
        """
        table = self._files
        if len(table) < 4:
            return
        modules = table.u16(0)
        counts: list[int] = table.slice(4 + 2 * modules, 2 * modules).cast("H").tolist()
        at = 4 + 4 * modules
        total = sum(counts)
        offsets: list[int] = table.slice(at, 4 * total).cast("I").tolist()
        names = table.sub(at + 4 * total, len(table) - at - 4 * total)
        known: dict[int, str] = {}
        first = 0
        for count in counts:
            paths: list[str] = []
            for offset in offsets[first : first + count]:
                path = known.get(offset)
                if path is None:
                    path = known[offset] = names.cstring(offset)
                paths.append(path)
            yield paths
            first += count

    @cached_property
    def _contribution_columns(self) -> tuple[memoryview, memoryview, memoryview, memoryview]:
        """Section, offset, size and module of every contribution, as the linker sorted them."""
        table = self._contributions
        step = {_CONTRIBUTION_V60: 28, _CONTRIBUTION_V2: 32}.get(table.u32(0) if len(table) >= 4 else 0)
        if step is None:
            empty = memoryview(b"")
            return empty.cast("H"), empty.cast("I"), empty.cast("I"), empty.cast("H")
        rows = table.slice(4, (len(table) - 4) // step * step)
        words, halves = rows.cast("I"), rows.cast("H")
        return halves[:: step // 2], words[1 :: step // 4], words[2 :: step // 4], halves[8 :: step // 2]

    def module_at(self, section: int, offset: int) -> int | None:
        """Return the number of the module that contributed the byte at ``section:offset``, or None.

        The linker sorts the contributions by address, so this is a binary search.
        """
        sections, offsets, sizes, modules = self._contribution_columns
        first = bisect_left(sections, section)
        index = bisect_right(offsets, offset, first, bisect_right(sections, section, first)) - 1
        if index < first or offset - offsets[index] >= sizes[index]:
            return None
        return modules[index]
