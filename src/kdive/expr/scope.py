"""What the evaluator asks of its surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kdive.expr.values import Value
    from kdive.memory.interface import Memory
    from kdive.symbols.types import Type


class EvaluationScope(Protocol):
    """Names and memory for expressions."""

    @property
    def memory(self) -> Memory:
        """Virtual memory."""
        ...

    @property
    def physical(self) -> Memory | None:
        """Physical memory, if there is any."""
        ...

    @property
    def radix(self) -> int:
        """Default radix of numbers in MASM expressions: 8, 10 or 16."""
        ...

    @property
    def pointer_size(self) -> int:
        """Bytes in a pointer."""
        ...

    def register(self, name: str) -> int | None:
        """A register by its lower-case name."""
        ...

    def pseudo(self, name: str) -> Value | None:
        """A pseudo-register or variable, named without its ``$``."""
        ...

    def symbol(self, name: str) -> Value | None:
        """A symbol (``mod!name`` or ``name``)."""
        ...

    def module_base(self, name: str) -> int | None:
        """Load address of a module."""
        ...

    def local(self, name: str) -> Value | None:
        """A local variable of the selected frame."""
        ...

    def find_type(self, name: str) -> Type | None:
        """A type (``mod!name`` or ``name``)."""
        ...

    def symbolize(self, address: int) -> str:
        """Name of an address, for ``%y``."""
        ...
