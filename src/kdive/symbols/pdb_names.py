"""All names of a PDB: wildcard search and the searches that no hash table answers.

Names are looked for in the bytes of the symbol records. A pattern's longest plain word picks the records to look at;
only their names are undecorated and compared. Where there is no such word, all names are compared.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.formats.pdb.kinds import DATA, S_LPROCREF, S_PROCREF, S_PUB32
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NAME_START = 14
"""Publics, variables and references to procedures have their names at the same place."""
_ORDER = dict.fromkeys((S_PROCREF, S_LPROCREF), 0) | dict.fromkeys(DATA, 1) | {S_PUB32: 2}
"""Of records of one name the first that leads to an address counts: procedures know their size, publics do not."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_SPECIAL = re.compile(r"\[[^\]]*\]|\\.|[*?]")
_REPEATED = re.compile(r"[A-Za-z0-9_]?[#+]")


class NameIndex:
    """The names of the records of a symbol record stream that have an address.

    Args:
        records: The stream.
        display: Undecorates the name of a public symbol.
    """

    def __init__(self, records: bytes, display: Callable[[str], str]) -> None:
        self._records = records
        self._display = display

    @cached_property
    def _starts(self) -> array[int]:
        """Offsets of all records. A broken length ends them: what was before it is still good."""
        data, size = self._records, len(self._records)
        starts = array("I")
        append = starts.append
        at = 0
        while at + 4 <= size:
            length = data[at] | data[at + 1] << 8
            if length < 2:
                break
            append(at)
            at += 2 + length
        if starts and at > size:
            starts.pop()
        return starts

    def of_kind(self, kinds: Iterable[int]) -> list[int]:
        """Return the offsets of the records of some kinds."""
        data, wanted = self._records, frozenset(kinds)
        low = {kind & 0xFF for kind in wanted}
        found = [at for at in self._starts if data[at + 2] in low]
        return [at for at in found if data[at + 2] | data[at + 3] << 8 in wanted]

    @cached_property
    def _named(self) -> list[int]:
        return self.of_kind(_ORDER)

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
        data, needle = self._records, word.encode()
        if ignore_case:
            data, needle = data.lower(), needle.lower()
        starts, find = self._starts, data.find
        last = starts[-1] if starts else -1
        at = find(needle)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            if index >= 0:
                yield starts[index]
            if at >= last:
                return
            following = starts[index + 1]
            at = find(needle, following)

    def _candidates(self, text: str, *, ignore_case: bool) -> Iterable[int]:
        word = selective_word(text)
        return self._containing(word, ignore_case=ignore_case) if word else self._named

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
