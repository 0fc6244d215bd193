"""Colour of the line under the cursor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.lexers import Lexer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

_TOKEN = re.compile(
    r"(?P<comment>\$\$[^;]*|^\s*\*.*)|(?P<string>\"[^\"]*\"?)|(?P<command>(?:(?<=^)|(?<=[;{]))\s*[.!?~#]*[A-Za-z]\w*)"
    r"|(?P<register>@\$?\w+|\$\w+)|(?P<number>\b0[xnty][\w`]+|\b[0-9][0-9a-fA-F`]*\b)|(?P<symbol>\w+![\w:~?@$]+)|."
)
_STYLES = {
    "comment": "ansibrightblack",
    "string": "ansigreen",
    "command": "bold",
    "register": "ansicyan",
    "number": "ansiblue",
    "symbol": "ansiyellow",
}


class CommandLexer(Lexer):
    """Colours commands, registers, numbers, symbols and strings."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """See :meth:`prompt_toolkit.lexers.Lexer.lex_document`."""
        lines = document.lines

        def line(number: int) -> StyleAndTextTuples:
            return [(_STYLES.get(match.lastgroup or "", ""), match.group()) for match in _TOKEN.finditer(lines[number])]

        return line
