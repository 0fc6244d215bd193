"""Tokens of the MASM and C++ expression syntaxes.

Tokens are read on demand from a position, either as an *operand* or as an *operator*, because what a run of characters
means depends on which of the two is expected, and because text behind the end of an expression (the rest of a command)
must never be looked at as if it were one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.expr.nodes import Dialect

TokenKind = Literal[
    "number", "name", "quoted-name", "local", "register", "pseudo", "string", "char", "operator", "switch", "end"
]

_SPACE = re.compile(r"[ \t\r\n]*")
_BACKTICKED = re.compile(r"[0-9A-Fa-f]+(?:`[0-9A-Fa-f]+)+(?![\w`])")
_DIGITS = re.compile(r"[0-9][\w`]*")
_NUMERIC_MODULE = re.compile(r"[0-9]\w*(?=![^\W\d])")
_PART = re.compile(r"[^\W\d][\w$]*")
_DECORATED = re.compile(r"\?[\w?@$]+")
_STACK_BYTES = re.compile(r"@[0-9]+(?!\w)")
_OPERATOR_NAME = re.compile(r"\(\)|\[\]|->\*?|<=>|<<=?|>>=?|&&|\|\||\+\+|--|[-+*/%^&|!=<>]=?|~")
_PSEUDO = re.compile(r"[\w?.]+")
_MASM_OPERATOR = re.compile(r">>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>=&^|]|(?:and|or|xor|mod)(?![\w$!])", re.IGNORECASE)
_CPP_OPERATOR = re.compile(r"<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>=&^|]")
_SWITCH = re.compile(r"@@(masm|c\+\+)?[ \t]*\(", re.IGNORECASE)
_CANONICAL = {"=": "==", "and": "&", "or": "|", "xor": "^", "mod": "%"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_MAX_TEMPLATE = 1024


class Token(Record, frozen=True):
    """One token: ``text`` is its payload (a name without quoting, an operator in canonical spelling).

    Attributes:
        kind: What it is.
        text: The payload.
        start: Column of its first character.
        end: Column behind its last character.
        value: The number, for number and char tokens.
        suffix: What a C literal's spelling says about its type.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    value: int = 0
    suffix: Literal["int", "unsigned", "int64", "uint64", "char"] = "uint64"


class Lexer:
    """Reads tokens of one text.

    Args:
        text: The expression, and perhaps more behind it.
        radix: Base of MASM numbers without a prefix.
    """

    def __init__(self, text: str, radix: int) -> None:
        self.text = text
        self.radix = radix

    def error(self, what: str, column: int, hint: str | None = None) -> ExpressionError:
        """Return an error that points at a column of the text."""
        return ExpressionError(what, text=self.text, column=column, hint=hint)

    def at(self, column: int) -> str:
        """Return a short excerpt from a column on, to name the place in a message."""
        rest = self.text[column:].split("\n", 1)[0].strip()
        return (rest if len(rest) <= 40 else rest[:37] + "...") or "<EOL>"

    def skip(self, position: int) -> int:
        """Return the position of the next character that is no white space."""
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def operator(self, position: int, dialect: Dialect) -> Token | None:
        """Return the infix operator at a position, or None if there is something else."""
        start = self.skip(position)
        match = (_MASM_OPERATOR if dialect == "masm" else _CPP_OPERATOR).match(self.text, start)
        if match is None:
            return None
        written = match[0].lower()
        if dialect == "c++" and written == "=":
            raise self.error(
                "assignment is not supported in expressions", start, hint="compare with ==; set variables with r"
            )
        return Token("operator", _CANONICAL.get(written, written), start, match.end())

    def operand(self, position: int, dialect: Dialect) -> Token:
        """Return the token at a position where an operand or a prefix operator must stand.

        Raises:
            ExpressionError: What stands there is neither.
        """
        start = self.skip(position)
        if start >= len(self.text):
            return Token("end", "", start, start)
        char = self.text[start]
        if (match := _BACKTICKED.match(self.text, start)) is not None:
            return self._number(start, match.end(), dialect)
        if "0" <= char <= "9":
            if _NUMERIC_MODULE.match(self.text, start):
                end = self.name_end(start)
                return Token("name", self.text[start:end], start, end)
            match = _DIGITS.match(self.text, start)
            return self._number(start, match.end() if match else start + 1, dialect)
        if (end := self.name_end(start)) > start:
            return Token("name", self.text[start:end], start, end)
        if char == "@":
            return self._at_sign(start)
        if char == "$":
            return self._dollar(start, start)
        if char == '"':
            text, end = self._quoted(start, '"')
            return Token("string", text, start, end)
        if char == "'":
            return self._character(start)
        if char in "+-~!&*(" or (char in "[." if dialect == "masm" else char == "#"):
            return Token("operator", char, start, start + 1)
        raise self.error(f"Syntax error at '{self.at(start)}'", start)

    def name_end(self, position: int) -> int:
        """Return the end of the (qualified) name at a position, or the position itself if there is none.

        A name is ``name``, ``module!name``, either with ``::`` parts, ``<…>`` template arguments behind a qualified
        part, ``operator`` names, destructors, and the decorated forms ``?name@@…`` and ``name@12``.
        """
        text = self.text
        match = _NUMERIC_MODULE.match(text, position) or _PART.match(text, position)
        if match is None:
            return position
        end = match.end()
        part_start = position
        module_seen = scoped = False
        while True:
            if (module_seen or scoped) and text[part_start:end] == "operator":
                match = _OPERATOR_NAME.match(text, end)
                end = match.end() if match else end
            elif (module_seen or scoped) and text[end : end + 1] == "<":
                end = self._template_end(end)
            next_start = -1
            if not module_seen and not scoped and text[end : end + 1] == "!":
                next_start = end + 1
                if (match := _DECORATED.match(text, next_start)) is not None:
                    return match.end()
            elif text.startswith("::", end):
                next_start = end + 2
            if next_start < 0:
                break
            tilde = next_start + 1 if text[next_start : next_start + 1] == "~" else next_start
            match = _PART.match(text, tilde)
            if match is None:
                break
            if text[end] == "!":
                module_seen = True
            else:
                scoped = True
            part_start, end = tilde, match.end()
        if module_seen and (match := _STACK_BYTES.match(text, end)) is not None:
            end = match.end()
        return end

    def _template_end(self, position: int) -> int:
        """Return the end of template arguments that open at a position, or the position if it is a comparison.

        ``a<b>c`` is a chain of comparisons, which MASM does not have, so a closed ``<…>`` that is not followed by an
        operand can only be part of a name.
        """
        text = self.text
        depth = parentheses = 0
        index = position
        for index in range(position, min(len(text), position + _MAX_TEMPLATE)):
            char = text[index]
            if char == "<":
                depth += 1
            elif char == ">":
                depth -= 1
                if depth == 0:
                    break
            elif char == "(":
                parentheses += 1
            elif char == ")":
                parentheses -= 1
                if parentheses < 0:
                    return position
            elif not (char.isalnum() or char in "_:,*&! `'~-$"):
                return position
        if depth or parentheses or "&&" in text[position:index]:
            return position
        end = index + 1
        return position if _PART.match(text, end) or text[end : end + 1].isdigit() else end

    def _at_sign(self, start: int) -> Token:
        text = self.text
        if (match := _SWITCH.match(text, start)) is not None:
            return Token("switch", (match[1] or "").lower(), start, match.end())
        if text.startswith('@!"', start):
            end = text.find('"', start + 3)
            if end < 0:
                raise self.error("unterminated quoted symbol name", start)
            return Token("quoted-name", text[start + 3 : end], start, end + 1)
        if text.startswith("@$", start):
            return self._dollar(start, start + 1)
        match = _PART.match(text, start + 1)
        if match is None:
            raise self.error(f"Syntax error at '{self.at(start)}'", start)
        return Token("register", match[0].lower(), start, match.end())

    def _dollar(self, start: int, dollar: int) -> Token:
        if self.text.startswith("!", dollar + 1) and (match := _PART.match(self.text, dollar + 2)):
            return Token("local", match[0], start, match.end())
        match = _PSEUDO.match(self.text, dollar + 1)
        name = match[0] if match else ""
        # A dot starts a member access unless it is part of $.u0-like names.
        name = name.split(".", 1)[0] if not name.startswith(".") else name
        if not name:
            raise self.error(f"Syntax error at '{self.at(start)}'", start)
        return Token("pseudo", name, start, dollar + 1 + len(name))

    def _quoted(self, start: int, quote: str) -> tuple[str, int]:
        parts: list[str] = []
        index = start + 1
        while index < len(self.text):
            char = self.text[index]
            if char == quote:
                return "".join(parts), index + 1
            if char == "\\" and index + 1 < len(self.text):
                index += 1
                char = self.text[index]
                if quote == "'" or char not in '\\"':
                    char = _ESCAPES.get(char, char) if quote == "'" else "\\" + char
            parts.append(char)
            index += 1
        raise self.error("unterminated string" if quote == '"' else "unterminated character constant", start)

    def _character(self, start: int) -> Token:
        text, end = self._quoted(start, "'")
        value = 0
        for char in text:
            if ord(char) > 0xFF and len(text) > 1:
                raise self.error("a constant of several characters takes bytes only", start)
            value = value << 8 | ord(char)
        if not 1 <= len(text) <= 8:
            raise self.error("a character constant has one to eight characters", start)
        return Token("char", text, start, end, value, "char" if len(text) == 1 else "int")

    def _number(self, start: int, end: int, dialect: Dialect) -> Token:
        written = self.text[start:end]
        unsigned = wide = False
        if dialect == "masm":
            digits, base = _masm_digits(written, self.radix)
        else:
            digits, base, unsigned, wide = _c_digits(written)
        value = digits_value(digits, base)
        if value is None:
            raise self.error(
                f"Syntax error at '{written}'",
                start,
                hint=f"digits without a prefix are base {self.radix if dialect == 'masm' else 10} here; "
                "prefixes are 0x (hex), 0n (decimal), 0t (octal), 0y (binary)",
            )
        if value > MASK64:
            raise self.error(f"Overflow error at '{self.at(start)}'", start, hint="numbers have at most 64 bits")
        suffix = "uint64" if dialect == "masm" else _literal_kind(value, base, unsigned, wide)
        return Token("number", written, start, end, value, suffix)


def _masm_digits(written: str, radix: int) -> tuple[str, int]:
    """Split a MASM number into digits and base: prefix 0x, 0n, 0t or 0y, suffix h, back-ticks (which mean hex)."""
    lowered = written.lower()
    base = {"0x": 16, "0n": 10, "0t": 8, "0y": 2}.get(lowered[:2])
    if base is not None:
        return lowered[2:].replace("`", ""), base
    if lowered.endswith("h"):
        return lowered[:-1].replace("`", ""), 16
    if "`" in lowered:
        return lowered.replace("`", ""), 16
    return lowered, radix


def _c_digits(written: str) -> tuple[str, int, bool, bool]:
    """Split a C literal into digits, base, and whether its suffix asks for unsigned and for 64 bits."""
    lowered = written.lower()
    match = re.fullmatch(r"(.*?)(u?(?:ll|l|i64)?|(?:ll|l)u)", lowered, re.DOTALL)
    body, suffix = (match[1], match[2]) if match else (lowered, "")
    unsigned, wide = "u" in suffix, "ll" in suffix or "i64" in suffix
    prefix = {"0x": 16, "0n": 10, "0t": 8, "0y": 2}.get(body[:2])
    if prefix is not None:
        return body[2:].replace("`", ""), prefix, unsigned, wide
    if "`" in body:
        return body.replace("`", ""), 16, unsigned, wide
    return (body, 8, unsigned, wide) if body.startswith("0") else (body, 10, unsigned, wide)


def _literal_kind(value: int, base: int, unsigned: bool, wide: bool) -> Literal["int", "unsigned", "int64", "uint64"]:
    """Return the type of a C integer literal: the first that holds it, unsigned ones only if not plain decimal."""
    if not wide:
        if not unsigned and value < 1 << 31:
            return "int"
        if (unsigned or base != 10) and value < 1 << 32:
            return "unsigned"
    return "int64" if not unsigned and value < 1 << 63 else "uint64"


def digits_value(digits: str, base: int) -> int | None:
    """Return the value of lower-case digits in a base, or None if they are none.

    Values that do not fit 64 bits come back as some number above 64 bits, without being computed in full.
    """
    allowed = "0123456789abcdef"[:base]
    if not digits or digits.strip(allowed):
        return None
    if any(char not in allowed for char in digits):
        return None
    significant = digits.lstrip("0")
    return MASK64 + 1 if len(significant) > 64 else int(significant or "0", base)
