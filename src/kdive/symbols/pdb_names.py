"""All names of a PDB: wildcard search and the searches that no hash table answers.

Names are looked for in the bytes of the symbol records. A pattern's longest plain word picks the records to look at;
only their names are undecorated and compared. Where there is no such word, all names are compared.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.formats.pdb.kinds import DATA, S_LPROCREF, S_PROCREF, S_PUB32
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kdive.formats.pdb.file import PdbFile

_NAME_START = 14
"""Publics, variables and references to procedures have their names at the same place."""
_ORDER = dict.fromkeys((S_PROCREF, S_LPROCREF), 0) | dict.fromkeys(DATA, 1) | {S_PUB32: 2}
"""Of records of one name the first that leads to an address counts: procedures know their size, publics do not."""
_PIECE = 1 << 18
_WORD = re.compile(r"[A-Za-z0-9_]+")
_SPECIAL = re.compile(r"\[[^\]]*\]|\\.|[*?]")
_REPEATED = re.compile(r"[A-Za-z0-9_]?[#+]")


class NameIndex:
    """The names of the symbol records that have an address.

    Args:
        file: The PDB.
        display: Undecorates the name of a public symbol.
    """

    def __init__(self, file: PdbFile, display: Callable[[str], str]) -> None:
        self._file = file
        self._display = display

    @cached_property
    def _records(self) -> bytes:
        return self._file.records.whole()

    def _references(self, *, publics: bool) -> list[int]:
        """Offsets, plus one, of the records of the publics or of the globals, out of their hash table if possible."""
        table = self._file.publics.names if publics else self._file.globals
        if not table.usable:
            return self._walk(publics=publics)
        found = table.references()
        last = len(self._records) - 3
        if not found or (max(found) <= last and min(found) > 0):
            return found
        return [reference for reference in found if 0 < reference <= last]

    def _walk(self, *, publics: bool) -> list[int]:
        """The same by walking the records. A broken length ends the walk: what was before it is still good."""
        data, size = self._records, len(self._records)
        found: list[int] = []
        at = 0
        while at + 4 <= size:
            length = data[at] | data[at + 1] << 8
            if length < 2 or at + 2 + length > size:
                break
            if (data[at + 2] | data[at + 3] << 8 == S_PUB32) == publics:
                found.append(at + 1)
            at += 2 + length
        return found

    @cached_property
    def _starts(self) -> bytearray:
        """For every fourth byte of the records, where they are aligned, 1 if a record starts there."""
        starts = bytearray(len(self._records) // 4 + 1)
        for publics in (True, False):
            for reference in self._references(publics=publics):
                starts[reference >> 2] = 1
        return starts

    def of_kind(self, kinds: Iterable[int]) -> list[int]:
        """Return the offsets of the records of the globals of some kinds."""
        data, wanted = self._records, frozenset(kinds)
        low = {kind & 0xFF for kind in wanted}
        likely = [reference - 1 for reference in self._references(publics=False) if data[reference + 1] in low]
        return [at for at in likely if data[at + 2] | data[at + 3] << 8 in wanted]

    def _name(self, at: int) -> tuple[str, int] | None:
        """The name that a record shows, and its kind; None if it is of a kind without an address."""
        data = self._records
        kind = data[at + 2] | data[at + 3] << 8
        if kind not in _ORDER:
            return None
        stop = data.find(b"\0", at + _NAME_START, at + 2 + (data[at] | data[at + 1] << 8))
        if stop < 0:
            return None
        name = data[at + _NAME_START : stop].decode("utf-8", "replace")
        return (self._display(name) if kind == S_PUB32 else name), kind

    def _containing(self, word: str, *, ignore_case: bool) -> Iterator[int]:
        """Offsets of the records whose bytes contain a word."""
        data, starts, needle = self._records, self._starts, word.encode()
        size, searched, begin = len(data), 0, -1
        for hit in _hits(data, needle, ignore_case=ignore_case):
            if hit < searched:
                continue
            # The record around a hit starts at the last mark before it. Marks before the last hit were looked at.
            mark = starts.rfind(1, searched >> 2, (hit >> 2) + 1)
            begin = mark << 2 if mark >= 0 else begin
            searched = hit + 1
            if begin >= 0:
                end = begin + 2 + (data[begin] | data[begin + 1] << 8)
                if hit < end <= size:
                    searched = end
                    yield begin

    def _candidates(self, text: str, *, ignore_case: bool) -> Iterable[int]:
        word = selective_word(text)
        if word:
            return self._containing(word, ignore_case=ignore_case)
        return [at - 1 for publics in (False, True) for at in self._references(publics=publics)]

    def exactly(self, name: str) -> list[int]:
        """Return the offsets of the records that show exactly this name, the best first."""
        found: list[tuple[int, int]] = []
        for at in self._candidates(_escaped(name), ignore_case=False):
            known = self._name(at)
            if known is not None and known[0] == name:
                found.append((_ORDER[known[1]], at))
        return [at for _, at in sorted(found)]

    def matching(self, pattern: str) -> list[tuple[str, int]]:
        """Return ``(name, offset of the record)`` of the names that match a wildcard, by name, the best first."""
        match = wildcard(pattern).fullmatch
        found: list[tuple[str, int, int]] = []
        for at in self._candidates(pattern, ignore_case=True):
            known = self._name(at)
            if known is not None and match(known[0]):
                found.append((known[0], _ORDER[known[1]], at))
        found.sort()
        return [(name, at) for name, _, at in found]


def _hits(data: bytes, needle: bytes, *, ignore_case: bool) -> Iterator[int]:
    """Offsets of a word in bytes. Letter case is folded piece by piece, so as not to copy the whole."""
    if not ignore_case:
        at = data.find(needle)
        while at >= 0:
            yield at
            at = data.find(needle, at + 1)
        return
    needle = needle.lower()
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE + len(needle) - 1].lower()
        at = piece.find(needle)
        while at >= 0:
            yield start + at
            at = piece.find(needle, at + 1)


def _escaped(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "*", name)


def selective_word(pattern: str) -> str:
    """Return the longest word that every name matching a wildcard has in its raw form, or "" if there is none."""
    from kdive.symbols.demangle import may_be_generated

    if not pattern.isascii():
        return ""
    plain = _REPEATED.sub("*", _SPECIAL.sub("*", pattern))
    words = sorted(_WORD.findall(plain), key=len, reverse=True)
    return next((word for word in words if not may_be_generated(word.lower())), "")
