"""A module's symbols from its PDB.

Everything is answered from the file's own indexes (name hashes, address map, section contributions, type hash) so that
opening a PDB reads its directory and headers and nothing else.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.gsi import hash_v1
from kdive.formats.pdb.kinds import (
    DATA,
    PROCEDURE_REFERENCES,
    PROCEDURES,
    PROCEDURES_BY_ID,
    S_CONSTANT,
    S_PUB32,
    S_UDT,
    THREAD_DATA,
)
from kdive.formats.pdb.records import (
    PUBLIC_CODE,
    PUBLIC_FUNCTION,
    Located,
    Named,
    Reference,
)
from kdive.formats.pdb.tpi import FIRST_INDEX
from kdive.formats.pe.image import MACHINE_I386
from kdive.symbols.interface import ModuleSymbols, Symbol, wildcard
from kdive.symbols.pdb_addresses import PdbAddresses
from kdive.symbols.pdb_names import NameIndex
from kdive.symbols.pdb_types import TypeBuilder
from kdive.symbols.types import TypeReference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from kdive.formats.pdb.gsi import SymbolHash
    from kdive.symbols.interface import InlineFrame, LocalVariable, SourceFile, SourceLine
    from kdive.symbols.pdb_code import PdbCode
    from kdive.symbols.types import EnumType, StructType, Type

_KEYWORDS = ("struct ", "class ", "union ", "enum ")
_MAX_STDCALL_BYTES = 128
_MAX_BUCKET = 4096


class PdbSymbols(ModuleSymbols):
    """The symbols in a PDB file.

    Args:
        file: The opened PDB.
        path: Where it was read from.

    Attributes:
        file: The PDB's parts, for those who need more than symbols.
        guid: 32 upper-case hex digits.
        age: The age that images record and symbol stores file under (from the DBI stream where there is one).
        info_age: The age in the info stream, which counts every write to the file.
        machine: ``IMAGE_FILE_MACHINE_*``, 0 if not recorded.
        stripped: Whether private symbols were removed.
    """

    kind = "pdb"

    def __init__(self, file: PdbFile, path: str) -> None:
        self.file = file
        self.path = path
        self.guid = file.info.guid
        self.info_age = file.info.age
        self.age = file.dbi.age if file.dbi is not None else file.info.age
        self.machine = file.dbi.machine if file.dbi is not None else 0
        self.stripped = file.dbi is not None and file.dbi.stripped

    @classmethod
    def open(cls, path: str | PathLike[str]) -> PdbSymbols:
        """Open a PDB file.

        Raises:
            FormatError: It cannot be read or is broken.
            UnsupportedError: It is a PDB of a kind that is not supported (2.00, portable).
        """
        return cls(PdbFile.open(path), str(path))

    # -- names ---------------------------------------------------------------------------------------------------

    def display_name(self, name: str) -> str:
        """Return the undecorated form of a linker name."""
        if name[:1] not in "?_@" and not (self.machine == MACHINE_I386 and "@" in name):
            return name
        from kdive.symbols.demangle import undecorate

        return undecorate(name, self.machine)

    def _rva(self, section: int, offset: int) -> int | None:
        return self.file.addresses.rva(section, offset)

    def symbol_of(self, record: Located) -> Symbol | None:
        """The symbol of a record, or None if it has no address in the image."""
        rva = self.file.addresses.rva(record.section, record.offset)
        if rva is None:
            return None
        if record.record == S_PUB32:
            kind = "function" if record.flags & (PUBLIC_CODE | PUBLIC_FUNCTION) else "public"
            return Symbol(self.display_name(record.name), rva, 0, kind)
        is_data = record.record in DATA
        return Symbol(record.name, rva, record.size, "data" if is_data else "function")

    def _procedure(self, reference: Reference) -> Located | None:
        """The procedure that a record of the globals refers to, or None if it is not where it should be."""
        try:
            record = self.file.module_symbol(reference.module - 1, reference.offset)
        except FormatError:
            return None
        return record if isinstance(record, Located) and record.record in PROCEDURES else None

    def _globals(self, name: str) -> list[Located | Reference | Named]:
        key = name.encode("utf-8", "replace")
        return self._hashed(self.file.globals, name, key, hash_v1(key), types=True)

    def _hashed(
        self, table: SymbolHash, name: str, key: bytes, hashed: int, *, types: bool = False
    ) -> list[Located | Reference | Named]:
        """The records of a name in a hash table; with ``types`` typedefs and constants too."""
        records = self.file.records
        found: list[Located | Reference | Named] = []
        for offset in records.named(table.candidates(hashed)[:_MAX_BUCKET], key, types=types):
            record = records.parse(offset)
            if record is not None and record.name == name:
                found.append(record)
        return found

    @property
    def identity(self) -> tuple[str, int] | None:
        """See :attr:`ModuleSymbols.identity`."""
        return self.guid, self.age

    def lookup(self, name: str) -> Symbol | None:
        """Return the symbol of exactly this name: a procedure, a variable or a public symbol.

        The undecorated name finds a decorated public too (``KeWait`` finds ``_KeWait@8`` on x86, ``Device::Open``
        finds ``?Open@Device@@…``).

        Raises:
            FormatError: The symbol streams are broken.
        """
        key = name.encode("utf-8", "replace")
        hashed = hash_v1(key)
        for record in self._hashed(self.file.globals, name, key, hashed):
            found: Symbol | None = None
            if isinstance(record, Reference) and record.record in PROCEDURE_REFERENCES:
                procedure = self._procedure(record)
                found = self.symbol_of(procedure) if procedure is not None else None
            elif isinstance(record, Located) and record.record in DATA:
                found = self.symbol_of(record)
            if found is not None:
                return found
        names = self.file.publics.names
        for spelling in self._spellings(name):
            if spelling != name:
                key = spelling.encode("utf-8", "replace")
                hashed = hash_v1(key)
            for record in self._hashed(names, spelling, key, hashed):
                found = self.symbol_of(record) if isinstance(record, Located) else None
                if found is not None:
                    return found
        if "::" in name or not (self.file.publics.names.usable and self.file.globals.usable):
            return self._lookup_among_names(name)
        return None

    def _spellings(self, name: str) -> Iterator[str]:
        yield name
        if self.machine == MACHINE_I386 and not name.startswith("?"):
            yield f"_{name}"
            for size in range(0, _MAX_STDCALL_BYTES + 4, 4):
                yield f"_{name}@{size}"
            for size in range(0, _MAX_STDCALL_BYTES + 4, 4):
                yield f"@{name}@{size}"

    def _lookup_among_names(self, name: str) -> Symbol | None:
        for offset in self.names.exactly(name):
            found = self.resolve(offset)
            if found is not None:
                return found
        return None

    @cached_property
    def names(self) -> NameIndex:
        """The names of everything with an address."""
        return NameIndex(self.file, self.display_name)

    def resolve(self, offset: int) -> Symbol | None:
        """The symbol of the record at an offset in the symbol record stream, or None if it leads to no address."""
        try:
            record = self.file.records.parse(offset)
            if isinstance(record, Reference):
                procedure = self._procedure(record)
                return self.symbol_of(procedure) if procedure is not None else None
            return self.symbol_of(record) if isinstance(record, Located) else None
        except FormatError:
            return None

    def search(self, pattern: str) -> Iterator[Symbol]:
        """Yield the symbols whose undecorated names match a wildcard, by name; each name and address once."""
        last_name = ""
        seen: set[int] = set()
        for name, offset in self.names.matching(pattern):
            symbol = self.resolve(offset)
            if symbol is None:
                continue
            if name != last_name:
                last_name = name
                seen.clear()
            if symbol.rva not in seen:
                seen.add(symbol.rva)
                yield symbol

    # -- addresses -----------------------------------------------------------------------------------------------

    @cached_property
    def _by_address(self) -> PdbAddresses:
        return PdbAddresses(self)

    def nearest(self, rva: int) -> Symbol | None:
        """Return the symbol at ``rva`` or the closest one below it, None if there is none in its section.

        A procedure that contains ``rva`` wins over any other name, except a public exactly there (an alternative entry
        of assembly code).

        Raises:
            FormatError: The symbol streams are broken.
        """
        return self._by_address.nearest(rva)

    def procedure(self, rva: int) -> Symbol | None:
        """Return the procedure, with its size, whose code contains ``rva``; None if the file records none there.

        Stripped files record no procedures.

        Raises:
            FormatError: The symbol streams are broken.
        """
        return self._by_address.procedure(rva)

    # -- types ---------------------------------------------------------------------------------------------------

    @cached_property
    def _builder(self) -> TypeBuilder | None:
        types = self.file.types
        return TypeBuilder(types) if types is not None else None

    def find_type(self, name: str) -> StructType | EnumType | Type | None:
        """Return the layout of a structure, union, enumeration or typedef, or None.

        A ``struct``, ``class``, ``union`` or ``enum`` in front of the name is skipped.

        Raises:
            FormatError: The type records are broken.
            SymbolNotFoundError: The type is announced in this file, but not defined.
        """
        types, builder = self.file.types, self._builder
        if types is None or builder is None:
            return None
        for keyword in _KEYWORDS:
            name = name.removeprefix(keyword)
        index = types.find(name)
        if index is not None:
            return builder.layout(index)
        for record in self._globals(name):
            if isinstance(record, Named) and record.record == S_UDT:
                type_ = builder.type(record.type_index)
                return type_.resolve() if isinstance(type_, TypeReference) else type_
        index = types.find(name, thorough=True)
        return builder.layout(index) if index is not None else None

    @cached_property
    def _type_names(self) -> list[tuple[str, int]]:
        found: dict[str, int] = {}
        types, builder = self.file.types, self._builder
        if types is None or builder is None:
            return []
        for index, udt in types.udts():
            size = builder.type(index).size if udt.kind == "enum" else udt.size
            found[udt.name] = max(size, found.get(udt.name, 0))
        for offset in self.names.of_kind((S_UDT,)):
            try:
                record = self.file.records.parse(offset)
                if isinstance(record, Named) and record.name not in found:
                    found[record.name] = builder.type(record.type_index).size
            except FormatError:
                continue
        return sorted(found.items())

    def search_types(self, pattern: str) -> Iterator[tuple[str, int]]:
        """Yield ``(name, size in bytes)`` of the types and typedefs whose names match a wildcard, by name.

        The first search reads all type records.
        """
        match = wildcard(pattern).fullmatch
        for name, size in self._type_names:
            if match(name):
                yield name, size

    def type_of(self, name: str) -> Type | None:
        """Return the type of a variable or the signature of a procedure, where the file records it.

        Raises:
            FormatError: The records are broken.
        """
        builder = self._builder
        if builder is None:
            return None
        for record in self._globals(name):
            if isinstance(record, Located) and record.record in DATA | THREAD_DATA and record.type_index:
                return builder.type(record.type_index)
            if isinstance(record, Reference) and record.record in PROCEDURE_REFERENCES:
                procedure = self._procedure(record)
                index = self._signature_index(procedure) if procedure is not None else 0
                if index:
                    return builder.type(index)
        return None

    def _signature_index(self, procedure: Located) -> int:
        if procedure.record not in PROCEDURES_BY_ID:
            return procedure.type_index
        items = self.file.items
        if items is None or procedure.type_index < FIRST_INDEX:
            return 0
        # LF_FUNC_ID and LF_MFUNC_ID: the scope or the class, then the type.
        _, body = items.record(procedure.type_index)
        return int.from_bytes(body[4:8], "little")

    def constant(self, name: str) -> int | None:
        """Return the value of a named constant (an enumerator, a ``constexpr``), or None.

        Raises:
            FormatError: The records are broken.
        """
        for record in self._globals(name):
            if isinstance(record, Named) and record.record == S_CONSTANT:
                return record.value
        return None

    # -- code ----------------------------------------------------------------------------------------------------

    @cached_property
    def code(self) -> PdbCode:
        """Source lines, inlined calls and local variables."""
        from kdive.symbols.pdb_code import PdbCode

        return PdbCode(self.file, self._builder)

    def line(self, rva: int) -> SourceLine | None:
        """Return the source line of ``rva``, or None where the file records none."""
        # Stripped files have neither lines nor scopes: the machinery for them is not even imported.
        return None if self.stripped else self.code.line(rva)

    def addresses(self, file: str, line: int) -> tuple[int, ...]:
        """Return the RVAs at which code of a source line starts, ascending.

        Raises:
            FormatError: The list of source files is broken.
        """
        return self.code.addresses(file, line)

    def source_files(self) -> Iterator[SourceFile]:
        """Yield the source files, each once. This reads the line tables of all modules."""
        return self.code.source_files()

    def locals(self, rva: int) -> tuple[LocalVariable, ...]:
        """Return the parameters and variables in scope at ``rva``, those of the outermost function first.

        Raises:
            FormatError: The records of the procedure are broken.
        """
        return () if self.stripped else self.code.locals(rva)

    def inline_frames(self, rva: int) -> tuple[InlineFrame, ...]:
        """Return the inlined calls around ``rva``, the innermost first.

        Raises:
            FormatError: The records of the procedure are broken.
        """
        return () if self.stripped else self.code.inline_frames(rva)

    def missing(self) -> tuple[str, ...]:
        """Return what a complete PDB would hold and this one does not, each with the reason."""
        return self.file.missing
