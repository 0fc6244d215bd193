"""Errors for people: one form everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.render.styled import Style, StyledText

if TYPE_CHECKING:
    from kdive.errors import KdiveError


def error_text(error: KdiveError, not_run: str = "") -> StyledText:
    """``error: <what> (<where>)``, then the hint, then what was not run."""
    text = StyledText()
    lines = str(error).splitlines() or [""]
    text.add("error: ", Style.ERROR).line(lines[0])
    for line in lines[1:]:
        text.line(line)
    if error.hint:
        text.add("hint: ", Style.NOTE).line(error.hint)
    if not_run:
        text.add("not run after that error: ", Style.NOTE).line(not_run)
    return text
