"""A PDB as a whole: its streams, opened when first needed.

Format facts: Microsoft's published PDB sources and LLVM's "The PDB File Format".
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.addresses import AddressMap
from kdive.formats.pdb.dbi import (
    DEBUG_OMAP_FROM_SOURCE,
    DEBUG_OMAP_TO_SOURCE,
    DEBUG_SECTIONS,
    DEBUG_SECTIONS_ORIGINAL,
    NO_STREAM,
    DbiStream,
    ModuleInfo,
)
from kdive.formats.pdb.gsi import PublicSymbols, SymbolHash
from kdive.formats.pdb.info import FEATURE_MINIMAL, StringTable, parse_info
from kdive.formats.pdb.msf import MsfFile
from kdive.formats.pdb.records import SymbolRecords, parse_record
from kdive.formats.pdb.tpi import TypeStream

if TYPE_CHECKING:
    from os import PathLike

    from kdive.formats.pdb.msf import StreamView
    from kdive.formats.pdb.records import SymbolRecord

_STREAM_INFO = 1
_STREAM_TPI = 2
_STREAM_DBI = 3
_STREAM_IPI = 4
_C13_SIGNATURE = 4
_USUAL_RECORD = 160


class PdbFile:
    """A PDB 7.00 file.

    Args:
        msf: The container.

    Attributes:
        info: Identity, named streams, features.
        dbi: The directory of the symbols; None in a PDB that holds only types.

    Raises:
        FormatError: A header is broken.
    """

    def __init__(self, msf: MsfFile) -> None:
        self.msf = msf
        self.info = parse_info(msf.stream(_STREAM_INFO))
        self.dbi = DbiStream(msf.stream(_STREAM_DBI)) if msf.has(_STREAM_DBI) else None
        self._module_views: dict[int, StreamView] = {}

    @classmethod
    def open(cls, path: str | PathLike[str]) -> PdbFile:
        """Open a PDB and read its headers.

        Raises:
            FormatError: It cannot be read or is broken.
            UnsupportedError: It is a PDB of a kind that is not supported.
        """
        return cls(MsfFile.open(path))

    def _optional(self, stream: int) -> bytes:
        return self.msf.stream(stream) if stream != NO_STREAM and self.msf.has(stream) else b""

    def _debug(self, index: int) -> bytes:
        return self._optional(self.dbi.debug_stream(index)) if self.dbi is not None else b""

    @cached_property
    def addresses(self) -> AddressMap:
        """The translation between ``section:offset`` and RVA."""
        to_source = self._debug(DEBUG_OMAP_TO_SOURCE)
        from_source = self._debug(DEBUG_OMAP_FROM_SOURCE)
        original = self._debug(DEBUG_SECTIONS_ORIGINAL)
        if from_source and original:
            return AddressMap(original, to_source, from_source)
        return AddressMap(self._debug(DEBUG_SECTIONS))

    def _view(self, stream: int) -> StreamView:
        return self.msf.view(stream if stream != NO_STREAM and self.msf.has(stream) else 0)

    @cached_property
    def records(self) -> SymbolRecords:
        """The symbol records of publics and globals."""
        return SymbolRecords(self._view(self.dbi.symbols_stream if self.dbi is not None else NO_STREAM))

    @property
    def _minimal(self) -> bool:
        return FEATURE_MINIMAL in self.info.features

    @cached_property
    def publics(self) -> PublicSymbols:
        """The public symbols."""
        view = self._view(self.dbi.publics_stream if self.dbi is not None else NO_STREAM)
        return PublicSymbols(view, self.records, minimal=self._minimal)

    @cached_property
    def globals(self) -> SymbolHash:
        """The hash table over the global symbols."""
        view = self._view(self.dbi.globals_stream if self.dbi is not None else NO_STREAM)
        return SymbolHash(view, 0, view.size, minimal=self._minimal)

    @cached_property
    def types(self) -> TypeStream | None:
        """The type records, if the file has any."""
        return TypeStream(self.msf, _STREAM_TPI) if self.msf.has(_STREAM_TPI) else None

    @cached_property
    def items(self) -> TypeStream | None:
        """The item records (function identifiers and the like), if the file has any."""
        has_items = self.info.features and self.msf.has(_STREAM_IPI)
        return TypeStream(self.msf, _STREAM_IPI) if has_items else None

    @cached_property
    def strings(self) -> StringTable:
        """The string table.

        Raises:
            FormatError: The file has none.
        """
        number = self.info.streams.get("/names")
        if number is None:
            raise FormatError(f"{self.msf.name} has no string table")
        return StringTable(self.msf.stream(number))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """What a complete PDB would hold and this one does not, each with the reason."""
        found: list[str] = []
        types = self.types
        if types is None or types.first == types.end:
            found.append("types: the file was made without them (a stripped PDB)")
        if self.dbi is None:
            found.append("symbols: the file holds only types (a type server of the compiler)")
        elif self._minimal:
            found.append(
                "private symbols, types and lines: they stayed in the object files (linked with /DEBUG:FASTLINK)"
            )
        else:
            if self.dbi.stripped:
                found.append("private symbols: removed (a stripped PDB)")
            if not any(module.c13_size for module in self.dbi.modules):
                found.append("source lines: no module has any")
        return tuple(found)

    def module(self, number: int) -> ModuleInfo:
        """Return a module by its 0-based number.

        Raises:
            FormatError: There is no such module.
        """
        modules = self.dbi.modules if self.dbi is not None else []
        if not 0 <= number < len(modules):
            raise FormatError(f"{self.msf.name} has no module {number}")
        return modules[number]

    def module_symbols(self, number: int) -> tuple[bytes, int]:
        """Return a module's stream up to the end of its symbol records, and that end (0: there are none).

        Raises:
            FormatError: There is no such module or its stream is broken.
        """
        module = self.module(number)
        if module.stream == NO_STREAM or not self.msf.has(module.stream):
            return b"", 0
        view = self.msf.view(module.stream)
        end = min(module.symbol_size, view.size)
        data = view.read(0, end)
        if len(data) < 4 or int.from_bytes(data[:4], "little") != _C13_SIGNATURE:
            return b"", 0
        return data, end

    def module_symbol(self, number: int, offset: int) -> SymbolRecord | None:
        """Decode one symbol record of a module by its offset in the module's stream.

        Raises:
            FormatError: There is no such module or record.
        """
        module = self.module(number)
        if module.stream == NO_STREAM or not 4 <= offset < module.symbol_size:
            raise FormatError(f"{module.name} has no symbol record at {offset:#x}")
        view = self._module_views.get(number)
        if view is None:
            view = self._module_views[number] = self.msf.view(module.stream)
        data = view.read(offset, min(_USUAL_RECORD, view.size - offset))
        length = 2 + int.from_bytes(data[:2], "little")
        if length > len(data):
            data = view.read(offset, min(length, view.size - offset))
        return parse_record(data, 0)

    def module_lines(self, number: int) -> bytes:
        """Return the line subsections of a module.

        Raises:
            FormatError: There is no such module or its stream is broken.
        """
        module = self.module(number)
        if module.stream == NO_STREAM or not self.msf.has(module.stream) or not module.c13_size:
            return b""
        view = self.msf.view(module.stream)
        start = min(module.symbol_size + module.c11_size, view.size)
        return view.read(start, min(module.c13_size, view.size - start))
