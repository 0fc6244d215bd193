"""The symbols of an image that has nothing better: its exports."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from kdive.formats.pe.exports import parse_exports
from kdive.symbols.interface import ModuleSymbols, Symbol, wildcard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.formats.pe.exports import Export
    from kdive.formats.pe.image import PeImage
    from kdive.symbols.types import EnumType, StructType, Type


class ExportSymbols(ModuleSymbols):
    """Symbols from the export directory. Forwarders have no address here and are not symbols.

    Exports without a name are called ``Ordinal<n>``, as WinDbg calls them.

    Args:
        image: The image, from its file or from memory.
        path: Where it was read from.
    """

    kind = "exports"

    def __init__(self, image: PeImage, path: str = "") -> None:
        self.image = image
        self.path = path

    @cached_property
    def exports(self) -> tuple[Export, ...]:
        """All exports, with the forwarders."""
        table = parse_exports(self.image)
        return table.exports if table is not None else ()

    @cached_property
    def _symbols(self) -> list[Symbol]:
        """By address, then by name."""
        from kdive.symbols.demangle import undecorate

        machine = self.image.machine
        found = [
            Symbol(
                undecorate(export.name, machine) if export.name else f"Ordinal{export.ordinal}",
                export.rva,
                0,
                self._kind(export.rva),
            )
            for export in self.exports
            if export.forwarder is None
        ]
        found.sort(key=lambda symbol: (symbol.rva, symbol.name))
        return found

    @cached_property
    def _code(self) -> list[tuple[int, int]]:
        executable = 0x20000000
        return [
            (section.rva, section.rva + max(section.virtual_size, section.raw_size))
            for section in self.image.sections
            if section.characteristics & executable
        ]

    def _kind(self, rva: int) -> Literal["function", "data"]:
        return "function" if any(start <= rva < end for start, end in self._code) else "data"

    @cached_property
    def _by_name(self) -> dict[str, Symbol]:
        names = {symbol.name: symbol for symbol in reversed(self._symbols)}
        places = {symbol.rva: symbol for symbol in reversed(self._symbols)}
        for export in self.exports:
            if export.name and export.forwarder is None:
                names.setdefault(export.name, places[export.rva])
        return names

    @cached_property
    def _starts(self) -> list[int]:
        return [symbol.rva for symbol in self._symbols]

    def lookup(self, name: str) -> Symbol | None:
        """Return the export of exactly this name, decorated or not, or None."""
        return self._by_name.get(name)

    def nearest(self, rva: int) -> Symbol | None:
        """Return the export at ``rva`` or the closest one below it, or None if there is none below."""
        index = bisect_right(self._starts, rva) - 1
        if index < 0:
            return None
        while index > 0 and self._starts[index - 1] == self._starts[index]:
            index -= 1
        return self._symbols[index]

    def search(self, pattern: str) -> Iterator[Symbol]:
        """Yield the exports whose names match a wildcard, by name."""
        match = wildcard(pattern).fullmatch
        for symbol in sorted(self._symbols, key=lambda symbol: symbol.name):
            if match(symbol.name):
                yield symbol

    def find_type(self, name: str) -> StructType | EnumType | Type | None:
        """Exports carry no types: always None."""
        del name
        return None

    def search_types(self, pattern: str) -> Iterator[tuple[str, int]]:
        """Exports carry no types: yields nothing."""
        del pattern
        return iter(())
