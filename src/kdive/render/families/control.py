"""Aliases as text."""

from __future__ import annotations

from kdive.commands.results.control import AliasList
from kdive.render.styled import Style, StyledText


def alias_list(result: AliasList) -> StyledText:
    """``al``."""
    text = StyledText()
    if not result.aliases:
        return text.line("No aliases", Style.NOTE)
    text.line(f"  {'Alias':<16} Value", Style.HEADER)
    for name, value in result.aliases.items():
        text.line(f"  {name:<16} {value}")
    return text


RENDERERS = {AliasList: alias_list}
