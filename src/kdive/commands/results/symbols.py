"""Results of symbol commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class SymbolRow(Record, frozen=True):
    """A symbol."""

    address: Address
    name: str = ""
    size: int = 0


class SymbolList(Record, frozen=True):
    """``x``."""

    symbols: list[SymbolRow]
    truncated: bool = False
    note: str = ""


class NearSymbols(Record, frozen=True):
    """``ln``: the symbols around an address.

    Attributes:
        address: The address.
        before: The symbol at or below it.
        displacement: How far it lies behind that symbol.
        after: The next symbol.
        exact: Names that share the exact address.
        source: Source line, if known.
    """

    address: Address
    before: SymbolRow | None = None
    displacement: int = 0
    after: SymbolRow | None = None
    exact: list[str] = field(default_factory=list[str])
    source: str = ""


class SymbolPath(Record, frozen=True):
    """``.sympath``."""

    path: str
    expanded: list[str]
    offline: bool
    isf: list[str]
