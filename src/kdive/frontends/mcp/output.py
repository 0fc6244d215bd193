"""Long results, kept so that a client can read them page by page."""

from __future__ import annotations

import re
import sys
from array import array
from collections import OrderedDict

from kdive.errors import CommandError
from kdive.record import Record

PAGE_CHARACTERS = 24_000
MEMORY = 64 << 20
_LONG_LINE = 4_000
_LINE_END = re.compile("\n")
_PIECE = re.compile(rf"[^\n]{{{_LONG_LINE}}}(?=[^\n])")


class _Kept(Record, frozen=True):
    """A kept text: the text, where each line starts (and where the text ends), and its size in bytes."""

    text: str
    starts: array[int]
    size: int

    @property
    def lines(self) -> int:
        return len(self.starts) - 1

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.starts[number + 1] - 1]


class OutputStore:
    """Keeps texts, the newest ones up to a limit.

    Args:
        memory: Bytes that all texts together may take.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._next = 0
        self._size = 0

    def first_page(self, text: str) -> str:
        """Return a text as it is if it is short; else keep it and return its first page with a footer."""
        if len(text) <= PAGE_CHARACTERS:
            return text
        return self.page(self._keep(text), 0)

    def ids(self) -> list[int]:
        """Identifiers of the kept texts, oldest first."""
        return list(self._kept)

    def page(self, identifier: int, offset: int, limit: int | None = None, wanted: str = "") -> str:
        """Return lines of a kept text, as many as fit a page, and a footer if there are more.

        Args:
            identifier: Which text.
            offset: First line, from 0.
            limit: How many lines at most.
            wanted: Only lines that contain this, in any case; each is shown after its offset.

        Raises:
            CommandError: No such text is kept, or it ends before the offset.
        """
        kept = self._kept.get(identifier)
        if kept is None:
            have = ", ".join(map(str, self._kept)) or "none"
            raise CommandError(f"no output {identifier} is kept", hint=f"kept outputs: {have}; run the command again")
        if offset >= kept.lines:
            raise CommandError(f"offset {offset} is past the end of output {identifier} ({kept.lines} lines)")
        needle = wanted.casefold()
        shown: list[str] = []
        room = PAGE_CHARACTERS
        number = offset
        last = offset
        while number < kept.lines and (limit is None or len(shown) < limit):
            line = kept.line(number)
            if not needle or needle in line.casefold():
                text = f"{number}: {line}" if needle else line
                room -= len(text) + 1
                if room < 0 and shown:
                    break
                shown.append(text)
                last = number
            number += 1
        return "\n".join([*shown, _footer(identifier, kept.lines, offset, last, number, wanted, len(shown))])

    def whole(self, identifier: int) -> str:
        """Return a kept text.

        Raises:
            CommandError: No such text is kept.
        """
        self.page(identifier, 0)
        return self._kept[identifier].text

    def _keep(self, text: str) -> int:
        # A page holds whole lines, so a line that fills pages by itself is broken.
        text = _PIECE.sub(lambda match: match[0] + "\n", text)
        text = text[: self._memory // 4]
        starts = array("L", [0])
        starts.extend(match.end() for match in _LINE_END.finditer(text))
        starts.append(len(text) + 1)
        kept = _Kept(text, starts, sys.getsizeof(text) + starts.itemsize * len(starts))
        identifier = self._next
        self._next += 1
        self._kept[identifier] = kept
        self._size += kept.size
        while self._size > self._memory and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1].size
        return identifier


def _footer(identifier: int, lines: int, first: int, last: int, following: int, wanted: str, shown: int) -> str:
    what = f"{shown} with the filter up to offset {following - 1}" if wanted else f"offsets {first}-{last} shown"
    more = f'output(id={identifier}, offset={following}) reads on, filter="…" searches' if following < lines else "end"
    return f"[output {identifier}: {lines} lines, {what}; {more}]"
