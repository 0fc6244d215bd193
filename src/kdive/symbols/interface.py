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


class SourceFile(Record, frozen=True):
    """A source file as the compiler saw it.

    Attributes:
        path: The path on the machine that compiled it.
        checksum_kind: ``MD5``, ``SHA-1``, ``SHA-256``, or empty if none was recorded.
        checksum: The checksum of its contents.
    """

    path: str
    checksum_kind: str = ""
    checksum: bytes = b""


class SourceLine(Record, frozen=True):
    """A place in source code, and the code that was made of it.

    Attributes:
        file: Path of the file.
        line: The line, from 1.
        last_line: The last line of the statement, 0 if not recorded.
        rva: Where the code of the line starts; None if not recorded.
        size: Size of that code in bytes, 0 if not recorded.
        source: The file with its checksum; None if not recorded.
    """

    file: str
    line: int
    last_line: int = 0
    rva: int | None = None
    size: int = 0
    source: SourceFile | None = None


class RegisterPlace(Record, frozen=True):
    """The value is in a register (its lower-case name)."""

    register: str


class RegisterRelativePlace(Record, frozen=True):
    """The value is in memory, ``offset`` bytes from the value of a register.

    The register ``vframe`` is none of the processor's: it stands for the frame's address on x86, as the frame data
    of the symbol file computes it.
    """

    register: str
    offset: int


class StaticPlace(Record, frozen=True):
    """The value is in the image, at an RVA; with ``thread`` at that offset of the thread's storage instead."""

    rva: int
    thread: bool = False


class ConstantPlace(Record, frozen=True):
    """The value is nowhere in memory; these are its bytes."""

    value: bytes


class UnavailablePlace(Record, frozen=True):
    """The value cannot be found at this address; ``reason`` says why."""

    reason: str


class PartsPlace(Record, frozen=True):
    """Parts of the value are in different places: ``(offset in bytes from its start, place)`` by offset."""

    parts: tuple[tuple[int, RegisterPlace | RegisterRelativePlace | StaticPlace | ConstantPlace], ...]


Place = RegisterPlace | RegisterRelativePlace | StaticPlace | ConstantPlace | UnavailablePlace | PartsPlace


class LocalVariable(Record, frozen=True):
    """A parameter or a local variable whose scope covers an address.

    Attributes:
        name: The name.
        type: The type; None if the file does not record it.
        place: Where the value is at that address.
        parameter: Whether it is a parameter.
        function: The function, inlined or not, that declares it.
    """

    name: str
    type: Type | None
    place: Place
    parameter: bool
    function: str


class InlineFrame(Record, frozen=True):
    """A call that the compiler replaced by the code of the called function.

    Attributes:
        name: The inlined function.
        line: The line inside it; None if not recorded.
        call_line: The line of the call in the function around it; None if not recorded.
    """

    name: str
    line: SourceLine | None
    call_line: SourceLine | None


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

    def addresses(self, file: str, line: int) -> tuple[int, ...]:
        """Return the RVAs at which code of a source line starts, ascending.

        Args:
            file: A path, or the end of one (``dispatch.c``); case and the kind of slash do not count.
            line: The line, from 1.
        """
        del file, line
        return ()

    def source_files(self) -> Iterator[SourceFile]:
        """Yield the source files, each once, where the file records them."""
        return iter(())

    def locals(self, rva: int) -> tuple[LocalVariable, ...]:
        """Return the parameters and variables in scope at ``rva``, those of the outermost function first."""
        del rva
        return ()

    def inline_frames(self, rva: int) -> tuple[InlineFrame, ...]:
        """Return the inlined calls around ``rva``, the innermost first; empty if its code is not inlined."""
        del rva
        return ()

    def missing(self) -> tuple[str, ...]:
        """Return what a complete symbol file would hold and this one does not, each with the reason."""
        return ()


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
