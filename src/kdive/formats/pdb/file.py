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
from kdive.formats.pdb.tpi import TypeStream

if TYPE_CHECKING:
    from os import PathLike

_STREAM_INFO = 1
_STREAM_TPI = 2
_STREAM_DBI = 3
_STREAM_IPI = 4
_C13_SIGNATURE = 4


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

    @classmethod
    def open(cls, path: str | PathLike[str]) -> PdbFile:
        """Map a PDB and read its headers.

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

    @cached_property
    def records(self) -> bytes:
        """The symbol records of publics and globals."""
        return self._optional(self.dbi.symbols_stream) if self.dbi is not None else b""

    @property
    def _minimal(self) -> bool:
        return FEATURE_MINIMAL in self.info.features

    @cached_property
    def publics(self) -> PublicSymbols:
        """The public symbols."""
        data = self._optional(self.dbi.publics_stream) if self.dbi is not None else b""
        return PublicSymbols(data, self.records, minimal=self._minimal)

    @cached_property
    def globals(self) -> SymbolHash:
        """The hash table over the global symbols."""
        data = self._optional(self.dbi.globals_stream) if self.dbi is not None else b""
        return SymbolHash(data, minimal=self._minimal)

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
        """Return a module's stream and where its symbol records end (0: there are none).

        Raises:
            FormatError: There is no such module or its stream is broken.
        """
        module = self.module(number)
        data = self._optional(module.stream)
        if len(data) < 4 or int.from_bytes(data[:4], "little") != _C13_SIGNATURE:
            return b"", 0
        return data, min(module.symbol_size, len(data))

    def module_lines(self, number: int) -> bytes:
        """Return the line subsections of a module.

        Raises:
            FormatError: There is no such module or its stream is broken.
        """
        module = self.module(number)
        data = self._optional(module.stream)
        start = module.symbol_size + module.c11_size
        return data[start : start + module.c13_size]
