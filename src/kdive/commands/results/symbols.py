"""Results of symbol commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class SymbolRow:
    """A symbol."""

    address: int = address_field()
    name: str = ""
    size: int = 0


@dataclass(frozen=True)
class SymbolList:
    """``x``."""

    symbols: list[SymbolRow]
    truncated: bool = False
    note: str = ""


@dataclass(frozen=True)
class NearSymbols:
    """``ln``: the symbols around an address.

    Attributes:
        address: The address.
        before: The symbol at or below it.
        displacement: How far it lies behind that symbol.
        after: The next symbol.
        exact: Names that share the exact address.
        source: Source line, if known.
    """

    address: int = address_field()
    before: SymbolRow | None = None
    displacement: int = 0
    after: SymbolRow | None = None
    exact: list[str] = field(default_factory=list[str])
    source: str = ""


@dataclass(frozen=True)
class SymbolPath:
    """``.sympath``."""

    path: str
    expanded: list[str]
    offline: bool
    isf: list[str]


@dataclass(frozen=True)
class Reloaded:
    """``.reload``, ``ld``: modules whose symbols were looked for, with the outcome."""

    modules: list[tuple[str, str]]
    messages: list[str] = field(default_factory=list[str])
    pending: int = 0
