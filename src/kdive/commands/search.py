"""Searching and comparing memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.memory import FORMATS, read_rows
from kdive.commands.results.memory import Differences, SearchHits
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.cancel import CancelToken
    from kdive.commands.context import CommandContext
    from kdive.memory.interface import Memory

_MAX_HITS = 4096
_MAX_DIFFERENCES = 4096
_STEP = 1 << 20
_UNITS = {"b": 1, "w": 2, "d": 4, "q": 8}


def find_all(
    memory: Memory, start: int, size: int, pattern: bytes, step: int = 1, cancel: CancelToken | None = None
) -> Iterator[tuple[int, int]]:
    """Yield ``(address, bytes looked at so far)`` of each place where a pattern stands.

    A hit may lie across two runs of a chunked read as long as memory is contiguous.
    """
    carry = b""
    expected = -1
    looked = 0
    for address, data in memory.chunks(start, size, _STEP, cancel):
        if address != expected:
            carry = b""
        block = carry + data
        base = address - len(carry)
        looked += len(data)
        at = block.find(pattern)
        while at >= 0:
            if (base + at - start) % step == 0:
                yield base + at, looked
            at = block.find(pattern, at + 1)
        keep = len(pattern) - 1
        carry = block[-keep:] if keep else b""
        expected = address + len(data)
        yield -1, looked


def _pattern(context: CommandContext, kind: str, text: str) -> tuple[bytes, int]:
    if kind in ("a", "u"):
        match = re.fullmatch(r'"(.*)"', text.strip(), re.DOTALL)
        words = match.group(1) if match else text.strip()
        if not words:
            raise context.usage_error("a string to look for is needed")
        return (words.encode("latin-1", "replace") if kind == "a" else words.encode("utf-16-le")), 1
    unit = _UNITS[kind]
    out = bytearray()
    rest = text
    while rest:
        quoted = re.match(r"'([^']*)'|\"([^\"]*)\"", rest)
        if quoted:
            for char in quoted.group(1) or quoted.group(2) or "":
                out += ord(char).to_bytes(max(unit, 1), "little") if ord(char) < 256 else char.encode("utf-16-le")
            rest = rest[quoted.end() :].strip()
            continue
        word, _, rest = rest.partition(" ")
        value = context.evaluate(word)
        if value >> (8 * unit):
            raise CommandError(f"{word} does not fit in {unit} byte{'s' if unit > 1 else ''}")
        out += value.to_bytes(unit, "little")
        rest = rest.strip()
    if not out:
        raise context.usage_error("a pattern to look for is needed")
    return bytes(out), unit


@command(
    "s",
    syntax="[-b | -w | -d | -q | -a | -u] <address> L<count> <pattern>",
    group=Group.MEMORY,
    summary="search memory for bytes, words, dwords, qwords or a string",
    details="Hits go into the result slots $0, $1 …. L?<count> lifts the 256 MiB limit of a range.",
    examples=("s -b rsp L1000 4c 8b dc", 's -u rsp L?100000 "driver"', "s -q rsp L200 nt!KeBugCheckEx"),
    needs=(Capability.MEMORY,),
)
def s(context: CommandContext, arguments: str) -> SearchHits:
    """Search memory."""
    match = re.match(r"-(?:\[[^\]]*\])?([bwdqau])\s+", arguments)
    kind = match.group(1) if match else "b"
    if match:
        arguments = arguments[match.end() :]
    elif arguments.startswith("-"):
        raise context.usage_error(f"unknown switch {arguments.split()[0]!r}")
    if not arguments:
        raise context.usage_error("a range and a pattern are needed")
    unit = _UNITS.get(kind, 1)
    found = context.range(arguments, unit, 0)
    if not found.count:
        raise context.usage_error("a length is needed: L<count>")
    pattern, step = _pattern(context, kind, found.rest.strip())
    session = context.session
    hits: list[int] = []
    looked = 0
    for address, seen in find_all(session.memory, found.start, found.count * unit, pattern, step, context.cancel):
        looked = seen
        if address >= 0:
            hits.append(address)
        if len(hits) >= _MAX_HITS:
            break
    session.results = list(hits)
    rows = [read_rows(session.memory, hit, 16, FORMATS["b"])[0] for hit in hits]
    return SearchHits(hits, rows, len(hits) >= _MAX_HITS, looked)


@command(
    "c",
    syntax="<address> L<count> <address>",
    group=Group.MEMORY,
    summary="compare two ranges and show the bytes that differ",
    needs=(Capability.MEMORY,),
)
def c(context: CommandContext, arguments: str) -> Differences:
    """Compare memory."""
    found = context.range(arguments, 1, 0)
    if not found.count or not found.rest.strip():
        raise context.usage_error("a range and a second address are needed")
    other = context.evaluate(found.rest.strip())
    memory = context.session.memory
    pairs: list[tuple[int, int, int, int]] = []
    for at in range(0, found.count, _STEP):
        context.cancel.check()
        size = min(_STEP, found.count - at)
        left, right = memory.read(found.start + at, size), memory.read(other + at, size)
        if left == right:
            continue
        difference = int.from_bytes(left, "little") ^ int.from_bytes(right, "little")
        places = difference.to_bytes(size, "little")
        for match in re.finditer(rb"[^\x00]", places):
            place = match.start()
            pairs.append((found.start + at + place, left[place], other + at + place, right[place]))
            if len(pairs) >= _MAX_DIFFERENCES:
                return Differences(pairs, truncated=True)
    return Differences(pairs, truncated=False)
