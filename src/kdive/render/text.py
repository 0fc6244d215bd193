"""Results as text: one renderer per result type, found by the type.

Each family of results has a module of renderers; it is imported when a result of its family is first rendered.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

from kdive.render.styled import StyledText

if TYPE_CHECKING:
    from collections.abc import Callable


class TextRenderer:
    """Turns results into styled text."""

    def __init__(self) -> None:
        self._renderers: dict[type[Any], Callable[[Any], StyledText]] = {}

    def render(self, result: Any) -> StyledText:
        """Render any result; None gives an empty text, a string is itself."""
        text = StyledText()
        if result is None:
            return text
        if isinstance(result, str):
            for line in result.splitlines() or [""]:
                text.line(line)
            return text
        kind = cast("type[Any]", type(result))
        if kind not in self._renderers:
            # A result type of kdive.commands.results.X is rendered by kdive.render.families.X.
            family = kind.__module__.rpartition(".")[2]
            module = importlib.import_module(f"kdive.render.families.{family}")
            self._renderers.update(module.RENDERERS)
        return self._renderers[kind](result)

    def plain(self, result: Any) -> str:
        """Render to plain text."""
        return self.render(result).plain()
