"""Undecorated names of Rust: the legacy scheme and v0.

Format facts: "Rust Symbol Name Mangling v0" (RFC 2603) and the ``rustc-demangle`` documentation for the legacy scheme.
Hashes and crate disambiguators are left out, as Rust's own tools do in their short form.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_DEPTH = 96
_MAX_OUTPUT = 1 << 14
_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
# fmt: off
BASIC_TYPES = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64",
    "y": "u64", "z": "!", "p": "_",
}
# fmt: on
OTHER_WORDS = "closure shim as dyn mut const unsafe extern fn for unknown"


class _NotUnderstoodError(Exception):
    """The name does not follow the grammar."""


def legacy(rest: str) -> str | None:
    """Return the path of a legacy name behind its ``_ZN``, or None if it is none."""
    parts: list[str] = []
    while match := re.match(r"\d{1,4}", rest):
        size = int(match[0])
        part = rest[match.end() : match.end() + size]
        if len(part) != size:
            return None
        parts.append(part)
        rest = rest[match.end() + size :]
    if not parts or not rest.startswith("E"):
        return None
    if len(parts) > 1 and re.fullmatch(r"h[0-9a-f]{16}", parts[-1]):
        parts.pop()
    return "::".join(_legacy_part(part) for part in parts)


def _legacy_part(part: str) -> str:
    if part.startswith("_$"):
        part = part[1:]

    def escape(match: re.Match[str]) -> str:
        code = match[1]
        if code in _ESCAPES:
            return _ESCAPES[code]
        if re.fullmatch(r"u[0-9a-f]{1,5}", code):
            return chr(int(code[1:], 16))
        return match[0]

    return re.sub(r"\$([A-Za-z0-9]+)\$", escape, part).replace("..", "::")


def v0(rest: str) -> str | None:
    """Return the path of a v0 name behind its ``_R``, or None if it is none."""
    rest = rest.partition(".")[0]  # what compilers append (``.llvm.123``)
    reader = _Reader(rest)
    try:
        path = reader.path(0, value=True)
        if reader.at < len(rest):  # the crate that instantiated it
            reader.path(0, value=False)
    except (_NotUnderstoodError, IndexError, ValueError, OverflowError):
        return None
    return path if reader.at == len(rest) else None


class _Reader:
    """Reads one v0 name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.written = 0

    def next(self) -> str:
        char = self.text[self.at]
        self.at += 1
        return char

    def take(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def spend(self, text: str) -> str:
        # Back references let a short name stand for an exponentially long one.
        self.written += len(text)
        if self.written > _MAX_OUTPUT:
            raise _NotUnderstoodError
        return text

    def deeper(self, depth: int) -> int:
        if depth >= _MAX_DEPTH:
            raise _NotUnderstoodError
        return depth + 1

    def base62(self) -> int:
        if self.take("_"):
            return 0
        end = self.text.index("_", self.at)
        value = 0
        for char in self.text[self.at : end]:
            digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
            value = value * 62 + digits.index(char)
            if value >> 64:
                raise _NotUnderstoodError
        self.at = end + 1
        return value + 1

    def disambiguator(self) -> int:
        return self.base62() + 1 if self.take("s") else 0

    def identifier(self) -> str:
        puny = self.take("u")
        match = re.compile(r"0|[1-9]\d{0,4}").match(self.text, self.at)
        if match is None:
            raise _NotUnderstoodError
        self.at = match.end()
        self.take("_")
        end = self.at + int(match[0])
        name = self.text[self.at : end]
        if len(name) != int(match[0]):
            raise _NotUnderstoodError
        self.at = end
        if puny:
            plain, _, encoded = name.rpartition("_")
            name = (f"{plain}-{encoded}" if plain else encoded).encode("ascii").decode("punycode")
        return self.spend(name)

    def path(self, depth: int, *, value: bool) -> str:
        depth = self.deeper(depth)
        tag = self.next()
        if tag == "C":
            self.disambiguator()
            return self.identifier()
        if tag == "N":
            space = self.next()
            parent = self.path(depth, value=value)
            number = self.disambiguator()
            name = self.identifier()
            if space.isupper():
                kind = {"C": "closure", "S": "shim"}.get(space, space)
                inner = f"{{{kind}:{name}#{number}}}" if name else f"{{{kind}#{number}}}"
                return self.spend(f"{parent}::{inner}")
            return self.spend(f"{parent}::{name}" if name else parent)
        if tag in "MX":
            self.disambiguator()
            self.path(depth, value=False)
            return self.implementation(depth, trait=tag == "X")
        if tag == "Y":
            return self.implementation(depth, trait=True)
        if tag == "I":
            path = self.path(depth, value=value)
            arguments = ", ".join(self.until_end(depth))
            return self.spend(f"{path}{'::' if value else ''}<{arguments}>")
        if tag == "B":
            return self.back(lambda: self.path(depth, value=value))
        raise _NotUnderstoodError

    def implementation(self, depth: int, *, trait: bool) -> str:
        owner = self.type(depth)
        return self.spend(f"<{owner} as {self.path(depth, value=False)}>" if trait else f"<{owner}>")

    def back(self, read: Callable[[], str]) -> str:
        start = self.at - 1
        target = self.base62()
        if target >= start:
            raise _NotUnderstoodError
        here, self.at = self.at, target
        found = read()
        self.at = here
        return self.spend(found)

    def until_end(self, depth: int) -> list[str]:
        found: list[str] = []
        while not self.take("E"):
            if self.take("L"):
                number = self.base62()
                found.append("'_" if number == 0 else f"'{number}")
            elif self.take("K"):
                found.append(self.constant(depth))
            else:
                found.append(self.type(depth))
        return found

    def type(self, depth: int) -> str:
        depth = self.deeper(depth)
        tag = self.next()
        if tag in BASIC_TYPES:
            return BASIC_TYPES[tag]
        if tag == "A":
            return self.spend(f"[{self.type(depth)}; {self.constant(depth)}]")
        if tag == "S":
            return self.spend(f"[{self.type(depth)}]")
        if tag == "T":
            parts = self.until_end(depth)
            return self.spend(f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})")
        if tag in "RQ":
            if self.take("L"):
                self.base62()
            return self.spend(f"&{'mut ' if tag == 'Q' else ''}{self.type(depth)}")
        if tag in "PO":
            return self.spend(f"*{'mut' if tag == 'O' else 'const'} {self.type(depth)}")
        if tag == "F":
            return self.function(depth)
        if tag == "D":
            return self.trait_objects(depth)
        if tag == "B":
            return self.back(lambda: self.type(depth))
        self.at -= 1
        return self.path(depth, value=False)

    def function(self, depth: int) -> str:
        if self.take("G"):
            self.base62()
        words = "unsafe " if self.take("U") else ""
        if self.take("K"):
            convention = "C" if self.take("C") else self.identifier().replace("_", "-")
            words += f'extern "{convention}" '
        parameters = ", ".join(self.until_end(depth))
        result = self.type(depth)
        return self.spend(f"{words}fn({parameters})" + ("" if result == "()" else f" -> {result}"))

    def trait_objects(self, depth: int) -> str:
        if self.take("G"):
            self.base62()
        traits: list[str] = []
        while not self.take("E"):
            trait = self.path(depth, value=False)
            bindings: list[str] = []
            while self.take("p"):
                bindings.append(f"{self.identifier()} = {self.type(depth)}")
            if bindings:
                inner = ", ".join(bindings)
                trait = f"{trait[:-1]}, {inner}>" if trait.endswith(">") else f"{trait}<{inner}>"
            traits.append(trait)
        if self.take("L"):
            self.base62()
        return self.spend(f"dyn {' + '.join(traits)}")

    def constant(self, depth: int) -> str:
        depth = self.deeper(depth)
        if self.take("p"):
            return "_"
        if self.take("B"):
            return self.back(lambda: self.constant(depth))
        kind = BASIC_TYPES.get(self.next())
        if kind is None:
            raise _NotUnderstoodError
        sign = "-" if self.take("n") else ""
        end = self.text.index("_", self.at)
        digits = self.text[self.at : end]
        self.at = end + 1
        number = int(digits or "0", 16)
        if kind == "bool":
            return "true" if number else "false"
        if kind == "char":
            return repr(chr(number))
        return self.spend(f"{sign}{number}" if number < 1 << 64 else f"{sign}0x{digits}")
