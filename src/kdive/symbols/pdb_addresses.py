"""The symbol at an address, out of a PDB.

A procedure is looked for in the one module that contributed the address, a public in the address map, a variable in a
table of all variables that is made when first needed.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kdive.errors import FormatError
from kdive.formats.pdb.kinds import DATA, PROCEDURES, S_THUNK32
from kdive.formats.pdb.records import Located, scan_module
from kdive.formats.pdb.thunks import trampolines
from kdive.symbols.interface import Symbol

if TYPE_CHECKING:
    from typing import Literal

    from kdive.symbols.pdb import PdbSymbols


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


class PdbAddresses:
    """Symbols by address.

    Args:
        symbols: The symbols of the PDB by name.
    """

    def __init__(self, symbols: PdbSymbols) -> None:
        self._symbols = symbols
        self._file = symbols.file
        self._modules: dict[int, _Table] = {}

    def nearest(self, rva: int) -> Symbol | None:
        """Return the symbol at ``rva`` or the closest one below it, None if there is none in its section.

        A procedure that contains ``rva`` wins over any other name, except a public exactly there (an alternative entry
        of assembly code).

        Raises:
            FormatError: The symbol streams are broken.
        """
        place = self._file.addresses.place(rva)
        if place is None:
            return None
        if self._file.publics.thunk_size:
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
        for section, offset, size, target_section, target_offset in trampolines(self._file):
            rva, target = (
                self._file.addresses.rva(section, offset),
                self._file.addresses.rva(target_section, target_offset),
            )
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
        section, offset, _ = self._file.publics.thunk_table
        table = self._file.addresses.rva(section, offset)
        place = f"ILT+{thunk.rva - table}" if table is not None and table <= thunk.rva else "ILT"
        return Symbol(f"{place}({thunk.name})", thunk.rva, thunk.size, "function")

    def _public_at(self, section: int, offset: int) -> Symbol | None:
        """The public at or below an address; of several at one address, the first undecorated by name."""
        best: tuple[bool, Symbol] | None = None
        publics = self._file.publics
        for index in publics.at_or_below(section, offset):
            record = self._file.records.parse(publics.offset(index))
            symbol = self._symbols.symbol_of(record) if isinstance(record, Located) else None
            if symbol is None or not isinstance(record, Located):
                continue
            decorated = record.name[:1] == "?"
            if best is None or (best[0] and not decorated):
                best = (decorated, symbol)
        return best[1] if best is not None else None

    @cached_property
    def _data(self) -> _Table:
        """The variables by address. Stripped files have them among the publics already."""
        if self._symbols.stripped:
            return _Table([], [])
        found: list[_Placed] = []
        for offset in self._symbols.names.of_kind(DATA):
            symbol = self._symbols.resolve(offset)
            if symbol is not None and symbol.name:
                found.append(_Placed(symbol.rva, symbol.name, symbol.size, symbol.kind))
        return _Table.of(found)

    def _data_at(self, rva: int) -> Symbol | None:
        return _below(self._data, rva)

    def _in_module(self, section: int, offset: int, rva: int) -> Symbol | None:
        """The procedure at or below an address, out of the module that contributed it."""
        dbi = self._file.dbi
        number = dbi.module_at(section, offset) if dbi is not None else None
        return _below(self._procedures(number), rva) if number is not None else None

    def _procedures(self, number: int) -> _Table:
        """The procedures and thunks of a module by address."""
        cached = self._modules.get(number)
        if cached is not None:
            return cached
        found: list[_Placed] = []
        try:
            data, end = self._file.module_symbols(number)
        except FormatError:
            data, end = b"", 0
        for record in scan_module(data, end):
            if record.record in PROCEDURES or record.record == S_THUNK32:
                rva = self._file.addresses.rva(record.section, record.offset)
                if rva is not None:
                    found.append(_Placed(rva, record.name, record.size, "function"))
        table = self._modules[number] = _Table.of(found)
        return table

    def procedure(self, rva: int) -> Symbol | None:
        """Return the procedure, with its size, whose code contains ``rva``; None if the file records none there.

        Stripped files record no procedures.

        Raises:
            FormatError: The symbol streams are broken.
        """
        place = self._file.addresses.place(rva)
        found = self._in_module(*place, rva) if place is not None else None
        return found if found is not None and rva < found.rva + found.size else None


def _below(table: _Table, rva: int) -> Symbol | None:
    index = bisect_right(table.rvas, rva) - 1
    if index < 0:
        return None
    entry = table.symbols[index]
    return Symbol(entry.name, entry.rva, entry.size, entry.kind)
