"""The methods and properties of strings in queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import ExpressionError
from kdive.expr.query.model import boolean, kind_of
from kdive.expr.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.expr.query.model import ModelValue


def _text(value: ModelValue) -> str:
    if not isinstance(value, str):
        raise ExpressionError(f"a string is needed, not {kind_of(value)}")
    return value


def _place(value: ModelValue) -> int:
    if not isinstance(value, Value):
        raise ExpressionError(f"a number is needed, not {kind_of(value)}")
    return value.number


def _substring(text: str, start: ModelValue, count: ModelValue = None) -> str:
    begin = _place(start)
    return text[begin:] if count is None else text[begin : begin + _place(count)]


def _contains(text: str, part: ModelValue) -> Value:
    return boolean(_text(part) in text)


def _starts_with(text: str, part: ModelValue) -> Value:
    return boolean(text.startswith(_text(part)))


def _ends_with(text: str, part: ModelValue) -> Value:
    return boolean(text.endswith(_text(part)))


def _index_of(text: str, part: ModelValue) -> Value:
    return Value(text.find(_text(part)))


STRING_METHODS: dict[str, tuple[Callable[..., ModelValue], int, int]] = {
    "Contains": (_contains, 1, 1),
    "StartsWith": (_starts_with, 1, 1),
    "EndsWith": (_ends_with, 1, 1),
    "IndexOf": (_index_of, 1, 1),
    "Substring": (_substring, 1, 2),
    "ToLower": (str.lower, 0, 0),
    "ToUpper": (str.upper, 0, 0),
}
"""What each does, and the fewest and most arguments that it takes."""
