"""A module's symbols from its PDB.

Everything is answered from the file's own indexes (name hashes, address map, section contributions, type hash) so that
opening a PDB reads its directory and headers and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

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
    S_THUNK32,
    S_UDT,
    THREAD_DATA,
)
from kdive.formats.pdb.records import (
    PUBLIC_CODE,
    PUBLIC_FUNCTION,
    Located,
    Named,
    Reference,
    scan_module,
)
from kdive.formats.pdb.thunks import trampolines
from kdive.formats.pdb.tpi import FIRST_INDEX
from kdive.formats.pe.image import MACHINE_I386
from kdive.symbols.interface import ModuleSymbols, Symbol, wildcard
from kdive.symbols.pdb_names import NameIndex
from kdive.symbols.pdb_types import TypeBuilder
from kdive.symbols.types import TypeReference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from typing import Literal

    from kdive.formats.pdb.gsi import SymbolHash
    from kdive.symbols.interface import InlineFrame, LocalVariable, SourceFile, SourceLine
    from kdive.symbols.pdb_code import PdbCode
    from kdive.symbols.types import EnumType, StructType, Type

_KEYWORDS = ("struct ", "class ", "union ", "enum ")
_MAX_STDCALL_BYTES = 128
_MAX_BUCKET = 4096


class _Table(NamedTuple):
    """Symbols by address: their RVAs, and the symbols in the same order."""

    rvas: list[int]
    symbols: list[_Placed]

    @classmethod
    def of(cls, symbols: list[_Placed]) -> _Table:
        """Sort symbols."""
        symbols.sort()
        return cls([symbol.rva for symbol in symbols], symbols)


class _Placed(NamedTuple):
    """A symbol in a sorted list: RVA first, so that it sorts and bisects by it."""

    rva: int
    name: str
    size: int
    kind: Literal["function", "data", "public"]


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
        self._module_symbols: dict[int, _Table] = {}

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

    def _symbol(self, record: Located) -> Symbol | None:
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
                found = self._symbol(procedure) if procedure is not None else None
            elif isinstance(record, Located) and record.record in DATA:
                found = self._symbol(record)
            if found is not None:
                return found
        names = self.file.publics.names
        for spelling in self._spellings(name):
            if spelling != name:
                key = spelling.encode("utf-8", "replace")
                hashed = hash_v1(key)
            for record in self._hashed(names, spelling, key, hashed):
                found = self._symbol(record) if isinstance(record, Located) else None
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
        for offset in self._names.exactly(name):
            found = self._resolve(offset)
            if found is not None:
                return found
        return None

    @cached_property
    def _names(self) -> NameIndex:
        return NameIndex(self.file, self.display_name)

    def _resolve(self, offset: int) -> Symbol | None:
        """The symbol of the record at an offset in the symbol record stream, or None if it leads to no address."""
        try:
            record = self.file.records.parse(offset)
            if isinstance(record, Reference):
                procedure = self._procedure(record)
                return self._symbol(procedure) if procedure is not None else None
            return self._symbol(record) if isinstance(record, Located) else None
        except FormatError:
            return None

    def search(self, pattern: str) -> Iterator[Symbol]:
        """Yield the symbols whose undecorated names match a wildcard, by name; each name and address once."""
        last_name = ""
        seen: set[int] = set()
        for name, offset in self._names.matching(pattern):
            symbol = self._resolve(offset)
            if symbol is None:
                continue
            if name != last_name:
                last_name = name
                seen.clear()
            if symbol.rva not in seen:
                seen.add(symbol.rva)
                yield symbol

    # -- addresses -----------------------------------------------------------------------------------------------

    def nearest(self, rva: int) -> Symbol | None:
        """Return the symbol at ``rva`` or the closest one below it, None if there is none in its section.

        A procedure that contains ``rva`` wins over any other name, except a public exactly there (an alternative entry
        of assembly code).

        Raises:
            FormatError: The symbol streams are broken.
        """
        place = self.file.addresses.place(rva)
        if place is None:
            return None
        if self.file.publics.thunk_size:
            thunk = self._thunk_at(rva)
            if thunk is not None:
                return thunk
        inside = self._in_module(*place, rva)
        public = self._public_at(*place)
        if inside is not None and rva < inside.rva + inside.size:
            return public if public is not None and inside.rva < public.rva == rva else inside
        best = inside
        for candidate in (self._data_at(rva), public):
            if candidate is not None and candidate.rva <= rva and (best is None or candidate.rva > best.rva):
                best = candidate
        return best

    @cached_property
    def _thunks(self) -> _Table:
        """The thunks of an incrementally linked image; their names are those of their targets."""
        found: list[_Placed] = []
        for section, offset, size, target_section, target_offset in trampolines(self.file):
            rva, target = self._rva(section, offset), self._rva(target_section, target_offset)
            if rva is not None and target is not None and size:
                named = self._in_module(target_section, target_offset, target)
                if named is None or named.rva != target:
                    named = self._public_at(target_section, target_offset)
                if named is not None and named.rva == target:
                    found.append(_Placed(rva, named.name, size, "function"))
        return _Table.of(found)

    def _thunk_at(self, rva: int) -> Symbol | None:
        """The thunk whose code contains ``rva``, named as WinDbg does: by its place in the table and its target."""
        thunk = _below(self._thunks, rva)
        if thunk is None or rva >= thunk.rva + thunk.size:
            return None
        section, offset, _ = self.file.publics.thunk_table
        table = self._rva(section, offset)
        place = f"ILT+{thunk.rva - table}" if table is not None and table <= thunk.rva else "ILT"
        return Symbol(f"{place}({thunk.name})", thunk.rva, thunk.size, "function")

    def _public_at(self, section: int, offset: int) -> Symbol | None:
        """The public at or below an address; of several at one address, the first undecorated by name."""
        best: tuple[bool, Symbol] | None = None
        publics = self.file.publics
        for index in publics.at_or_below(section, offset):
            record = self.file.records.parse(publics.offset(index))
            symbol = self._symbol(record) if isinstance(record, Located) else None
            if symbol is None or not isinstance(record, Located):
                continue
            decorated = record.name[:1] == "?"
            if best is None or (best[0] and not decorated):
                best = (decorated, symbol)
        return best[1] if best is not None else None

    @cached_property
    def _data(self) -> _Table:
        """The variables by address. Stripped files have them among the publics already."""
        if self.stripped:
            return _Table([], [])
        found: list[_Placed] = []
        for offset in self._names.of_kind(DATA):
            symbol = self._resolve(offset)
            if symbol is not None and symbol.name:
                found.append(_Placed(symbol.rva, symbol.name, symbol.size, symbol.kind))
        return _Table.of(found)

    def _data_at(self, rva: int) -> Symbol | None:
        return _below(self._data, rva)

    def _in_module(self, section: int, offset: int, rva: int) -> Symbol | None:
        """The procedure at or below an address, out of the module that contributed it."""
        dbi = self.file.dbi
        number = dbi.module_at(section, offset) if dbi is not None else None
        return _below(self._procedures(number), rva) if number is not None else None

    def _procedures(self, number: int) -> _Table:
        """The procedures and thunks of a module by address."""
        cached = self._module_symbols.get(number)
        if cached is not None:
            return cached
        found: list[_Placed] = []
        try:
            data, end = self.file.module_symbols(number)
        except FormatError:
            data, end = b"", 0
        for record in scan_module(data, end):
            if record.record in PROCEDURES or record.record == S_THUNK32:
                rva = self._rva(record.section, record.offset)
                if rva is not None:
                    found.append(_Placed(rva, record.name, record.size, "function"))
        table = self._module_symbols[number] = _Table.of(found)
        return table

    def procedure(self, rva: int) -> Symbol | None:
        """Return the procedure, with its size, whose code contains ``rva``; None if the file records none there.

        Stripped files record no procedures.

        Raises:
            FormatError: The symbol streams are broken.
        """
        place = self.file.addresses.place(rva)
        found = self._in_module(*place, rva) if place is not None else None
        return found if found is not None and rva < found.rva + found.size else None

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
        for offset in self._names.of_kind((S_UDT,)):
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
        return self.code.line(rva)

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
        return self.code.locals(rva)

    def inline_frames(self, rva: int) -> tuple[InlineFrame, ...]:
        """Return the inlined calls around ``rva``, the innermost first.

        Raises:
            FormatError: The records of the procedure are broken.
        """
        return self.code.inline_frames(rva)

    def missing(self) -> tuple[str, ...]:
        """Return what a complete PDB would hold and this one does not, each with the reason."""
        return self.file.missing


def _below(table: _Table, rva: int) -> Symbol | None:
    index = bisect_right(table.rvas, rva) - 1
    if index < 0:
        return None
    entry = table.symbols[index]
    return Symbol(entry.name, entry.rva, entry.size, entry.kind)
