"""Writers of every dump layout that kdive reads.

Format facts are those that :mod:`kdive.formats.kernel_dump` cites; the two sides share no code, so that a mistake in
one shows.
"""

from __future__ import annotations

import struct
import uuid
from typing import TYPE_CHECKING

from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAGE = 0x1000
HEADER = 0x2000


class HeaderFields(Record):
    """What goes into a dump header; None leaves the writer's filler."""

    build: int = 19041
    directory_table_base: int = 0
    module_list: int = 0
    process_head: int = 0
    machine: int = 0x8664
    processors: int = 1
    bugcheck: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    debugger_data: int = 0
    context: bytes = b""
    exception: tuple[int, int, tuple[int, ...]] | None = None
    system_time: int | None = 0x1D7_07F2_3DBB_3399
    uptime: int | None = 37_470_697
    product_type: int | None = 1
    suite_mask: int | None = 0x110
    comment: str | None = None
    runs: Sequence[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def header(dump_type: int, fields: HeaderFields) -> bytes:
    """Make the 0x2000 bytes of a dump header."""
    out = bytearray(b"PAGE" * (HEADER // 4))
    out[0:8] = b"PAGEDU64"
    struct.pack_into("<II", out, 8, 0xF, fields.build)
    struct.pack_into(
        "<4Q", out, 0x10, fields.directory_table_base, 0xFFFFFA8000000000, fields.module_list, fields.process_head
    )
    struct.pack_into("<III", out, 0x30, fields.machine, fields.processors, fields.bugcheck[0])
    struct.pack_into("<4Q", out, 0x40, *fields.bugcheck[1:])
    struct.pack_into("<Q", out, 0x80, fields.debugger_data)
    if fields.runs:
        pages = sum(count for _, count in fields.runs)
        struct.pack_into("<IIQ", out, 0x88, len(fields.runs), 0, pages)
        for index, (base, count) in enumerate(fields.runs):
            struct.pack_into("<QQ", out, 0x98 + 16 * index, base, count)
    if fields.context:
        out[0x348 : 0x348 + len(fields.context)] = fields.context
    if fields.exception is not None:
        code, address, parameters = fields.exception
        padded = [*parameters, *([0] * 15)][:15]
        struct.pack_into("<IIQQII15Q", out, 0xF00, code, 0, 0, address, len(parameters), 0, *padded)
    struct.pack_into("<I", out, 0xF98, dump_type)
    for offset, value, form in (
        (0xFA8, fields.system_time, "<Q"),
        (0x1030, fields.uptime, "<Q"),
        (0x1040, fields.product_type, "<I"),
        (0x1044, fields.suite_mask, "<I"),
    ):
        if value is not None:
            struct.pack_into(form, out, offset, value)
    if fields.comment is not None:
        raw = fields.comment.encode()[:127]
        out[0xFB0 : 0xFB0 + 128] = raw + bytes(128 - len(raw))
    return bytes(out)


def runs_of(pages: Mapping[int, bytes | bytearray]) -> list[tuple[int, int]]:
    """Group page frame numbers into ``(first, count)`` runs."""
    runs: list[tuple[int, int]] = []
    for pfn in sorted(pages):
        if runs and pfn == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((pfn, 1))
    return runs


def _body(pages: Mapping[int, bytes | bytearray]) -> bytes:
    return b"".join(bytes(pages[pfn]) for pfn in sorted(pages))


def full(fields: HeaderFields, pages: Mapping[int, bytes | bytearray]) -> bytes:
    """Type 1."""
    fields.runs = runs_of(pages)
    return header(1, fields) + _body(pages)


def _bitmap(pages: Mapping[int, bytes | bytearray]) -> tuple[int, bytes]:
    bits = (max(pages) + 64) & ~63
    bitmap = bytearray(bits // 8)
    for pfn in pages:
        bitmap[pfn // 8] |= 1 << (pfn % 8)
    return bits, bytes(bitmap)


def summary(fields: HeaderFields, pages: Mapping[int, bytes | bytearray]) -> bytes:
    """Type 2: 32-bit counts, the bitmap at +0x28."""
    bits, bitmap = _bitmap(pages)
    first = (HEADER + 0x28 + len(bitmap) + PAGE - 1) & ~(PAGE - 1)
    block = struct.pack("<4s4sIIII", b"SDMP", b"DUMP", 0, first, bits, len(pages)) + struct.pack("<IIQ", bits, 0, 0)
    head = header(2, fields) + block + bitmap
    return head + bytes(first - len(head)) + _body(pages)


def bitmap(fields: HeaderFields, pages: Mapping[int, bytes | bytearray], *, kernel: bool) -> bytes:
    """Type 5 or 6."""
    bits, bitmap = _bitmap(pages)
    first = HEADER + 0x38 + len(bitmap)
    signature = b"SDMP" if kernel else b"FDMP"
    block = signature + b"DUMP" + bytes(0x18) + struct.pack("<QQQ", first, len(pages), bits)
    return header(6 if kernel else 5, fields) + block + bitmap + _body(pages)


def rdmp(fields: HeaderFields, pages: Mapping[int, bytes | bytearray], dump_type: int) -> bytes:
    """Type 8, 9 or 0xA."""
    runs = runs_of(pages)
    counters = struct.pack("<IIQ", len(runs), 0, len(pages)) if dump_type == 10 else struct.pack("<QQ", 0, 0)
    ranges = b"".join(struct.pack("<QQ", *run) for run in runs)
    end = HEADER + 0x20 + len(counters) + len(ranges) + (0 if dump_type == 10 else 16)
    first = (end + PAGE - 1) & ~(PAGE - 1)
    block = struct.pack("<I4s4sIQQ", 0x40, b"RDMP", b"DUMP", 0, first - 0x2040 + 0x20, first)
    head = header(dump_type, fields) + block + counters + ranges
    return head + bytes(first - len(head)) + _body(pages)


class TriageFields(Record):
    """What goes into a triage block."""

    drivers: Sequence[tuple[str, int, int, int]] = ()
    """``(path, base, size, timestamp)``."""
    unloaded: Sequence[tuple[str, int, int]] = ()
    stack: tuple[int, bytes] = (0, b"")
    debugger_data: bytes = b""
    prcb: bytes = b""
    process: bytes = b""
    thread: bytes = b""
    blocks: Sequence[tuple[int, bytes]] = ()
    broken_driver: str = ""
    secondary: Sequence[tuple[str, bytes]] = ()


def _counted(text: str) -> bytes:
    raw = struct.pack("<I", len(text)) + text.encode("utf-16-le") + b"\0\0"
    return raw + bytes(-len(raw) % 8)


def secondary_blob(blocks: Sequence[tuple[str, bytes]]) -> bytes:
    """Tagged secondary data: ``(GUID, data)`` blocks."""
    out = b"DumpBlob" + struct.pack("<II", 0x10, 0xF0004A61)
    for guid, data in blocks:
        padding = -len(data) % 8
        out += struct.pack("<I", 0x20) + uuid.UUID(guid).bytes_le + struct.pack("<III", len(data), 0, padding)
        out += data + bytes(padding)
    return out


def triage(fields: HeaderFields, block: TriageFields, *, old: bool = False) -> bytes:
    """Type 4; ``old`` ends the block at 0x50, without data blocks."""
    body = bytearray(bytes(0x50 if old else 0x80))

    def put(data: bytes) -> int:
        body.extend(bytes(-len(body) % 8))
        at = HEADER + len(body)
        body.extend(data)
        return at if data else 0

    unloaded = struct.pack("<Q", len(block.unloaded))
    for name, start, end in block.unloaded:
        raw = name.encode("utf-16-le")[:24]
        unloaded += (
            struct.pack("<HHIQ", len(raw), len(raw), 0, 0) + raw.ljust(24, b"\0") + struct.pack("<QQ", start, end)
        )
    strings: dict[str, int] = {}
    values: dict[int, int] = {0x0C: 0x348, 0x10: 0xF00, 0x18: put(unloaded)}
    values[0x1C], values[0x20], values[0x24] = put(block.prcb), put(block.process), put(block.thread)
    values[0x28], values[0x2C] = put(block.stack[1]), len(block.stack[1])
    debugger_data = put(block.debugger_data)
    pool_start = HEADER + len(body) + (-len(body) % 8)
    for name in [*(driver[0] for driver in block.drivers), *([block.broken_driver] if block.broken_driver else [])]:
        strings[name] = put(_counted(name))
    values[0x38], values[0x3C] = pool_start, HEADER + len(body) - pool_start
    entries = b""
    for path, base, size, timestamp in block.drivers:
        entry = bytearray(0x90)
        struct.pack_into("<I", entry, 0, strings[path])
        struct.pack_into("<QQI", entry, 0x38, base, base + 0x1000, size)
        struct.pack_into("<I", entry, 0x88, timestamp)
        entries += entry
    values[0x30], values[0x34] = put(entries), len(block.drivers)
    values[0x40] = strings.get(block.broken_driver, 0)
    values[0x44] = 0xFFFFFFFF
    if not old:
        placed = [(address, put(data), len(data)) for address, data in block.blocks]
        table = put(b"".join(struct.pack("<QII", *entry) for entry in placed))
        values[0x70], values[0x74] = debugger_data, len(block.debugger_data)
        values[0x78], values[0x7C] = table, len(placed)
    values[0x08] = put(b"TRGD")
    values[0x04] = HEADER + len(body)
    for offset, value in values.items():
        struct.pack_into("<I", body, offset, value)
    struct.pack_into("<Q", body, 0x48, block.stack[0])
    blob = secondary_blob(block.secondary) if block.secondary else b""
    return header(4, fields) + bytes(body) + blob
