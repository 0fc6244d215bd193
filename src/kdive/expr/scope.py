"""What the evaluator asks of the world around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kdive.expr.values import Value
    from kdive.memory.interface import Memory
    from kdive.symbols.types import Type


class EvaluationScope(Protocol):
    """Names, registers and memory at one stop of a target.

    Lookups return None for a name that does not exist and may raise a ``KdiveError`` for one that exists but cannot be
    answered now.
    """

    @property
    def memory(self) -> Memory:
        """Virtual memory of the current process."""
        ...

    @property
    def physical(self) -> Memory | None:
        """Physical memory, where the target gives access to it."""
        ...

    @property
    def radix(self) -> int:
        """Base of numbers without a prefix in MASM expressions: 8, 10 or 16."""
        ...

    @property
    def pointer_size(self) -> int:
        """Bytes in a pointer of the current processor mode: 4 or 8."""
        ...

    def register(self, name: str) -> int | None:
        """Return a register (lower-case name), or None."""
        ...

    def pseudo(self, name: str) -> Value | None:
        """Return a pseudo-register, user variable or result slot by its name without the ``$``, or None.

        Raises:
            ExpressionError: The pseudo-register exists, but its state is unknown at this stop.
        """
        ...

    def symbol(self, name: str) -> Value | None:
        """Return ``module!name`` or a bare name, or None.

        For a variable or function, ``address`` and ``number`` are both its address and ``type`` is the type of the
        *variable* where it is known; the evaluator reads the variable when the syntax asks for its content. For an
        enumeration constant, ``number`` is the constant and ``address`` is None.
        """
        ...

    def module_base(self, name: str) -> int | None:
        """Return the load address of a module, or None."""
        ...

    def local(self, name: str) -> Value | None:
        """Return a local variable of the current frame, or None.

        One in memory has ``number`` and ``address`` set to its address, as :meth:`symbol` does; one in a register has
        its content as ``number`` and the ``register``.
        """
        ...

    def find_type(self, name: str) -> Type | None:
        """Return a type by ``module!name`` or bare name, or None."""
        ...


class PrintfScope(EvaluationScope, Protocol):
    """A scope that can also name addresses, which ``.printf`` needs."""

    def symbolize(self, address: int) -> str:
        """Return ``module!name+0x10`` for an address, or the address where no symbol is near."""
        ...

    def source_line(self, address: int) -> str | None:
        """Return ``file(line)`` for an address, or None."""
        ...
