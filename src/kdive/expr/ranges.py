"""Address ranges as command arguments: ``address``, ``address Lcount``, ``address end``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.errors import ExpressionError
from kdive.expr.evaluator import evaluate_prefix
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.expr.scope import EvaluationScope

MAX_RANGE = 256 << 20
"""Bytes that a range may span unless it is written with ``L?``: 256 MiB."""

_LENGTH = re.compile(r"[lL](?:[?\-]|[\s(@$'+~]|[0-9](?!\w*!)|[0-9A-Fa-f`]+(?![\w!:])|(?:poi|by|[dq]?wo)\b|$)")
"""Tells ``L10`` and ``L @rcx`` from a name that begins with L; a word of hex digits behind the L is a count."""

_END = re.compile(r"[\w@$(+\-~.\[`]")


class AddressRange(Record, frozen=True):
    """A run of elements in memory.

    Attributes:
        start: Address of the first byte (the lowest, also for a range written backwards).
        count: Number of elements.
        element_size: Bytes per element.
        rest: What stood behind the range, without leading blanks.
        explicit: Whether a length or an end was written, so that ``count`` is not the default.
        backwards: Whether the length was written ``L-``.
    """

    start: int
    count: int
    element_size: int
    rest: str = ""
    explicit: bool = False
    backwards: bool = False

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.count * self.element_size

    @property
    def end(self) -> int:
        """First address behind the range (2**64 if it reaches the top)."""
        return self.start + self.size


def parse_range(
    text: str, scope: EvaluationScope, element_size: int, default_count: int, *, allow_end: bool = True
) -> AddressRange:
    """Parse a range at the start of command arguments.

    The second part may be ``Lcount`` (elements), ``L?count`` (without the size limit), ``L-count`` (elements before
    the address), an end address (inclusive), or a number below the start, which is a length in bytes.

    Args:
        text: The arguments.
        scope: Where expressions are evaluated.
        element_size: Bytes per element.
        default_count: Elements if no second part is written.
        allow_end: Whether a second part without ``L`` is taken as an end address.

    Raises:
        ExpressionError: An expression is wrong, the range is empty, over 256 MiB without ``L?``, or leaves the address
            space.
        MemoryAccessError: An expression reads unreadable memory.
        SymbolError: The symbols cannot answer.
    """
    value, rest = evaluate_prefix(text, scope)
    start = value.number
    column = len(text) - len(rest)
    if rest[:1] in ("l", "L") and _LENGTH.match(rest):
        return _with_length(text, column, start, scope, element_size)
    if allow_end and _END.match(rest):
        return _with_end(text, column, start, scope, element_size)
    room = ((1 << 64) - start) // element_size
    return AddressRange(start, max(1, min(default_count, room)), element_size, rest)


def _with_length(text: str, column: int, start: int, scope: EvaluationScope, element_size: int) -> AddressRange:
    position = column + 1
    flags = ""
    while text[position : position + 1] in ("?", "-") and len(flags) < 2:
        flags += text[position]
        position += 1
    if not text[position:].strip():
        raise ExpressionError("Range error: a count is expected behind L", text=text, column=column)
    count, rest = _shifted(text, position, scope)
    size = count * element_size
    if count == 0:
        raise ExpressionError("Range error: the range is empty", text=text, column=column)
    if "?" not in flags and size > MAX_RANGE:
        raise _too_long(text, column, size)
    backwards = "-" in flags
    if backwards:
        start -= size
    if start < 0 or start + size > 1 << 64:
        raise ExpressionError("Range error: the range leaves the address space", text=text, column=column)
    return AddressRange(start, count, element_size, rest, explicit=True, backwards=backwards)


def _with_end(text: str, column: int, start: int, scope: EvaluationScope, element_size: int) -> AddressRange:
    end, rest = _shifted(text, column, scope)
    size = end - start + 1 if end >= start else end
    if size == 0:
        raise ExpressionError("Range error: the range is empty", text=text, column=column)
    if size > MAX_RANGE:
        raise _too_long(text, column, size)
    count = -(-size // element_size)
    if start + count * element_size > 1 << 64:
        raise ExpressionError("Range error: the range leaves the address space", text=text, column=column)
    return AddressRange(start, count, element_size, rest, explicit=True)


def _shifted(text: str, column: int, scope: EvaluationScope) -> tuple[int, str]:
    """Evaluate a later part of the arguments, with errors that point into the whole of them."""
    try:
        value, rest = evaluate_prefix(text[column:], scope)
    except ExpressionError as error:
        raise ExpressionError(error.what, text=text, column=column + error.column, hint=error.hint) from None
    return value.number, rest


def _too_long(text: str, column: int, size: int) -> ExpressionError:
    return ExpressionError(
        f"Range error: {size:#x} bytes are more than the limit of 256 MiB",
        text=text,
        column=column,
        hint="write L? instead of L to lift the limit",
    )
