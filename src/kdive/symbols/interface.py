"""What a module's symbols answer, whatever file they come from.

Addresses here are **RVAs** (offsets from the image base); the symbol engine adds the load address.
"""

from __future__ import annotations

import fnmatch
import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.symbols.types import EnumType, StructType, Type

SymbolFileKind = Literal["pdb", "isf", "exports"]


class Symbol(Record, frozen=True):
    """A named place in an image.

    Attributes:
        name: The name, undecorated where the file has the undecorated form.
        rva: Offset from the image base.
        size: Size in bytes if the file records it (procedures do), else 0.
        kind: ``function``, ``data`` or ``public`` (not known which).
    """

    name: str
    rva: int
    size: int = 0
    kind: Literal["function", "data", "public"] = "public"


class SourceLine(Record, frozen=True):
    """A place in source code."""

    file: str
    line: int


class ModuleSymbols(ABC):
    """The symbols of one image."""

    kind: SymbolFileKind
    path: str
    """Where the symbols were read from."""

    @property
    def identity(self) -> tuple[str, int] | None:
        """GUID (32 upper-case hex digits) and age of the PDB that this is or was made from, where the file says."""
        return None

    @abstractmethod
    def lookup(self, name: str) -> Symbol | None:
        """Return the symbol of exactly this name (C case), or None."""

    @abstractmethod
    def nearest(self, rva: int) -> Symbol | None:
        """Return the symbol at ``rva`` or the closest one below it, or None if there is none below."""

    @abstractmethod
    def search(self, pattern: str) -> Iterator[Symbol]:
        """Yield the symbols whose names match a WinDbg wildcard (``*`` ``?`` ``[a-z]`` ``#``), case-insensitively."""

    @abstractmethod
    def find_type(self, name: str) -> StructType | EnumType | Type | None:
        """Return the layout of a named type (structure, union, enumeration, typedef), or None."""

    @abstractmethod
    def search_types(self, pattern: str) -> Iterator[tuple[str, int]]:
        """Yield ``(name, size)`` of types whose names match a wildcard, case-insensitively."""

    def type_of(self, name: str) -> Type | None:
        """Return the type of a variable, where the file records it."""
        del name
        return None

    def line(self, rva: int) -> SourceLine | None:
        """Return the source line of ``rva``, where the file records lines."""
        del rva
        return None


@lru_cache(maxsize=256)
def wildcard(pattern: str) -> re.Pattern[str]:
    """Compile a WinDbg string wildcard to a case-insensitive regular expression over the whole name.

    ``*`` any run, ``?`` one character, ``[set]`` one of a set, ``#`` zero or more of the preceding character, ``+`` one
    or more of it ("String Wildcard Syntax" in the debugger reference).
    """
    parts: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "[" and (end := pattern.find("]", index + 1)) > index + 1:
            body = pattern[index + 1 : end].replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")
            parts.append(f"[{body}]")
            index = end + 1
            continue
        if char == "*":
            parts.append(".*")
        elif char == "?":
            parts.append(".")
        elif char in "#+" and parts and parts[-1] != ".*":
            # A repetition of a repetition would let the matcher try exponentially many ways.
            if not parts[-1].startswith("(?:"):
                parts[-1] = f"(?:{parts[-1]}){'*' if char == '#' else '+'}"
            elif char == "#":
                parts[-1] = parts[-1][:-1] + "*"
        elif char == "\\" and index + 1 < len(pattern):
            index += 1
            parts.append(re.escape(pattern[index]))
        else:
            parts.append(re.escape(char))
        index += 1
    try:
        return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)
    except re.error:
        return re.compile(fnmatch.translate(pattern), re.IGNORECASE)
