"""What an expression evaluates to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import force_setattr

from kdive.addr import MASK64, sign_extend
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.symbols.types import Type


class Value(Record, frozen=True):
    """A number, and what is known about it.

    A scalar of a signed type is kept sign-extended, so that ``number`` is always the 64-bit pattern. For structures,
    arrays and functions, which are no scalars, ``number`` is their address. For floating point types it is the raw bit
    pattern.

    Attributes:
        number: Unsigned 64-bit; a wider or negative argument is reduced modulo 2**64.
        type: The type, or None for a bare number.
        address: Where the value lies in memory, if it was read from there or is a place there.
        register: The register that holds it, if one does.
    """

    number: int
    type: Type | None = None
    address: int | None = None
    register: str | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "number", self.number & MASK64)
        if self.address is not None:
            force_setattr(self, "address", self.address & MASK64)

    def __bool__(self) -> bool:
        """Whether it counts as true in a condition: any number but zero."""
        return self.number != 0

    def __int__(self) -> int:
        return self.number

    def __index__(self) -> int:
        return self.number

    @property
    def signed(self) -> int:
        """The number read as 64-bit two's complement."""
        return sign_extend(self.number, 64)

    def untyped(self) -> Value:
        """Return the bare number."""
        return Value(self.number)
