"""The functions that expressions can call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.memory.interface import Memory

_WILDCARD_PART = re.compile(r"\\.|\[[^\]]+\]|.", re.DOTALL)
_MAX_PROBE = 256 << 20
_DOS_SIGNATURE = b"MZ"
_NEW_HEADER_FIELD = 0x3C
"""Where IMAGE_DOS_HEADER.e_lfanew lies."""
_ENTRY_FIELD = 0x28
"""Offset of OptionalHeader.AddressOfEntryPoint from the PE signature, the same in PE32 and PE32+."""


def compare_strings(function: str, left: str, right: str) -> int:
    """Evaluate ``$scmp`` and ``$sicmp`` (-1, 0 or 1, as strcmp) or ``$spat`` (1 if ``left`` matches the wildcard)."""
    if function == "spat":
        return int(matches(left, right))
    if function == "sicmp":
        left, right = left.casefold(), right.casefold()
    return (left > right) - (left < right)


def matches(text: str, pattern: str) -> bool:
    r"""Whether a wildcard of the debugger matches a whole text, without regard to case.

    The syntax is that of symbol wildcards: ``*``, ``?``, ``[set]``, ``#``, ``+`` and ``\``. All ways to match are
    followed at once, so the time is at most length times length whatever the pattern, which may come from the target.
    """
    elements = _elements(pattern)
    end = len(elements)
    states = _reachable({0}, elements)
    for char in text:
        following: set[int] = set()
        for state in states:
            if state < end and elements[state].accepts(char):
                following.add(state + 1)
                if elements[state].many:
                    following.add(state)
        states = _reachable(following, elements)
        if not states:
            return False
    return end in states


class _Element(Record):
    """One part of a wildcard: the characters it takes (None for any), and how often."""

    characters: re.Pattern[str] | None
    optional: bool = False
    many: bool = False

    def accepts(self, char: str) -> bool:
        return self.characters is None or self.characters.match(char) is not None


def _reachable(states: set[int], elements: list[_Element]) -> set[int]:
    """Add the states behind elements that may be left out."""
    for state in sorted(states):
        following = state
        while following < len(elements) and elements[following].optional and following + 1 not in states:
            following += 1
            states.add(following)
    return states


def _elements(pattern: str) -> list[_Element]:
    elements: list[_Element] = []
    previous = ""
    for match in _WILDCARD_PART.finditer(pattern):
        part = match[0]
        if part == "*":
            elements.append(_Element(None, optional=True, many=True))
        elif part == "?":
            elements.append(_Element(None))
        elif part in ("#", "+") and elements and previous != "*":
            elements[-1].many = True
            elements[-1].optional = elements[-1].optional or part == "#"
        elif len(part) > 1 and part[0] == "[":
            body = part[1:-1].replace("\\", r"\\").replace("^", r"\^").replace("[", r"\[")
            try:
                elements.append(_Element(re.compile(f"[{body}]", re.IGNORECASE | re.DOTALL)))
            except re.error as error:
                raise ExpressionError(f"'{part}' is no set of characters") from error
        else:
            elements.append(_Element(re.compile(re.escape(part[-1]), re.IGNORECASE)))
        previous = part
    return elements


def is_valid(memory: Memory, address: int, length: int) -> bool:
    """Whether every byte of a range is readable.

    Raises:
        ExpressionError: The range is too long to probe (over 256 MiB).
    """
    if length > _MAX_PROBE:
        raise ExpressionError("the range is too long for $vvalid", hint="at most 256 MiB can be probed")
    if address + length > MASK64 + 1:
        return False
    expected = address
    for start, data in memory.chunks(address, length):
        if start != expected:
            return False
        expected += len(data)
    return expected == address + length


def image_entry(memory: Memory, base: int) -> int:
    """Return the address of an image's entry point, from its headers in memory.

    Raises:
        MemoryAccessError: The headers are not readable.
        ExpressionError: There is no PE image at ``base``.
    """
    header = memory.read(base, 0x40)
    new_header = int.from_bytes(header[_NEW_HEADER_FIELD : _NEW_HEADER_FIELD + 4], "little")
    if header[:2] != _DOS_SIGNATURE or new_header > 1 << 20:
        raise ExpressionError(f"there is no image at {base:#x}")
    nt_headers = memory.read((base + new_header) & MASK64, _ENTRY_FIELD + 4)
    if nt_headers[:4] != b"PE\0\0":
        raise ExpressionError(f"there is no image at {base:#x}")
    return (base + int.from_bytes(nt_headers[_ENTRY_FIELD:], "little")) & MASK64
