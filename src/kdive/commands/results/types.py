"""Results of ``dt``."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class FieldRow:
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
    number: int | None = address_field(default=None)
    fields: list[FieldRow] = field(default_factory=lambda: list[FieldRow]())


@dataclass(frozen=True)
class TypeLayout:
    """A structure, with values if it lies somewhere.

    Attributes:
        name: ``nt!_EPROCESS``.
        kind: ``struct``, ``union``, ``class`` or ``enum``.
        size: Size in bytes.
        address: Where it lies, None for a bare layout.
        fields: Its members.
        verbose: Show the size.
    """

    name: str
    kind: str
    size: int
    address: int | None = address_field(default=None)
    fields: list[FieldRow] = field(default_factory=list[FieldRow])
    verbose: bool = False


@dataclass(frozen=True)
class EnumLayout:
    """An enumeration's constants."""

    name: str
    constants: dict[str, int]


@dataclass(frozen=True)
class TypeNames:
    """Types that match a wildcard: name and size."""

    types: list[tuple[str, int]]
    truncated: bool = False


@dataclass(frozen=True)
class StructList:
    """``dt -l``: a structure at each link of a list, or ``dt -a``: the elements of an array."""

    items: list[TypeLayout]
    note: str = ""
