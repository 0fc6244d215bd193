"""Address ranges as commands take them.

Source: Microsoft, "Address and address range syntax": an address with ``L<count>`` elements, ``L?<count>`` without the
size limit, ``L-<count>`` before the address, or an end address that belongs to the range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.expr.evaluator import evaluate_prefix

if TYPE_CHECKING:
    from kdive.expr.scope import EvaluationScope

LIMIT = 256 << 20
_HARD_LIMIT = 1 << 40
_LENGTH = re.compile(r"\s*[lL](\?|-)?\s*(?=[\w(@$])")
_ENDS = re.compile(r"\s+(?=[\w(@$`.])")


@dataclass(frozen=True, slots=True)
class AddressRange:
    """A range.

    Attributes:
        start: First address.
        count: Number of elements.
        element_size: Bytes per element.
        rest: What follows the range in the arguments.
    """

    start: int
    count: int
    element_size: int
    rest: str

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.count * self.element_size


def parse_range(
    text: str, scope: EvaluationScope, element_size: int, default_count: int, *, allow_end: bool = True
) -> AddressRange:
    """Take a range from the start of command arguments.

    Args:
        text: The arguments.
        scope: For the expressions in it.
        element_size: Bytes per element.
        default_count: Elements if the range says nothing.
        allow_end: Whether a second expression is the end address.

    Raises:
        ExpressionError: No range stands there, or it is larger than 256 MiB without ``L?``.
    """
    value, rest = evaluate_prefix(text, scope)
    start = value.number
    length = _LENGTH.match(rest)
    if length and not _is_name(rest[length.start() :]):
        count_value, after = evaluate_prefix(rest[length.end() :], scope)
        count = count_value.number
        if length.group(1) == "-":
            start = (start - count * element_size) & MASK64
        _check(text, count * element_size, lifted=length.group(1) == "?")
        return AddressRange(start, count, element_size, after)
    if allow_end and rest.strip() and _ENDS.match(rest):
        end_value, after = evaluate_prefix(rest, scope)
        end = end_value.number
        # A second number below the start is a length in bytes (as in `db 1000 20`, by old habit).
        size = end - start + 1 if end >= start else end
        _check(text, size, lifted=False)
        return AddressRange(start, max(1, -(-size // element_size)), element_size, after)
    return AddressRange(start, default_count, element_size, rest)


def _is_name(rest: str) -> bool:
    """Whether what looks like ``L…`` is the name of something (``list``, ``lr``)."""
    word = re.match(r"\s*[lL](\w*)", rest)
    return bool(word and word.group(1) and not re.fullmatch(r"[0-9a-fA-F`xnty]+h?", word.group(1)))


def _check(text: str, size: int, *, lifted: bool) -> None:
    if size > (_HARD_LIMIT if lifted else LIMIT):
        raise ExpressionError(
            f"a range of {size:#x} bytes is over the limit", text=text, hint=None if lifted else "L?<count> lifts it"
        )
