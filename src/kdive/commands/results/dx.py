"""Results of ``dx``."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class ModelNode(Record, frozen=True):
    """A value of a query, with what lies in it.

    Attributes:
        name: The expression, the property or the index.
        value: The value in words; empty for what only has parts.
        type: Its C type in words, empty for the debugger's own objects.
        number: Its number, None if it has none.
        children: Its parts, as deep as was asked for.
        more: How many parts were left out, -1 if it is not known.
    """

    name: str
    value: str = ""
    type: str = ""
    number: Address | None = None
    children: list[ModelNode] = field(default_factory=lambda: list[ModelNode]())
    more: int = 0


class ModelGrid(Record, frozen=True):
    """``dx -g``: a sequence as a table.

    Attributes:
        name: The expression.
        columns: The properties.
        rows: The index, then a cell for each column.
        more: Whether rows were left out.
    """

    name: str
    columns: list[str]
    rows: list[list[str]]
    more: bool = False
