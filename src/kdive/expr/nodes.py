"""The syntax tree of an expression.

Every node knows the 0-based ``column`` of its operator or first character, for error messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kdive.record import Record

if TYPE_CHECKING:
    from kdive.expr.values import Value

Dialect = Literal["masm", "c++"]


class TypeName(Record, frozen=True):
    """A written type: its name (``mod!_T``, ``unsigned long``) and the number of ``*`` behind it."""

    name: str
    stars: int
    column: int


class Number(Record, frozen=True):
    """A literal. ``kind`` is the C type that its spelling asks for; MASM ignores it."""

    value: int
    column: int
    kind: Literal["int", "unsigned", "int64", "uint64", "char", "bool"] = "uint64"


class Text(Record, frozen=True):
    """A quoted string, allowed only as a function's argument."""

    text: str
    column: int


class Name(Record, frozen=True):
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


class Register(Record, frozen=True):
    """A register written with ``@``."""

    name: str
    column: int


class Pseudo(Record, frozen=True):
    """A pseudo-register, user variable or result slot; ``name`` has no ``$``."""

    name: str
    column: int


class Unary(Record, frozen=True):
    """A prefix operator in its canonical spelling (``not`` is ``!``), or a memory operator such as ``poi``."""

    operator: str
    operand: Node
    column: int


class Binary(Record, frozen=True):
    """An infix operator in its canonical spelling (``mod`` is ``%``, ``=`` is ``==``, ``and`` is ``&``)."""

    operator: str
    left: Node
    right: Node
    column: int


class Ternary(Record, frozen=True):
    """``condition ? yes : no``."""

    condition: Node
    yes: Node
    no: Node
    column: int


class Cast(Record, frozen=True):
    """``(type)operand``."""

    type: TypeName
    operand: Node
    column: int


class Member(Record, frozen=True):
    """``base.name`` or ``base->name``."""

    base: Node
    name: str
    arrow: bool
    column: int


class Index(Record, frozen=True):
    """``base[index]``."""

    base: Node
    index: Node
    column: int


class Call(Record, frozen=True):
    """A built-in function such as ``$vvalid``; ``name`` in lower case."""

    name: str
    arguments: tuple[Node, ...]
    column: int


class SizeOfType(Record, frozen=True):
    """``sizeof(type)``."""

    type: TypeName
    column: int


class FieldOffset(Record, frozen=True):
    """``#FIELD_OFFSET(type, path)``, or with ``record`` set ``#CONTAINING_RECORD(record, type, path)``."""

    type: TypeName
    path: tuple[str | int, ...]
    column: int
    record: Node | None = None


class Switch(Record, frozen=True):
    """``@@c++(…)`` or ``@@masm(…)``: the operand is evaluated by the rules of another syntax."""

    dialect: Dialect
    operand: Node
    column: int


class Known(Record, frozen=True):
    """A value that is known already, put where a node is expected."""

    value: Value
    column: int


class Lambda(Record, frozen=True):
    """``name => body``, an argument of a query method."""

    parameter: str
    body: Node
    column: int


class MethodCall(Record, frozen=True):
    """``base.name(arguments)``, in queries only."""

    base: Node
    name: str
    arguments: tuple[Node, ...]
    column: int


class Composite(Record, frozen=True):
    """``new { name = value, … }``, in queries only."""

    parts: tuple[tuple[str, Node], ...]
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
    | Known
    | Lambda
    | MethodCall
    | Composite
)
