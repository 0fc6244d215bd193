"""Tokens of expressions, taken one at a time so that a parser can stop anywhere in a line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kdive.errors import ExpressionError

TokenKind = Literal["number", "name", "register", "pseudo", "operator", "string", "char", "end"]

_OPERATORS = (
    ">>>",
    "<<",
    ">>",
    "<=",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "->",
    "::",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "~",
    "!",
    "<",
    ">",
    "=",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    "?",
    ":",
    "#",
)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_?$][\w$?]*")
_REGISTER = re.compile(r"@([A-Za-z]\w*)")
_PSEUDO = re.compile(r"@?\$(\w+)")
_QUOTED_NAME = re.compile(r'@!"([^"]*)"')
# mod!name, with C++ scopes, templates and decorated names; the module part may hold what \w does.
_SYMBOL = re.compile(r"[A-Za-z_][\w.]*!(?:[\w?@$~]|::|<[^<>\s]*>|`[^'`]*')+|[A-Za-z_?][\w?$]*(?:::~?\w+)+")
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_CHAR = re.compile(r"'((?:\\.|[^'\\]){1,8})'")
_NUMBER = re.compile(
    r"0x[0-9a-fA-F`]+|0n[0-9]+|0t[0-7]+|0y[01]+|[0-9][0-9a-fA-F`]*h?|[0-9a-fA-F]+`[0-9a-fA-F`]*", re.IGNORECASE
)
_CPP_NUMBER = re.compile(r"0x[0-9a-fA-F`]+|0n[0-9]+|[0-9]+", re.IGNORECASE)
_CPP_SUFFIX = re.compile(r"(?:u|l|ul|ll|ull|i64|ui64)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, text, and where it starts and ends in the expression."""

    kind: TokenKind
    text: str
    start: int
    end: int


class Lexer:
    """Cuts tokens off a text.

    Args:
        text: The whole argument text.
        cpp: C++ rules: plain numbers are decimal, and a name never is a number.
    """

    def __init__(self, text: str, *, cpp: bool = False) -> None:
        self.text = text
        self.cpp = cpp

    def token(self, at: int) -> Token:
        """Return the token at or behind a position.

        Raises:
            ExpressionError: No token starts there.
        """
        text = self.text
        match = _SPACE.match(text, at)
        start = match.end() if match else at
        if start >= len(text):
            return Token("end", "", start, start)
        char = text[start]
        if char == "@":
            return self._at_sign(start)
        if char == "$":
            found = _PSEUDO.match(text, start)
            if found:
                return Token("pseudo", found.group(1), start, found.end())
        if char == '"':
            found = _STRING.match(text, start)
            if not found:
                raise ExpressionError("the string is not closed", text=text, column=start)
            return Token("string", found.group(1), start, found.end())
        if char == "'":
            found = _CHAR.match(text, start)
            if not found:
                raise ExpressionError("the character constant is not closed", text=text, column=start)
            return Token("char", found.group(1), start, found.end())
        number = self._number(start)
        if number is not None:
            return number
        symbol = _SYMBOL.match(text, start)
        if symbol:
            return Token("name", symbol.group(), start, symbol.end())
        word = _WORD.match(text, start)
        if word and char not in "?$":
            return Token("name", word.group(), start, word.end())
        for operator in _OPERATORS:
            if text.startswith(operator, start):
                return Token("operator", operator, start, start + len(operator))
        raise ExpressionError(f"unexpected character {char!r}", text=text, column=start)

    def _at_sign(self, start: int) -> Token:
        text = self.text
        if text.startswith("@@", start):
            found = re.compile(r"@@(c\+\+|masm)?(?=\s*\()", re.IGNORECASE).match(text, start)
            if found:
                return Token("operator", found.group().lower(), start, found.end())
        kinds: tuple[tuple[re.Pattern[str], TokenKind], ...] = (
            (_QUOTED_NAME, "name"),
            (_PSEUDO, "pseudo"),
            (_REGISTER, "register"),
        )
        for pattern, kind in kinds:
            found = pattern.match(text, start)
            if found:
                return Token(kind, found.group(1), start, found.end())
        raise ExpressionError("a register or pseudo-register must follow @", text=text, column=start)

    def _number(self, start: int) -> Token | None:
        text = self.text
        found = (_CPP_NUMBER if self.cpp else _NUMBER).match(text, start)
        if not found:
            return None
        end = found.end()
        if self.cpp:
            suffix = _CPP_SUFFIX.match(text, end)
            end = suffix.end() if suffix else end
        following = text[end : end + 1]
        if following.isalnum() or following == "_":
            if not text[start].isdigit():
                return None
            raise ExpressionError(f"{following!r} does not belong in a number", text=text, column=end)
        if following == "!" and text[end + 1 : end + 2] != "=":
            # A module name may look like a number, as in `beef!Entry`.
            return None
        return Token("number", text[start : found.end()], start, end)
