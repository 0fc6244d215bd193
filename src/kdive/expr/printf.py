"""``.printf``: formatted text from expressions."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from kdive.addr import format_address, sign_extend
from kdive.errors import ExpressionError, MemoryAccessError, UsageError
from kdive.expr.commandline import quoted_end
from kdive.expr.evaluator import evaluate_prefix
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.expr.scope import PrintfScope

NARROW_LIMIT = 4096
"""Bytes of a narrow string that are shown."""

WIDE_LIMIT = 2048
"""Code units of a wide string that are shown."""

_MAX_WIDTH = 4096
_SPECIFIER = re.compile(
    r"%(?P<flags>[-+ 0#]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?)?(?P<length>I64|I32|ll|hh|l|h|w)?"
    r"(?P<conversion>msa|msu|ma|mu|[diuxXocCsSpNyfeEgGI%])"
)
_OPTIONS = re.compile(r"(?:/D(?!\w)|/o[A-Za-z])\s*")
_TAG = re.compile(r"</?(?:link|exec|b|i|u|col|altlink)\b[^<>]*>", re.IGNORECASE)
_ESCAPE = re.compile(r'\\([ntr\\"])')
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}


class _Argument(Record, frozen=True):
    """A value, or a string that was written in quotes."""

    number: int
    text: str | None = None


def format_printf(text: str, scope: PrintfScope) -> str:
    """Format the text behind ``.printf``: ``[/D] [/oX] "format" [, argument]...``.

    Conversions are C's, and ``%p`` ``%N`` pointers, ``%I64x`` 64-bit numbers (plain ``%x`` and ``%d`` show the low 32
    bits), ``%ma`` ``%mu`` strings at an address, ``%msa`` ``%msu`` the ``ANSI_STRING`` or ``UNICODE_STRING`` at an
    address, ``%y`` the symbol there, ``%ly`` with its source line. A conversion that is unknown or has no argument is
    printed as written. Markup (``/D``) is dropped.

    Raises:
        UsageError: There is no quoted format, or the arguments are not separated by commas.
        ExpressionError: An argument cannot be evaluated, or a width is over 4096.
        MemoryAccessError: The string at an address cannot be read.
    """
    template, arguments, markup = parse_arguments(text, scope)
    if markup:
        template = _TAG.sub("", template).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return _Formatter(scope, arguments).format(template)


def parse_arguments(text: str, scope: PrintfScope) -> tuple[str, list[_Argument], bool]:
    """Split the text behind ``.printf`` into the format (escapes replaced), the arguments, and whether it is markup.

    Raises:
        UsageError: There is no quoted format, or the arguments are not separated by commas.
        ExpressionError: An argument cannot be evaluated.
    """
    position = len(text) - len(text.lstrip())
    markup = False
    while (match := _OPTIONS.match(text, position)) is not None:
        markup = markup or match[0].startswith("/D")
        position = match.end()
    template, rest = _string(text[position:])
    if template is None:
        raise UsageError("the format must be in double quotes", hint='.printf "format" [, argument]...')
    arguments: list[_Argument] = []
    while rest:
        # Some scripts leave the comma out in front of the first argument; the tool accepts that.
        if rest.startswith(","):
            rest = rest[1:].lstrip()
        elif arguments:
            raise UsageError(f"',' expected at '{rest[:40]}'", hint='.printf "format" [, argument]...')
        string, behind = _string(rest)
        if string is not None:
            arguments.append(_Argument(0, string))
        else:
            value, behind = evaluate_prefix(rest, scope)
            arguments.append(_Argument(value.number))
        rest = behind.lstrip()
    return template, arguments, markup


def _string(text: str) -> tuple[str | None, str]:
    """Return the quoted string at the start of a text with its escapes replaced, and the rest."""
    if not text.startswith('"'):
        return None, text
    end = quoted_end(text, 0)
    if end < 2 or text[end - 1] != '"':
        raise UsageError('a quote (") is not closed', hint='.printf "format" [, argument]...')
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], text[1 : end - 1]), text[end:].lstrip()


class _Formatter:
    def __init__(self, scope: PrintfScope, arguments: list[_Argument]) -> None:
        self._scope = scope
        self._arguments = arguments
        self._next = 0

    def format(self, template: str) -> str:
        return _SPECIFIER.sub(self._replace, template)

    def _take(self) -> _Argument | None:
        if self._next >= len(self._arguments):
            return None
        self._next += 1
        return self._arguments[self._next - 1]

    def _size(self, written: str | None) -> int | None:
        if written is None:
            return None
        if written == "*":
            argument = self._take()
            return None if argument is None else min(argument.number & 0xFFFFFFFF, _MAX_WIDTH)
        if len(written) > 5 or int(written) > _MAX_WIDTH:
            raise ExpressionError(f"the width {written[:20]} is too large (limit {_MAX_WIDTH})")
        return int(written)

    def _replace(self, match: re.Match[str]) -> str:
        conversion, flags = match["conversion"], match["flags"]
        if conversion == "%":
            return "%" if match[0] == "%%" else match[0]
        width = self._size(match["width"]) or 0
        precision = self._size(match["precision"])
        argument = self._take()
        if argument is None:
            return match[0]
        body = self._convert(conversion, match["length"] or "", flags, precision, argument)
        if "-" in flags:
            return body.ljust(width)
        zero = "0" in flags and conversion in "diuxXofeEgG" and precision is None
        if not zero:
            return body.rjust(width)
        sign = body[:1] if body[:1] in ("-", "+", " ") else ""
        return sign + body[len(sign) :].rjust(width - len(sign), "0")

    def _convert(self, conversion: str, length: str, flags: str, precision: int | None, argument: _Argument) -> str:
        number = argument.number
        match conversion:
            case "d" | "i" | "u" | "x" | "X" | "o":
                return _integer(number, conversion, length, flags, precision)
            case "I":
                return f"{number:016x}" if number > 0xFFFFFFFF else f"{number:08x}"
            case "c" | "C":
                code = number & (0xFF if conversion == "c" and length not in ("l", "w") else 0xFFFF)
                return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"
            case "p":
                return format_address(number, self._scope.pointer_size)
            case "N":
                return f"{number:0{self._scope.pointer_size * 2}x}"
            case "f" | "e" | "E" | "g" | "G":
                return _floating(number, conversion, length, flags, precision)
            case "y":
                name = self._scope.symbolize(number)
                line = self._scope.source_line(number) if length == "l" else None
                return name if line is None else f"{name} [{line}]"
            case _:
                text = argument.text if argument.text is not None else self._text_at(conversion, length, number)
                return text if precision is None else text[:precision]

    def _text_at(self, conversion: str, length: str, address: int) -> str:
        memory = self._scope.memory
        if conversion in ("msa", "msu"):
            return self._counted_string(address, wide=conversion == "msu")
        wide = (
            conversion == "mu" or (conversion == "S" and length != "h") or (conversion == "s" and length in ("l", "w"))
        )
        return memory.wstring(address, WIDE_LIMIT) if wide else memory.cstring(address, NARROW_LIMIT)

    def _counted_string(self, address: int, *, wide: bool) -> str:
        """Read an ``ANSI_STRING`` or ``UNICODE_STRING``: Length (bytes), MaximumLength, Buffer at pointer alignment."""
        pointer_size = self._scope.pointer_size
        header = self._scope.memory.read(address, pointer_size * 2)
        size = int.from_bytes(header[:2], "little")
        buffer = int.from_bytes(header[pointer_size:], "little")
        size = min(size & ~1, WIDE_LIMIT * 2) if wide else min(size, NARROW_LIMIT)
        if size == 0:
            return ""
        data = self._scope.memory.read_prefix(buffer, size)
        if not data:
            raise MemoryAccessError(buffer, size, self._scope.memory.reason(buffer))
        return data[: len(data) & ~1].decode("utf-16-le", "replace") if wide else data.decode("utf-8", "replace")


def _integer(number: int, conversion: str, length: str, flags: str, precision: int | None) -> str:
    bits = {"I64": 64, "ll": 64, "h": 16, "hh": 8}.get(length, 32)
    number &= (1 << bits) - 1
    sign = prefix = ""
    if conversion in "di":
        signed = sign_extend(number, bits)
        sign = "-" if signed < 0 else "+" if "+" in flags else " " if " " in flags else ""
        digits = str(abs(signed))
    elif conversion == "u":
        digits = str(number)
    else:
        digits = format(number, conversion)
        if "#" in flags and number:
            prefix = {"x": "0x", "X": "0X", "o": "0"}[conversion]
    return sign + prefix + digits.rjust(precision or 0, "0")


def _floating(number: int, conversion: str, length: str, flags: str, precision: int | None) -> str:
    """Read the argument's bits as a float, or with the ``l`` modifier as a double."""
    if length == "l":
        value = struct.unpack("<d", number.to_bytes(8, "little"))[0]
    else:
        value = struct.unpack("<f", (number & 0xFFFFFFFF).to_bytes(4, "little"))[0]
    sign = "+" if "+" in flags else ""
    return format(value, f"{sign}.{6 if precision is None else min(precision, 100)}{conversion}")
