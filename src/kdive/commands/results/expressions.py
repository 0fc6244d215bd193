"""Results of expression commands."""

from __future__ import annotations

import datetime

from kdive.commands.results import Address
from kdive.record import Record, field


class Evaluated(Record, frozen=True):
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

    value: Address
    signed: int = 0
    type: str = ""
    enumerator: str = ""
    symbol: str = ""
    compound: bool = False
    pointer: bool = False


class Formats(Record, frozen=True):
    """A number in every format."""

    hexadecimal: Address
    decimal: int = 0
    octal: str = ""
    binary: str = ""
    characters: str = ""
    time: datetime.datetime | None = None
    float_low: float = 0.0
    double: float = 0.0


class VariableList(Record, frozen=True):
    """Variables, result slots and built-in names."""

    user: dict[str, Address]
    results: dict[str, Address]
    result_count: int = 0
    builtin: list[str] = field(default_factory=list[str])
