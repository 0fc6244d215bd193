"""Results of ``dt``."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class FieldRow(Record, frozen=True):
    """A member.

    Attributes:
        name: Its name.
        offset: Offset in bytes from the structure's start.
        type: Its type in words.
        value: Its value in words, empty without an address.
        number: Its number, None if it has none.
        fields: Its own members, if they were asked for.
    """

    name: str
    offset: int
    type: str
    value: str = ""
    number: Address | None = None
    fields: list[FieldRow] = field(default_factory=lambda: list[FieldRow]())


class TypeLayout(Record, frozen=True):
    """A structure, with values if it lies somewhere.

    Attributes:
        name: ``nt!_EPROCESS``.
        kind: ``struct``, ``union``, ``class`` or ``enum``.
        size: Size in bytes.
        address: Where it lies, None for a bare layout.
        fields: Its members.
        verbose: Show sizes and counts.
        members: How many members the type has, of which ``fields`` may be some.
        compact: Show all in one line.
        offsets: Show the offsets.
        note: What was left out.
    """

    name: str
    kind: str
    size: int
    address: Address | None = None
    fields: list[FieldRow] = field(default_factory=list[FieldRow])
    verbose: bool = False
    members: int = 0
    compact: bool = False
    offsets: bool = True
    note: str = ""


class EnumLayout(Record, frozen=True):
    """An enumeration's constants."""

    name: str
    constants: dict[str, int]


class TypeNames(Record, frozen=True):
    """Types that match a wildcard: name and size."""

    types: list[tuple[str, int]]
    truncated: bool = False


class StructList(Record, frozen=True):
    """``dt -l``: a structure at each link of a list, or ``dt -a``: the elements of an array."""

    items: list[TypeLayout]
    note: str = ""
