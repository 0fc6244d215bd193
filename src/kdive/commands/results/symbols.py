"""Results of symbol commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class SymbolRow(Record, frozen=True):
    """A symbol.

    Attributes:
        address: Where it lies.
        name: ``mod!name``.
        size: Bytes, 0 if not recorded.
        kind: ``function``, ``data`` or ``public`` (not known which); empty if it was not asked for.
        type: Its type in words, empty if not known or not asked for.
    """

    address: Address
    name: str = ""
    size: int = 0
    kind: str = ""
    type: str = ""


class SymbolList(Record, frozen=True):
    """``x``.

    Attributes:
        symbols: What was found.
        truncated: There is more.
        note: Why nothing was found.
        columns: Which columns text shows before the name: ``address``, ``size``, ``kind``, ``type``.
    """

    symbols: list[SymbolRow]
    truncated: bool = False
    note: str = ""
    columns: tuple[str, ...] = ("address",)


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
