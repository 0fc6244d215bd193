"""Type layouts, as every kind of symbol file gives them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PrimitiveKind = Literal["void", "int", "uint", "char", "wchar", "bool", "float", "hresult"]
UdtKind = Literal["struct", "class", "union"]


class PrimitiveType(Record, frozen=True):
    """A basic type. ``name`` is the C spelling (``unsigned long``); ``size`` is in bytes (0 for void)."""

    name: str
    size: int
    kind: PrimitiveKind

    @property
    def signed(self) -> bool:
        """Whether a value of this type is read as two's complement."""
        return self.kind in ("int", "hresult") or self.name == "char"


class PointerType(Record, frozen=True):
    """A pointer of ``size`` bytes to ``target``."""

    target: Type
    size: int = 8


class ArrayType(Record, frozen=True):
    """``count`` elements one after the other."""

    element: Type
    count: int

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.element.size * self.count


class BitfieldType(Record, frozen=True):
    """``length`` bits from bit ``position`` of a value of type ``base``."""

    base: Type
    position: int
    length: int

    @property
    def size(self) -> int:
        """Size in bytes of the storage unit."""
        return self.base.size


class FunctionType(Record, frozen=True):
    """A function signature; ``parameters`` is None where the symbol file does not say."""

    result: Type | None = None
    parameters: tuple[Type, ...] | None = None

    @property
    def size(self) -> int:
        """Functions have no size."""
        return 0


class EnumType(Record, frozen=True):
    """An enumeration: its underlying type and its constants in declared order."""

    name: str
    base: Type
    values: Mapping[str, int]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.base.size

    def name_of(self, value: int) -> str | None:
        """Return the first constant that has this value."""
        return next((name for name, constant in self.values.items() if constant == value), None)


class Field(Record, frozen=True):
    """A member of a structure: ``offset`` in bytes from its start."""

    name: str
    offset: int
    type: Type


class StructType(Record, frozen=True, dict=True):
    """A structure, class or union. ``size`` in bytes; ``fields`` in declared order."""

    name: str
    kind: UdtKind
    size: int
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """Return the member called ``name`` (case as written), or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {member.name: member for member in reversed(self.fields)}


class TypeReference(Record, frozen=True, eq=False):
    """A structure or enumeration by name, laid out only when asked.

    Attributes:
        name: The type's name.
        kind: ``struct``, ``class``, ``union`` or ``enum``.
        size: Size in bytes (0 if the symbol file holds only a forward declaration).
        resolve: Returns the layout; raises ``SymbolNotFoundError`` if there is none.
    """

    name: str
    kind: Literal["struct", "class", "union", "enum"]
    size: int
    resolve: Callable[[], StructType | EnumType]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeReference) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, int]:
        return (self.name, self.kind, self.size)


Type = PrimitiveType | PointerType | ArrayType | BitfieldType | FunctionType | EnumType | StructType | TypeReference

VOID = PrimitiveType("void", 0, "void")


def resolved(type_: Type) -> Type:
    """Return the layout behind a reference, or the type itself.

    Raises:
        SymbolNotFoundError: The symbol file has no layout for it.
    """
    return type_.resolve() if isinstance(type_, TypeReference) else type_
