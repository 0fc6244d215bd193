"""Results of expression commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kdive.commands.results import address_field

if TYPE_CHECKING:
    import datetime


@dataclass(frozen=True)
class Evaluated:
    """A value.

    Attributes:
        value: The number.
        signed: The number read as signed.
        type: Its type, empty for a plain number.
        enumerator: The constant that it is, for enumerations.
        symbol: The symbol at it, if it is an address.
        compound: It is a structure, and ``value`` is its address.
        pointer: It is a typed pointer.
    """

    value: int = address_field()
    signed: int = 0
    type: str = ""
    enumerator: str = ""
    symbol: str = ""
    compound: bool = False
    pointer: bool = False


@dataclass(frozen=True)
class Formats:
    """A number in every format."""

    hexadecimal: int = address_field()
    decimal: int = 0
    octal: str = ""
    binary: str = ""
    characters: str = ""
    time: datetime.datetime | None = None
    float_low: float = 0.0
    double: float = 0.0


@dataclass(frozen=True)
class VariableList:
    """Variables, result slots and built-in names."""

    user: dict[str, int] = address_field()
    results: dict[str, int] = address_field()
    result_count: int = 0
    builtin: list[str] = field(default_factory=list[str])
