"""Results of memory commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class MemoryRow(Record, frozen=True):
    """One line of a memory display.

    Attributes:
        address: Address of its first element.
        values: Raw elements, None where unreadable.
        text: The characters beside them, if the format shows any.
    """

    address: Address
    values: list[Address | None]
    text: str = ""


class MemoryDisplay(Record, frozen=True):
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


class PointerRow(Record, frozen=True):
    """A pointer-sized word and what it points at."""

    address: Address
    value: Address | None
    symbol: str = ""
    target: list[Address | None] = field(default_factory=list[int | None])
    text: str = ""


class PointerDisplay(Record, frozen=True):
    """Words with symbols (``dps``) or with what they point at (``dpa``, ``dpp`` …)."""

    size: int
    rows: list[PointerRow]


class StringDisplay(Record, frozen=True):
    """A string in memory.

    Attributes:
        address: Where it starts.
        text: The characters.
        truncated: It goes on beyond what was read.
        header: Length, maximum length and buffer address for counted strings.
    """

    address: Address
    text: str = ""
    truncated: bool = False
    header: tuple[int, int, int] | None = None


class SearchHits(Record, frozen=True):
    """Addresses at which a pattern was found."""

    hits: list[Address]
    rows: list[MemoryRow] = field(default_factory=list[MemoryRow])
    truncated: bool = False
    searched: int = 0


class Differences(Record, frozen=True):
    """Bytes that differ between two ranges: ``(address, byte, address, byte)``."""

    pairs: list[tuple[int, int, int, int]]
    truncated: bool


class BytesWritten(Record, frozen=True):
    """A range saved to a file."""

    path: str
    address: Address
    size: int = 0


class ListLinks(Record, frozen=True):
    """Links of a list (``dl``): the words at each."""

    rows: list[MemoryRow]
    note: str = ""
