"""The formatting of ``.printf``.

Source: Microsoft, ".printf": C's conversions, and the debugger's: ``%p`` pointer, ``%N`` address, ``%y`` symbol,
``%ma`` ``%mu`` strings in memory, ``%msa`` ``%msu`` counted strings in memory.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from kdive.addr import format_address, sign_extend
from kdive.errors import ExpressionError
from kdive.expr.evaluator import evaluate

if TYPE_CHECKING:
    from kdive.expr.scope import EvaluationScope

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ 0#]*)(?P<width>\d{0,4})(?:\.(?P<precision>\d{0,4}))?"
    r"(?P<kind>I64[dioux]|I64X|ll?[dioux]|ma|mu|msa|msu|ly|[dioux]|[XcCsSpNyfeg%])"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "0": "\0", "b": "\b"}
_NARROW_LIMIT = 4096
_WIDE_LIMIT = 2048
_MAX_WIDTH = 1000


def split_arguments(text: str) -> tuple[str, list[str]]:
    """Split ``"format", argument, argument`` into the format and the arguments' texts.

    Raises:
        ExpressionError: No quoted format stands at the start.
    """
    text = re.sub(r"^\s*(?:/[oDnprs]+\s+)+", "", text).lstrip()
    match = re.match(r'"((?:\\.|[^"\\])*)"\s*,?', text, re.DOTALL)
    if not match:
        raise ExpressionError('a format in double quotes is needed: .printf "%x\\n", @rax', text=text)
    arguments: list[str] = []
    depth, start, quoted = 0, match.end(), False
    for index in range(match.end(), len(text)):
        char = text[index]
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "([":
            depth += 1
        elif not quoted and char in ")]":
            depth -= 1
        elif not quoted and char == "," and not depth:
            arguments.append(text[start:index])
            start = index + 1
    if text[start:].strip():
        arguments.append(text[start:])
    return match.group(1), [argument.strip() for argument in arguments]


def unescape(text: str) -> str:
    """Replace backslash escapes."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group(1)), text, flags=re.DOTALL)


def format_printf(text: str, scope: EvaluationScope) -> str:
    """Format the arguments of a ``.printf``. A conversion without an argument stays as it is written.

    Raises:
        ExpressionError: The format or an argument is wrong.
        MemoryAccessError: A string cannot be read.
    """
    form, arguments = split_arguments(text)
    remaining = iter(arguments)

    def convert(match: re.Match[str]) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        argument = next(remaining, None)
        if argument is None:
            return match.group()
        return _pad(match, _text(kind, argument, match, scope))

    return _CONVERSION.sub(convert, unescape(form))


def _pad(match: re.Match[str], text: str) -> str:
    width = min(int(match["width"] or 0), _MAX_WIDTH)
    if "-" in match["flags"]:
        return text.ljust(width)
    if "0" in match["flags"] and match["kind"] not in ("s", "S", "ma", "mu", "y"):
        sign = text[:1] if text[:1] in "+-" else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _text(kind: str, argument: str, match: re.Match[str], scope: EvaluationScope) -> str:
    if kind in ("s", "S") and argument.startswith('"'):
        return argument.strip('"')
    value = evaluate(argument, scope).number
    if kind in ("c", "C"):
        return chr(value & (0xFF if kind == "c" else 0xFFFF))
    if kind in ("ma", "s"):
        return scope.memory.cstring(value, _NARROW_LIMIT)
    if kind in ("mu", "S"):
        return scope.memory.wstring(value, _WIDE_LIMIT)
    if kind in ("msa", "msu"):
        raw = scope.memory.read(value, 16)
        data = scope.memory.read(int.from_bytes(raw[8:16], "little"), int.from_bytes(raw[:2], "little"))
        return data.decode("latin-1" if kind == "msa" else "utf-16-le", "replace")
    if kind in ("y", "ly"):
        return scope.symbolize(value)
    if kind == "p":
        return f"{value:016x}"
    if kind == "N":
        return format_address(value)
    if kind in ("f", "e", "g"):
        number = struct.unpack("<d", value.to_bytes(8, "little"))[0]
        precision = min(int(match["precision"] or 6), 60)
        return f"{number:.{precision}{kind}}"
    return _integer(kind, value, match)


def _integer(kind: str, value: int, match: re.Match[str]) -> str:
    letter = kind[-1]
    bits = 64 if kind.startswith(("I64", "ll", "l")) else 32
    value &= (1 << bits) - 1
    if letter in "di":
        number = sign_extend(value, bits)
        text = f"{number}"
        if number >= 0 and "+" in match["flags"]:
            text = f"+{text}"
        return text
    if letter == "u":
        return f"{value}"
    if letter == "o":
        return f"{value:o}"
    text = f"{value:x}" if letter == "x" else f"{value:X}"
    return f"0{letter}{text}" if "#" in match["flags"] else text
