"""Displays of virtual memory: ``d`` and its many forms."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.commands.results.memory import (
    ListLinks,
    MemoryDisplay,
    MemoryRow,
    PointerDisplay,
    PointerRow,
    StringDisplay,
)
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.record import Record
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.commands.context import CommandContext
    from kdive.expr.ranges import AddressRange
    from kdive.memory.interface import Memory

_MAX_STRING = 0x1000
_MAX_LIST = 10000
_MAX_ELEMENTS = 0x20000
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_PRINTABLE = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))


class Format(Record, frozen=True):
    """How a display form cuts memory: element name and size, elements per row, default count, characters beside."""

    element: str
    size: int
    per_row: int
    default: int
    text: bool = False


FORMATS = {
    "b": Format("byte", 1, 16, 128, text=True),
    "w": Format("word", 2, 8, 64),
    "W": Format("word", 2, 8, 64, text=True),
    "d": Format("dword", 4, 4, 32),
    "c": Format("dword", 4, 4, 32, text=True),
    "q": Format("qword", 8, 2, 16),
    "p": Format("qword", 8, 2, 16),
    "f": Format("float", 4, 4, 16),
    "D": Format("double", 8, 3, 15),
    "yb": Format("bits", 1, 4, 32),
    "yd": Format("bits", 1, 4, 32),
}


def printable(data: list[int | None]) -> str:
    """The characters beside a hex display: a dot for what cannot be printed, a question mark for what is not there."""
    return "".join("?" if byte is None else chr(byte) if 32 <= byte < 127 else "." for byte in data)


def sparse_bytes(memory: Memory, address: int, size: int) -> tuple[bytearray, bytearray]:
    """Read a range with holes: the bytes (zero where absent) and a mask (1 where present)."""
    data, mask = bytearray(size), bytearray(size)
    for at, piece in memory.read_available(address, size):
        start = at - address
        data[start : start + len(piece)] = piece
        mask[start : start + len(piece)] = b"\x01" * len(piece)
    return data, mask


def read_rows(
    memory: Memory, address: int, count: int, form: Format, cancel: CancelToken | None = None
) -> list[MemoryRow]:
    """Read elements and cut them into rows.

    Raises:
        CommandError: More elements are asked for than anybody reads.
    """
    if count > _MAX_ELEMENTS:
        raise CommandError(
            f"at most {_MAX_ELEMENTS:#x} elements are displayed at once, not {count:#x}",
            hint="s searches a range, .writemem saves it",
        )
    data, mask = sparse_bytes(memory, address, count * form.size)
    rows: list[MemoryRow] = []
    step = form.per_row * form.size
    for start in range(0, len(data), step):
        if cancel is not None:
            cancel.check()
        end = min(start + step, len(data))
        piece, there = data[start:end], mask[start:end]
        values: list[int | None]
        text = ""
        if 0 not in there and len(piece) % form.size == 0:
            values = list(struct.unpack(f"<{len(piece) // form.size}{_CODES[form.size]}", piece))
            if form.text:
                text = piece.translate(_PRINTABLE).decode("ascii")
        else:
            values = [
                int.from_bytes(data[at : at + form.size], "little") if all(mask[at : at + form.size]) else None
                for at in range(start, end, form.size)
            ]
            if form.text:
                text = printable([data[at] if mask[at] else None for at in range(start, end)])
        rows.append(MemoryRow(address + start, values, text))
    return rows


def _range(context: CommandContext, arguments: str, size: int, default: int) -> AddressRange:
    session = context.session
    if not arguments:
        arguments = f"0x{session.last_dump_address:x}"
    found = context.range(arguments, size, default)
    if found.rest.strip():
        raise context.usage_error(f"unexpected {found.rest.strip()!r} behind the range")
    session.last_dump_address = found.start + found.count * size
    return found


def _display(context: CommandContext, arguments: str, form: Format) -> MemoryDisplay:
    found = _range(context, arguments, form.size, form.default)
    rows = read_rows(context.session.memory, found.start, found.count, form, context.cancel)
    return MemoryDisplay(form.element, form.size, rows, form.per_row)


@command(
    "db",
    "dw",
    "dW",
    "dd",
    "dc",
    "dq",
    "dp",
    "df",
    "dD",
    "dyb",
    "dyd",
    "d",
    syntax="[<address> [L<count> | <end>]]",
    group=Group.MEMORY,
    summary="display memory as bytes, words, dwords, qwords, pointers, floats or bits",
    details="Without an address the display goes on where the last one ended. Unreadable elements show as ?.",
    examples=("db rsp", "dd rsp L8", "dq poi(rsp) L2", "dyb @rip L4"),
    needs=(Capability.MEMORY,),
)
def d(context: CommandContext, arguments: str) -> MemoryDisplay:
    """Display memory."""
    form = FORMATS["b" if context.name == "d" else context.name[1:]]
    return _display(context, arguments, form)


@command(
    "dds",
    "dps",
    "dqs",
    syntax="[<address> [L<count> | <end>]]",
    group=Group.MEMORY,
    summary="display words with the symbols that they point at",
    examples=("dps rsp L10",),
    needs=(Capability.MEMORY,),
)
def dps(context: CommandContext, arguments: str) -> PointerDisplay:
    """Display words with symbols."""
    size = 4 if context.name == "dds" else 8
    found = _range(context, arguments, size, 16)
    form = Format("qword", size, 1, 16)
    rows: list[PointerRow] = []
    for row in read_rows(context.session.memory, found.start, found.count, form, context.cancel):
        context.cancel.check()
        value = row.values[0]
        symbol = context.name_of(value) if value is not None else None
        rows.append(PointerRow(row.address, value, symbol or ""))
    return PointerDisplay(size, rows)


@command(
    "dpa",
    "dpu",
    "dpp",
    "dda",
    "ddu",
    "ddp",
    "dqa",
    "dqu",
    "dqp",
    syntax="[<address> [L<count> | <end>]]",
    group=Group.MEMORY,
    summary="display pointers with the string (a, u) or the words (p) that they point at",
    examples=("dpu rsp L20", "dpp rsp"),
    needs=(Capability.MEMORY,),
)
def dpp(context: CommandContext, arguments: str) -> PointerDisplay:
    """Display pointers with what they point at."""
    size = 4 if context.name[1] == "d" else 8
    kind = context.name[2]
    memory = context.session.memory
    found = _range(context, arguments, size, 16)
    rows: list[PointerRow] = []
    for row in read_rows(memory, found.start, found.count, Format("qword", size, 1, 16), context.cancel):
        context.cancel.check()
        value = row.values[0]
        text, target, symbol = "", [], ""
        if value is not None and kind == "a":
            text = _leading_text(memory.read_prefix(value, 128).decode("latin-1"))
        elif value is not None and kind == "u":
            raw = memory.read_prefix(value, 256)
            text = _leading_text(raw[: len(raw) & ~1].decode("utf-16-le", "replace"))
        elif value is not None:
            pieces = read_rows(memory, value, 1, Format("qword", 8, 1, 1))
            target = pieces[0].values if pieces[0].values != [None] else []
            if target and target[0] is not None:
                symbol = context.name_of(target[0]) or ""
        rows.append(PointerRow(row.address, value, symbol, target, text))
    return PointerDisplay(size, rows)


def _leading_text(text: str) -> str:
    """The printable characters at the start, if there are enough to be a string."""
    for index, char in enumerate(text):
        if not char.isprintable():
            return text[:index] if index > 1 else ""
    return text


def _string_length(context: CommandContext, rest: str) -> int:
    if not rest:
        return _MAX_STRING
    text = rest[1:] if rest[:1] in "lL" else rest
    length = context.evaluate(text)
    if not 0 < length <= 1 << 20:
        raise context.usage_error(f"a string of {length:#x} characters?")
    return length


@command(
    "da",
    "du",
    syntax="<address> [L<characters>]",
    group=Group.MEMORY,
    summary="display a NUL-terminated string, narrow (da) or UTF-16 (du)",
    needs=(Capability.MEMORY,),
)
def da(context: CommandContext, arguments: str) -> StringDisplay:
    """Display a string."""
    if not arguments:
        raise context.usage_error("an address is needed")
    address, rest = context.take(arguments)
    length = _string_length(context, rest)
    memory = context.session.memory
    width = 1 if context.name == "da" else 2
    raw = memory.read_prefix(address, length * width)
    if not raw:
        memory.read(address, width)
    text = raw.decode("latin-1") if width == 1 else raw[: len(raw) & ~1].decode("utf-16-le", "replace")
    head, nul, _ = text.partition("\0")
    return StringDisplay(address, head, truncated=not nul and len(text) >= length and not rest)


@command(
    "ds",
    "dS",
    syntax="<address>",
    group=Group.MEMORY,
    summary="display a counted string: ANSI_STRING (ds) or UNICODE_STRING (dS)",
    needs=(Capability.MEMORY,),
)
def ds(context: CommandContext, arguments: str) -> StringDisplay:
    """Display a counted string."""
    address = context.evaluate(arguments)
    memory = context.session.memory
    raw = memory.read(address, 16)
    length, maximum = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:4], "little")
    buffer = int.from_bytes(raw[8:16], "little")
    data = memory.read(buffer, length) if length else b""
    text = data.decode("latin-1") if context.name == "ds" else data.decode("utf-16-le", "replace")
    return StringDisplay(buffer, text, header=(length, maximum, buffer))


@command(
    "dl",
    syntax="[b] <address> [<maximum-links> [<words>]]",
    group=Group.MEMORY,
    summary="walk a linked list and show the words at each link; b walks LIST_ENTRY backwards",
    examples=("dl nt!PsLoadedModuleList 4 2",),
    needs=(Capability.MEMORY,),
    glued="b",
)
def dl(context: CommandContext, arguments: str) -> ListLinks:
    """Walk a list."""
    backward = arguments.startswith(("b ", "-b "))
    if backward:
        arguments = arguments.split(None, 1)[1]
    if not arguments:
        raise context.usage_error("an address is needed")
    address, rest = context.take(arguments)
    maximum, words = 32, 2
    if rest:
        maximum, rest = context.take(rest)
    if rest:
        words, rest = context.take(rest)
    if maximum > _MAX_LIST or not 0 < words <= 64:
        raise CommandError(f"at most {_MAX_LIST} links of at most 64 words")
    memory = context.session.memory
    rows: list[MemoryRow] = []
    seen: set[int] = set()
    note = ""
    form = Format("qword", 8, words, words)
    while address and len(rows) < maximum:
        context.cancel.check()
        if address in seen:
            note = "(back at a link already shown)"
            break
        seen.add(address)
        row = read_rows(memory, address, words, form)[0]
        rows.append(row)
        raw = memory.read_prefix(address + (8 if backward else 0), 8)
        if len(raw) < 8:
            note = f"(the list leaves readable memory at {address:#x})"
            break
        address = int.from_bytes(raw, "little")
    return ListLinks(rows, note)
