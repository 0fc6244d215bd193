"""What the unwinder needs of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdive.memory.interface import Memory
    from kdive.symbols.engine import SymbolEngine
    from kdive.symbols.images import ModuleImage


class SessionUnwindHost:
    """Memory, images and symbols for :func:`kdive.stack.unwinder.walk`.

    Args:
        memory: The address space that the stack lies in.
        engine: Modules and symbols.
    """

    def __init__(self, memory: Memory, engine: SymbolEngine) -> None:
        self._memory = memory
        self._engine = engine

    @property
    def memory(self) -> Memory:
        """The address space that the stack lies in."""
        return self._memory

    def module_at(self, address: int) -> ModuleImage | None:
        """The image that contains an address."""
        return self._engine.image_at(address)

    def nearest_symbol(self, address: int) -> tuple[str, int, bool] | None:
        """``(mod!name, displacement, known to be a function)`` of the symbol at or below an address."""
        found = self._engine.nearest(address)
        if found is None or found.symbol is None:
            return None
        return f"{found.module.name}!{found.symbol.name}", found.displacement, found.symbol.kind == "function"
