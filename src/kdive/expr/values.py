"""Values of expressions: a 64-bit number, perhaps with a type and a place in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend

if TYPE_CHECKING:
    from kdive.symbols.types import Type


@dataclass(frozen=True, slots=True)
class Value:
    """A value.

    Attributes:
        number: The number, 0 to 2**64 - 1. Of a structure or array it is the address.
        type: Its type, None for a plain number.
        address: Where it lies in memory, None if it is no object in memory.
    """

    number: int
    type: Type | None = None
    address: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", self.number & MASK64)

    @property
    def signed(self) -> int:
        """The number as a signed 64-bit one."""
        return sign_extend(self.number, 64)
