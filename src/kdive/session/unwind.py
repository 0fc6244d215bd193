"""What the unwinder needs of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdive.memory.interface import Memory
    from kdive.session.session import Session
    from kdive.symbols.images import ModuleImage


class SessionUnwindHost:
    """Memory, images and symbols for :func:`kdive.stack.unwinder.walk`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def memory(self) -> Memory:
        """Memory in the session's scope."""
        return self._session.memory

    def module_at(self, address: int) -> ModuleImage | None:
        """The image that contains an address."""
        return self._session.engine.image_at(address)

    def nearest_symbol(self, address: int) -> tuple[str, int, bool] | None:
        """``(mod!name, displacement, known to be a function)`` of the symbol at or below an address."""
        found = self._session.engine.nearest(address)
        if found is None or found.symbol is None:
            return None
        return f"{found.module.name}!{found.symbol.name}", found.displacement, found.symbol.kind == "function"
