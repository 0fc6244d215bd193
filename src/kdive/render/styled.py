"""Text with styles: what renderers write, and how it becomes plain text or colour."""

from __future__ import annotations

from enum import StrEnum


class Style(StrEnum):
    """What a piece of text is; colours are chosen at the very end."""

    PLAIN = ""
    ADDRESS = "address"
    SYMBOL = "symbol"
    MODULE = "module"
    NUMBER = "number"
    REGISTER = "register"
    MNEMONIC = "mnemonic"
    HEADER = "header"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
    GOOD = "good"


_ANSI = {
    Style.ADDRESS: "36",
    Style.SYMBOL: "33",
    Style.MODULE: "33",
    Style.NUMBER: "36",
    Style.REGISTER: "32",
    Style.MNEMONIC: "1",
    Style.HEADER: "1",
    Style.NOTE: "2",
    Style.WARNING: "33;1",
    Style.ERROR: "31;1",
    Style.GOOD: "32",
}


class StyledText:
    """A text under construction.

    Lines are ended with :meth:`line`; the text as a whole has no newline at its end.
    """

    def __init__(self) -> None:
        self._lines: list[list[tuple[str, Style]]] = [[]]

    def add(self, text: str, style: Style = Style.PLAIN) -> StyledText:
        """Append to the current line; returns self, so that calls chain."""
        if text:
            self._lines[-1].append((text, style))
        return self

    def line(self, text: str = "", style: Style = Style.PLAIN) -> StyledText:
        """Append and end the line."""
        self.add(text, style)
        self._lines.append([])
        return self

    def extend(self, other: StyledText) -> StyledText:
        """Append all lines of another text."""
        for parts in other.finished():
            self._lines[-1].extend(parts)
            self._lines.append([])
        return self

    def finished(self) -> list[list[tuple[str, Style]]]:
        """The lines, without the empty one that is still open."""
        return self._lines if self._lines[-1] else self._lines[:-1]

    def plain(self) -> str:
        """Without styles; no line ends in spaces."""
        return "\n".join("".join(text for text, _ in parts).rstrip() for parts in self.finished())

    def ansi(self) -> str:
        """With terminal colours."""
        lines: list[str] = []
        for parts in self.finished():
            pieces = [f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style else text for text, style in parts]
            lines.append("".join(pieces))
        return "\n".join(lines)
