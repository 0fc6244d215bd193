"""The methods of sequences: what LINQ calls them, lazily where that is possible."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from kdive.errors import ExpressionError
from kdive.expr.query.model import ModelObject, Sequence, boolean, kind_of, numbered, truth
from kdive.expr.typed import is_signed
from kdive.expr.values import Value
from kdive.record import Record
from kdive.symbols.types import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.expr.query.model import ModelValue

MAX_ELEMENTS = 1 << 20
"""How many elements a method that must see them all takes."""

Function = Callable[["ModelValue"], "ModelValue"]
Argument = "Function | ModelValue"


class Method(Record, frozen=True):
    """A method of sequences.

    Attributes:
        run: Takes the sequence and the arguments.
        least: How many arguments it needs.
        most: How many it takes.
        functions: Whether its arguments are lambdas.
    """

    run: Callable[..., ModelValue]
    least: int = 0
    most: int = 0
    functions: bool = False


def all_of(sequence: Sequence) -> list[ModelValue]:
    """Return every element.

    Raises:
        ExpressionError: There are more than a million.
    """
    values = list(itertools.islice(sequence.values(), MAX_ELEMENTS + 1))
    if len(values) > MAX_ELEMENTS:
        raise ExpressionError(f"the sequence has more than {MAX_ELEMENTS} elements", hint="cut it short with Take")
    return values


def key_of(value: ModelValue) -> tuple[int, int | str]:
    """What values are compared, ordered and grouped by.

    Raises:
        ExpressionError: The value is neither a number nor a string.
    """
    if isinstance(value, str):
        return 1, value
    if isinstance(value, Value):
        type_ = resolved(value.type) if value.type is not None else None
        return 0, value.signed if is_signed(type_) else value.number
    raise ExpressionError(f"{kind_of(value)} has no order", hint="compare one of its properties, which is a number")


def _where(sequence: Sequence, wanted: Function) -> Sequence:
    return Sequence(lambda: ((index, value) for index, value in sequence.pairs() if truth(wanted(value))))


def _select(sequence: Sequence, change: Function) -> Sequence:
    return Sequence(lambda: ((index, change(value)) for index, value in sequence.pairs()))


def _ordered(sequence: Sequence, key: Function | None, *, descending: bool) -> Sequence:
    def ordered() -> Iterator[ModelValue]:
        values = all_of(sequence)
        return iter(sorted(values, key=lambda value: key_of(key(value) if key else value), reverse=descending))

    return numbered(ordered)


def _order_by(sequence: Sequence, key: Function | None = None) -> Sequence:
    return _ordered(sequence, key, descending=False)


def _order_by_descending(sequence: Sequence, key: Function | None = None) -> Sequence:
    return _ordered(sequence, key, descending=True)


def _matching(sequence: Sequence, wanted: Function | None) -> Iterator[ModelValue]:
    return (value for value in sequence.values() if wanted is None or truth(wanted(value)))


def _count(sequence: Sequence, wanted: Function | None = None) -> Value:
    return Value(sum(1 for _ in _matching(sequence, wanted)))


def _first(sequence: Sequence, wanted: Function | None = None) -> ModelValue:
    for value in _matching(sequence, wanted):
        return value
    raise ExpressionError("no element is first: none matches")


def _last(sequence: Sequence, wanted: Function | None = None) -> ModelValue:
    found = list(_matching(sequence, wanted))[-1:]
    if not found:
        raise ExpressionError("no element is last: none matches")
    return found[0]


def _any(sequence: Sequence, wanted: Function | None = None) -> Value:
    return boolean(next((True for _ in _matching(sequence, wanted)), False))


def _all(sequence: Sequence, wanted: Function) -> Value:
    return boolean(all(truth(wanted(value)) for value in sequence.values()))


def _number(value: ModelValue) -> int:
    if not isinstance(value, Value):
        raise ExpressionError(f"a number is needed, not {kind_of(value)}")
    return value.number


def _take(sequence: Sequence, count: ModelValue) -> Sequence:
    return Sequence(lambda: itertools.islice(sequence.pairs(), min(_number(count), MAX_ELEMENTS)))


def _skip(sequence: Sequence, count: ModelValue) -> Sequence:
    return Sequence(lambda: itertools.islice(sequence.pairs(), min(_number(count), MAX_ELEMENTS), None))


def _take_while(sequence: Sequence, wanted: Function) -> Sequence:
    return Sequence(lambda: itertools.takewhile(lambda pair: truth(wanted(pair[1])), sequence.pairs()))


def _skip_while(sequence: Sequence, wanted: Function) -> Sequence:
    return Sequence(lambda: itertools.dropwhile(lambda pair: truth(wanted(pair[1])), sequence.pairs()))


def _flatten(sequence: Sequence, inner: Function | None = None) -> Sequence:
    def flat() -> Iterator[ModelValue]:
        for value in sequence.values():
            part = inner(value) if inner is not None else value
            if isinstance(part, Sequence):
                yield from part.values()
            else:
                yield part

    return numbered(flat)


def _group_by(sequence: Sequence, key: Function) -> Sequence:
    def groups() -> Iterator[ModelValue]:
        found: dict[tuple[int, int | str], tuple[ModelValue, list[ModelValue]]] = {}
        for value in all_of(sequence):
            of = key(value)
            found.setdefault(key_of(of), (of, []))[1].append(value)
        for of, members in found.values():
            values = numbered(lambda members=members: iter(members))
            yield ModelObject(
                "",
                {
                    "Key": lambda of=of: of,
                    "Count": lambda members=members: Value(len(members)),
                    "Values": lambda values=values: values,
                },
            )

    return numbered(groups)


def _distinct(sequence: Sequence) -> Sequence:
    def values() -> Iterator[ModelValue]:
        seen: set[tuple[int, int | str]] = set()
        for value in sequence.values():
            key = key_of(value)
            if key not in seen:
                seen.add(key)
                yield value

    return numbered(values)


def _contains(sequence: Sequence, wanted: ModelValue) -> Value:
    key = key_of(wanted)
    return boolean(any(key_of(value) == key for value in sequence.values()))


def _concat(sequence: Sequence, other: ModelValue) -> Sequence:
    if not isinstance(other, Sequence):
        raise ExpressionError(f"a sequence is needed, not {kind_of(other)}")
    return numbered(lambda: itertools.chain(sequence.values(), other.values()))


def _reverse(sequence: Sequence) -> Sequence:
    return numbered(lambda: reversed(all_of(sequence)))


def _projected(sequence: Sequence, change: Function | None) -> list[ModelValue]:
    values = all_of(sequence)
    return values if change is None else [change(value) for value in values]


def _sum(sequence: Sequence, change: Function | None = None) -> Value:
    return Value(sum(_number(value) for value in _projected(sequence, change)))


def _extreme(sequence: Sequence, change: Function | None, pick: Callable[..., ModelValue]) -> ModelValue:
    values = _projected(sequence, change)
    if not values:
        raise ExpressionError("an empty sequence has neither least nor greatest element")
    return pick(values, key=key_of)


def _min(sequence: Sequence, change: Function | None = None) -> ModelValue:
    return _extreme(sequence, change, min)


def _max(sequence: Sequence, change: Function | None = None) -> ModelValue:
    return _extreme(sequence, change, max)


METHODS: dict[str, Method] = {
    "Where": Method(_where, 1, 1, functions=True),
    "Select": Method(_select, 1, 1, functions=True),
    "OrderBy": Method(_order_by, 0, 1, functions=True),
    "OrderByDescending": Method(_order_by_descending, 0, 1, functions=True),
    "Count": Method(_count, 0, 1, functions=True),
    "First": Method(_first, 0, 1, functions=True),
    "Last": Method(_last, 0, 1, functions=True),
    "Any": Method(_any, 0, 1, functions=True),
    "All": Method(_all, 1, 1, functions=True),
    "Take": Method(_take, 1, 1),
    "Skip": Method(_skip, 1, 1),
    "TakeWhile": Method(_take_while, 1, 1, functions=True),
    "SkipWhile": Method(_skip_while, 1, 1, functions=True),
    "Flatten": Method(_flatten, 0, 1, functions=True),
    "GroupBy": Method(_group_by, 1, 1, functions=True),
    "Distinct": Method(_distinct),
    "Contains": Method(_contains, 1, 1),
    "Concat": Method(_concat, 1, 1),
    "Reverse": Method(_reverse),
    "Sum": Method(_sum, 0, 1, functions=True),
    "Min": Method(_min, 0, 1, functions=True),
    "Max": Method(_max, 0, 1, functions=True),
}
