"""Small PDBs made by hand, for what no real file at hand shows."""

from __future__ import annotations

import struct
import uuid
from typing import TYPE_CHECKING

from kdive.formats.pdb.gsi import hash_v1
from kdive.formats.pdb.msf import MAGIC

if TYPE_CHECKING:
    from collections.abc import Sequence

GUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def msf(streams: Sequence[bytes], block_size: int = 512, *, scatter: bool = False) -> bytes:
    """An MSF file; with ``scatter`` the blocks of every stream lie in descending order."""
    blocks: list[bytes] = [b"", b"", b""]
    lists: list[list[int]] = []
    for data in streams:
        pieces = [data[at : at + block_size] for at in range(0, len(data), block_size)]
        numbers = list(range(len(blocks), len(blocks) + len(pieces)))
        if scatter:
            numbers.reverse()
        placed = dict(zip(numbers, pieces, strict=True))
        blocks += [placed[number] for number in sorted(placed)]
        lists.append(numbers)
    directory = struct.pack("<I", len(streams)) + b"".join(struct.pack("<I", len(data)) for data in streams)
    directory += b"".join(struct.pack("<I", number) for numbers in lists for number in numbers)
    first = len(blocks)
    parts = [directory[at : at + block_size] for at in range(0, len(directory), block_size)]
    blocks += parts
    map_block = len(blocks)
    blocks.append(struct.pack(f"<{len(parts)}I", *range(first, first + len(parts))))
    blocks[0] = MAGIC + struct.pack("<IIIIII", block_size, 1, len(blocks), len(directory), 0, map_block)
    return b"".join(block.ljust(block_size, b"\0") for block in blocks)


def info(age: int = 1) -> bytes:
    """An info stream without named streams."""
    return (
        struct.pack("<III", 20000404, 0, age)
        + GUID.bytes_le
        + struct.pack("<IIIII", 0, 0, 1, 0, 0)
        + struct.pack("<I", 20140508)
    )


def record(leaf: int, body: bytes) -> bytes:
    """A type record, padded."""
    body += b"\xf3\xf2\xf1"[3 - (-len(body) % 4) :] if len(body) % 4 else b""
    return struct.pack("<HH", len(body) + 2, leaf) + body


def tpi(
    records: Sequence[bytes], names: dict[int, str] | None = None, *, hash_stream: int = 0xFFFF
) -> tuple[bytes, bytes]:
    """A TPI stream and its hash stream; ``names`` gives the hashed name of records by position."""
    data = b"".join(records)
    buckets = 0x3FFFF
    values = [hash_v1((names or {}).get(index, f"#{index}").encode()) % buckets for index in range(len(records))]
    hashes = struct.pack(f"<{len(values)}I", *values)
    offsets = struct.pack("<II", 0x1000, 0)
    header = struct.pack(
        "<IIIIIHHIIiIiIiI",
        20040203,
        56,
        0x1000,
        0x1000 + len(records),
        len(data),
        hash_stream,
        0xFFFF,
        4,
        buckets,
        0,
        len(hashes),
        len(hashes),
        len(offsets),
        0,
        0,
    )
    return header + data, hashes + offsets


def structure(name: str, field_list: int, size: int, *, forward: bool = False, unique: str = "") -> bytes:
    """An ``LF_STRUCTURE`` record."""
    properties = (0x80 if forward else 0) | (0x200 if unique else 0)
    body = struct.pack("<HHIIIH", 0, properties, field_list, 0, 0, size) + name.encode() + b"\0"
    return record(0x1505, body + (unique.encode() + b"\0" if unique else b""))


def member(name: str, type_index: int, offset: int) -> bytes:
    """An ``LF_MEMBER`` entry, padded."""
    body = struct.pack("<HHIH", 0x150D, 3, type_index, offset) + name.encode() + b"\0"
    pad = -len(body) % 4
    return body + bytes(0xF0 | left for left in range(pad, 0, -1))


def types_only(records: Sequence[bytes], names: dict[int, str] | None = None, *, hashed: bool = True) -> bytes:
    """A PDB with type records and nothing else."""
    stream, hashes = tpi(records, names, hash_stream=5 if hashed else 0xFFFF)
    return msf([b"", info(), stream, b"", b"", hashes])
