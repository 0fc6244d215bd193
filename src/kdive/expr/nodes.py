"""The syntax tree of an expression.

Every node knows the 0-based ``column`` of its operator or first character, for error messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal["masm", "c++"]


@dataclass(frozen=True, slots=True)
class TypeName:
    """A written type: its name (``mod!_T``, ``unsigned long``) and the number of ``*`` behind it."""

    name: str
    stars: int
    column: int


@dataclass(frozen=True, slots=True)
class Number:
    """A literal. ``kind`` is the C type that its spelling asks for; MASM ignores it."""

    value: int
    column: int
    kind: Literal["int", "unsigned", "int64", "uint64", "char", "bool"] = "uint64"


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string, allowed only as a function's argument."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier, perhaps qualified.

    Attributes:
        name: The spelling, without quoting.
        symbol_only: It was written ``@!"…"``: never a number or a register.
        local_only: It was written ``$!name``.
    """

    name: str
    column: int
    symbol_only: bool = False
    local_only: bool = False


@dataclass(frozen=True, slots=True)
class Register:
    """A register written with ``@``."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Pseudo:
    """A pseudo-register, user variable or result slot; ``name`` has no ``$``."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Unary:
    """A prefix operator in its canonical spelling (``not`` is ``!``), or a memory operator such as ``poi``."""

    operator: str
    operand: Node
    column: int


@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator in its canonical spelling (``mod`` is ``%``, ``=`` is ``==``, ``and`` is ``&``)."""

    operator: str
    left: Node
    right: Node
    column: int


@dataclass(frozen=True, slots=True)
class Ternary:
    """``condition ? yes : no``."""

    condition: Node
    yes: Node
    no: Node
    column: int


@dataclass(frozen=True, slots=True)
class Cast:
    """``(type)operand``."""

    type: TypeName
    operand: Node
    column: int


@dataclass(frozen=True, slots=True)
class Member:
    """``base.name`` or ``base->name``."""

    base: Node
    name: str
    arrow: bool
    column: int


@dataclass(frozen=True, slots=True)
class Index:
    """``base[index]``."""

    base: Node
    index: Node
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in function such as ``$vvalid``; ``name`` in lower case."""

    name: str
    arguments: tuple[Node, ...]
    column: int


@dataclass(frozen=True, slots=True)
class SizeOfType:
    """``sizeof(type)``."""

    type: TypeName
    column: int


@dataclass(frozen=True, slots=True)
class FieldOffset:
    """``#FIELD_OFFSET(type, path)``, or with ``record`` set ``#CONTAINING_RECORD(record, type, path)``."""

    type: TypeName
    path: tuple[str | int, ...]
    column: int
    record: Node | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """``@@c++(…)`` or ``@@masm(…)``: the operand is evaluated by the rules of another syntax."""

    dialect: Dialect
    operand: Node
    column: int


Node = (
    Number
    | Text
    | Name
    | Register
    | Pseudo
    | Unary
    | Binary
    | Ternary
    | Cast
    | Member
    | Index
    | Call
    | SizeOfType
    | FieldOffset
    | Switch
)
