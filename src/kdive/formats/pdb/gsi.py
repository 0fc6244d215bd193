"""The hash tables over the symbol records: globals (GSI) and publics (PSI, with an address map).

Format facts: Microsoft's published PDB sources (``PDB/dbi/gsi.cpp``) and LLVM's "The PDB Global Symbol Stream".
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.formats.buffer import Buffer
from kdive.formats.pdb.kinds import S_PUB32

if TYPE_CHECKING:
    from collections.abc import Iterator

_HASH_HEADER = struct.Struct("<IIII")
_HASH_RECORD = struct.Struct("<II")
_PSI_HEADER = struct.Struct("<IIIIHHII")
_PLACED = struct.Struct("<HHIIH")
_SIGNATURE = 0xFFFFFFFF
_VERSION = 0xF12F091A
_BUCKETS = 4096
_BUCKETS_MINIMAL = 0x3FFFF
_MAX_AT_ONE_ADDRESS = 64
_LOOKUPS_BEFORE_READING_ALL = 128
_MEMORY_RECORD_SIZE = 12
"""Bucket starts count in the size that a hash record had in the memory of a 32-bit linker."""


def hash_v1(name: bytes) -> int:
    """Return the hash that PDBs use for names; it ignores the case of ASCII letters."""
    whole = len(name) & ~3
    value = 0
    for word in struct.unpack(f"<{whole // 4}I", name[:whole]):
        value ^= word
    tail = whole
    if len(name) - tail >= 2:
        value ^= name[tail] | name[tail + 1] << 8
        tail += 2
    if len(name) > tail:
        value ^= name[tail]
    value |= 0x20202020
    value ^= value >> 11
    return value ^ value >> 16


class SymbolHash:
    """A hash table from names to offsets in the symbol record stream.

    Args:
        data: The table.
        minimal: Whether the PDB was linked with ``/DEBUG:FASTLINK``, which uses more buckets.

    A table of an unknown version is empty; callers then search the records themselves (:attr:`usable` is False).
    """

    def __init__(self, data: bytes | memoryview, *, minimal: bool = False) -> None:
        self._bucket_count = _BUCKETS_MINIMAL if minimal else _BUCKETS
        buffer = Buffer(data, "symbol hash table")
        self.usable = False
        self._records = Buffer(b"")
        if len(buffer) < _HASH_HEADER.size:
            return
        signature, version, record_bytes, bucket_bytes = buffer.unpack(_HASH_HEADER, 0)
        if signature != _SIGNATURE or version != _VERSION:
            return
        self._records = buffer.sub(_HASH_HEADER.size, record_bytes)
        buckets = buffer.sub(_HASH_HEADER.size + record_bytes, bucket_bytes)
        bitmap_size = (self._bucket_count // 32 + 1) * 4
        self.usable = bucket_bytes >= bitmap_size
        if self.usable:
            self._bitmap = int.from_bytes(buckets.bytes(0, bitmap_size), "little")
            self._starts = buckets.sub(bitmap_size, bucket_bytes - bitmap_size)

    def candidates(self, name: bytes) -> Iterator[int]:
        """Yield the offsets of the records in the bucket of ``name`` (which may hold other names too).

        Raises:
            FormatError: The table is broken.
        """
        if not self.usable:
            return
        bucket = hash_v1(name) % self._bucket_count
        if not self._bitmap >> bucket & 1:
            return
        index = (self._bitmap & ((1 << bucket) - 1)).bit_count()
        first = self._starts.u32(index * 4) // _MEMORY_RECORD_SIZE
        last = len(self._records) // _HASH_RECORD.size
        if (index + 1) * 4 + 4 <= len(self._starts):
            last = min(last, self._starts.u32(index * 4 + 4) // _MEMORY_RECORD_SIZE)
        for record in range(first, last):
            offset, _ = self._records.unpack(_HASH_RECORD, record * _HASH_RECORD.size)
            yield offset - 1


class PublicSymbols:
    """The public symbols: a name hash, and an address map sorted by section and offset."""

    def __init__(self, data: bytes, records: bytes, *, minimal: bool = False) -> None:
        self._records = records
        self._lookups = 0
        if len(data) < _PSI_HEADER.size:
            self.names = SymbolHash(b"")
            self._map = memoryview(b"").cast("I")
            return
        buffer = Buffer(data, "public symbols")
        hash_size, map_size, *_ = buffer.unpack(_PSI_HEADER, 0)
        self.names = SymbolHash(buffer.slice(_PSI_HEADER.size, hash_size), minimal=minimal)
        self._map = buffer.slice(_PSI_HEADER.size + hash_size, map_size & ~3).cast("I")

    def __len__(self) -> int:
        return len(self._map)

    def offset(self, index: int) -> int:
        """Return the record offset of entry ``index`` of the address map."""
        return self._map[index]

    @cached_property
    def _places(self) -> list[int]:
        """``section << 32 | offset`` of every entry of the address map."""
        records, limit, unpack = self._records, len(self._records) - _PLACED.size, _PLACED.unpack_from
        places: list[int] = []
        for at in self._map.tolist():
            kind = offset = section = 0
            if at <= limit:
                _, kind, _, offset, section = unpack(records, at)
            places.append(section << 32 | offset if kind == S_PUB32 else 0)
        return places

    def _key(self, at: int) -> int:
        if at + _PLACED.size > len(self._records):
            return 0
        _, kind, _, offset, section = _PLACED.unpack_from(self._records, at)
        return section << 32 | offset if kind == S_PUB32 else 0

    def at_or_below(self, section: int, offset: int) -> range:
        """Return the entries of the address map that share the greatest address not above ``section:offset``.

        The range is empty if there is none in that section. The first lookups look at the records on their way; once
        there were many, the addresses of all are read.
        """
        self._lookups += 1
        wanted = section << 32 | offset
        if self._lookups > _LOOKUPS_BEFORE_READING_ALL:
            places = self._places
            low = bisect_right(places, wanted)
            place = places[low - 1] if low else 0
            first = bisect_left(places, place, max(low - _MAX_AT_ONE_ADDRESS, 0), low)
        else:
            low = bisect_right(self._map, wanted, key=self._key)
            place = self._key(self._map[low - 1]) if low else 0
            first = bisect_left(self._map, place, max(low - _MAX_AT_ONE_ADDRESS, 0), low, key=self._key)
        if not low or place >> 32 != section or place > wanted:
            return range(0)
        return range(first, low)
