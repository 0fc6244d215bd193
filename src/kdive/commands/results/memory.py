"""Results of memory commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class MemoryRow:
    """One line of a memory display.

    Attributes:
        address: Address of its first element.
        values: Raw elements, None where unreadable.
        text: The characters beside them, if the format shows any.
    """

    address: int = address_field()
    values: list[int | None] = address_field()
    text: str = ""


@dataclass(frozen=True)
class MemoryDisplay:
    """Elements of memory in rows.

    Attributes:
        element: What an element is: ``byte word dword qword float double bits``.
        size: Bytes per element.
        rows: The rows.
        pad: Elements that a full row has.
        physical: Whether the addresses are physical.
    """

    element: str
    size: int
    rows: list[MemoryRow]
    pad: int
    physical: bool = False


@dataclass(frozen=True)
class PointerRow:
    """A pointer-sized word and what it points at."""

    address: int = address_field()
    value: int | None = address_field()
    symbol: str = ""
    target: list[int | None] = address_field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class PointerDisplay:
    """Words with symbols (``dps``) or with what they point at (``dpa``, ``dpp`` …)."""

    size: int
    rows: list[PointerRow]


@dataclass(frozen=True)
class StringDisplay:
    """A string in memory.

    Attributes:
        address: Where it starts.
        text: The characters.
        truncated: It goes on beyond what was read.
        header: Length, maximum length and buffer address for counted strings.
    """

    address: int = address_field()
    text: str = ""
    truncated: bool = False
    header: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class SearchHits:
    """Addresses at which a pattern was found."""

    hits: list[int] = address_field()
    rows: list[MemoryRow] = field(default_factory=list[MemoryRow])
    truncated: bool = False
    searched: int = 0


@dataclass(frozen=True)
class Differences:
    """Bytes that differ between two ranges: ``(address, byte, address, byte)``."""

    pairs: list[tuple[int, int, int, int]]
    truncated: bool


@dataclass(frozen=True)
class BytesWritten:
    """A range saved to a file."""

    path: str
    address: int = address_field()
    size: int = 0


@dataclass(frozen=True)
class ListLinks:
    """Links of a list (``dl``): the words at each."""

    rows: list[MemoryRow]
    note: str = ""
