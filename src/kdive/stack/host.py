"""What the stack walker needs around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kdive.memory.interface import Memory


class UnwindModule(Protocol):
    """An image as the unwinder sees it."""

    @property
    def name(self) -> str:
        """Module name."""
        ...

    @property
    def base(self) -> int:
        """Load address."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...

    def read_image(self, rva: int, size: int) -> bytes:
        """Image bytes, short where there are none."""
        ...

    def exception_directory(self) -> tuple[int, int]:
        """``(rva, size)`` of ``.pdata``; ``(0, 0)`` if unknown."""
        ...


class UnwindHost(Protocol):
    """What the walker needs around it."""

    @property
    def memory(self) -> Memory:
        """Where the stack lies."""
        ...

    def module_at(self, address: int) -> UnwindModule | None:
        """The image around an address."""
        ...

    def nearest_symbol(self, address: int) -> tuple[str, int, bool] | None:
        """``(name, displacement, known to be a function)`` of the symbol at or below an address."""
        ...
