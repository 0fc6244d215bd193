"""The values of queries: typed numbers, strings, objects with properties, sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.expr.typed import BOOL, describe, load, size_of
from kdive.expr.values import Value
from kdive.symbols.types import ArrayType, resolved

if TYPE_CHECKING:
    from kdive.memory.interface import Memory


class ModelObject:
    """A thing with properties, each found out only when asked for.

    Args:
        display: One line for it.
        properties: Getters by name, in the order of showing.
        methods: What it can be asked to do, by name; each takes the arguments.
    """

    def __init__(
        self,
        display: str,
        properties: dict[str, Getter],
        methods: dict[str, Callable[..., ModelValue]] | None = None,
    ) -> None:
        self.display = display
        self.methods = methods or {}
        self._properties = properties

    def names(self) -> list[str]:
        """The properties' names, in the order of showing."""
        return list(self._properties)

    def get(self, name: str) -> ModelValue:
        """Return a property, whose name may be in any case.

        Raises:
            ExpressionError: There is none of that name.
        """
        getter = self._properties.get(name)
        if getter is None:
            folded = name.casefold()
            found = next((known for known in self._properties if known.casefold() == folded), None)
            if found is None:
                raise ExpressionError(
                    f"{self.display or 'the object'} has no property '{name}'",
                    hint=f"it has {', '.join(self._properties)}",
                )
            getter = self._properties[found]
        return getter()


class Sequence:
    """Values in an order, made when they are asked for.

    Args:
        pairs: Starts over with each call; yields ``(index, value)``, the index as it is shown and looked up.
        display: One line for it.
        lookup: Finds an element by index faster than walking; None walks.
    """

    def __init__(
        self,
        pairs: Callable[[], Iterator[tuple[int, ModelValue]]],
        display: str = "",
        lookup: Callable[[int], ModelValue] | None = None,
    ) -> None:
        self.pairs = pairs
        self.display = display
        self._lookup = lookup

    def values(self) -> Iterator[ModelValue]:
        """Yield the values."""
        for _, value in self.pairs():
            yield value

    def at(self, index: int) -> ModelValue:
        """Return the element of an index.

        Raises:
            ExpressionError: There is none.
        """
        if self._lookup is not None:
            return self._lookup(index)
        for number, value in self.pairs():
            if number == index:
                return value
        raise ExpressionError(f"there is no element [{index:#x}]")


def numbered(values: Callable[[], Iterator[ModelValue]], display: str = "") -> Sequence:
    """A sequence whose indexes count from 0."""
    return Sequence(lambda: enumerate(values()), display)


def truth(value: ModelValue) -> bool:
    """Whether a value counts as true: any number but zero, any text but the empty one, anything that is there."""
    if isinstance(value, Value):
        return value.number != 0
    if isinstance(value, str):
        return bool(value)
    return value is not None


def boolean(flag: object) -> Value:
    """A truth value."""
    return Value(int(bool(flag)), BOOL)


def kind_of(value: ModelValue) -> str:
    """What a value is, for messages."""
    match value:
        case Value():
            return f"a value of type {describe(value.type)}"
        case str():
            return "a string"
        case Sequence():
            return "a sequence"
        case ModelObject():
            return "an object"
        case None:
            return "nothing"


def as_sequence(value: ModelValue, memory: Memory) -> Sequence | None:
    """Take a sequence or a C array as a sequence; None if it is neither."""
    if isinstance(value, Sequence):
        return value
    if isinstance(value, Value) and value.type is not None:
        layout = resolved(value.type)
        if isinstance(layout, ArrayType):
            return _array(value.number, layout, memory)
    return None


def _array(address: int, layout: ArrayType, memory: Memory) -> Sequence:
    size = size_of(layout.element)

    def element(index: int) -> Value:
        if not 0 <= index < layout.count:
            raise ExpressionError(f"the array has {layout.count} elements, so there is no [{index:#x}]")
        return load(memory, (address + index * size) & MASK64, layout.element)

    return Sequence(
        lambda: ((index, element(index)) for index in range(layout.count)), describe(layout), lookup=element
    )


ModelValue = Value | str | ModelObject | Sequence | None
Getter = Callable[[], ModelValue]
