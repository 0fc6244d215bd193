"""A minidump of one module, so that debuggers that open symbols only with a target can take part in a bench.

Format facts: ``minidumpapiset.h`` of the Windows SDK.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.formats.pe.image import PeImage

if TYPE_CHECKING:
    from pathlib import Path

BASE = 0x140000000
_THREADS, _MODULES, _SYSTEM, _MEMORY64, _EXCEPTION = 3, 4, 7, 9, 6
_CONTEXT_SIZE = 1232


def minidump(image: Path, pdb_name: str) -> bytes:
    """A user-mode x64 minidump whose only module is ``image``, loaded at :data:`BASE` and present in memory."""
    raw = image.read_bytes()
    parsed = PeImage(raw)
    identity = parsed.pdb_identity
    assert identity is not None
    size = (max(section.rva + section.virtual_size for section in parsed.sections) + 0xFFF) & ~0xFFF
    mapped = bytearray(size)
    mapped[: min(len(raw), 0x400)] = raw[:0x400]
    for section in parsed.sections:
        data = raw[section.raw_offset : section.raw_offset + min(section.raw_size, section.virtual_size)]
        mapped[section.rva : section.rva + len(data)] = data

    blob = bytearray(32 + 12 * 5)
    directory: list[tuple[int, int, int]] = []

    def put(data: bytes) -> int:
        blob.extend(b"\0" * (-len(blob) % 8))
        at = len(blob)
        blob.extend(data)
        return at

    def stream(kind: int, data: bytes) -> None:
        directory.append((kind, len(data), put(data)))

    guid = bytes.fromhex(identity.guid)
    guid = guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]
    cv = b"RSDS" + guid + struct.pack("<I", identity.age) + pdb_name.encode() + b"\0"
    cv_at = put(cv)
    text = f"C:\\{image.name}".encode("utf-16-le")
    name_at = put(struct.pack("<I", len(text)) + text + b"\0\0")
    context = bytearray(_CONTEXT_SIZE)
    struct.pack_into("<I", context, 0x30, 0x10001F)
    struct.pack_into("<Q", context, 0x98, BASE + size - 0x800)
    struct.pack_into("<Q", context, 0xF8, BASE + 0x1010)
    context_at = put(bytes(context))
    module = struct.pack("<QIIII52sIIIIQQ", BASE, size, 0, parsed.timestamp, name_at, b"", len(cv), cv_at, 0, 0, 0, 0)
    stream(_MODULES, struct.pack("<I", 1) + module)
    # x64, Windows 10, one processor
    stream(_SYSTEM, struct.pack("<HHHBBIIIIIHHI", 9, 6, 0, 1, 1, 10, 0, 19041, 2, 0, 0, 0, 0).ljust(56, b"\0"))
    thread = struct.pack("<IIIIQQIIII", 1, 0, 0, 0, 0, BASE + size - 0x1000, 0x1000, 0, _CONTEXT_SIZE, context_at)
    stream(_THREADS, struct.pack("<I", 1) + thread)
    exception = struct.pack(
        "<IIIIQQII15QII", 1, 0, 0x80000003, 0, 0, BASE + 0x1010, 0, 0, *[0] * 15, _CONTEXT_SIZE, context_at
    )
    stream(_EXCEPTION, exception)
    memory_at = len(blob) + 8 + 64
    memory_at += -memory_at % 16
    stream(_MEMORY64, struct.pack("<QQQQ", 1, memory_at, BASE, size))
    blob.extend(b"\0" * (memory_at - len(blob)))
    blob.extend(mapped)
    struct.pack_into("<4sIIIIIQ", blob, 0, b"MDMP", 0xA793, len(directory), 32, 0, parsed.timestamp, 2)
    for index, entry in enumerate(directory):
        struct.pack_into("<III", blob, 32 + 12 * index, *entry)
    return bytes(blob)
