"""The hash tables over the symbol records: globals (GSI) and publics (PSI, with an address map).

Format facts: Microsoft's published PDB sources (``PDB/dbi/gsi.cpp``) and LLVM's "The PDB Global Symbol Stream".
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from kdive.errors import FormatError
from kdive.formats.pdb.kinds import S_PUB32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.formats.pdb.records import SymbolRecords

_HASH_HEADER = struct.Struct("<IIII")
_HASH_RECORD_SIZE = 8
_PSI_HEADER = struct.Struct("<IIIIHHII")
_PLACED = struct.Struct("<HHIIH")
_SIGNATURE = 0xFFFFFFFF
_VERSION = 0xF12F091A
_BUCKETS = 4096
_BUCKETS_MINIMAL = 0x3FFFF
_MAX_AT_ONE_ADDRESS = 64
_LOOKUPS_BEFORE_KEEPING = 64
_MEMORY_RECORD_SIZE = 12
"""Bucket starts count in the size that a hash record had in the memory of a 32-bit linker."""


def hash_v1(name: bytes) -> int:
    """Return the hash that PDBs use for names; it ignores the case of ASCII letters."""
    size = len(name)
    tail = size & ~3
    value = 0
    for word in memoryview(name)[:tail].cast("I"):
        value ^= word
    if size & 2:
        value ^= name[tail] | name[tail + 1] << 8
        tail += 2
    if size & 1:
        value ^= name[tail]
    value |= 0x20202020
    value ^= value >> 11
    return value ^ value >> 16


class Readable(Protocol):
    """A stream that is read in parts."""

    size: int

    def read(self, at: int, size: int) -> bytes:
        """Return ``size`` bytes at an offset."""
        ...


class SymbolHash:
    """A hash table from names to offsets in the symbol record stream.

    Args:
        stream: The stream that holds the table.
        start: Where in it the table starts.
        size: Size of the table in bytes.
        minimal: Whether the PDB was linked with ``/DEBUG:FASTLINK``, which uses more buckets.

    A table of an unknown version is empty; callers then search the records themselves (:attr:`usable` is False).
    """

    def __init__(self, stream: Readable, start: int, size: int, *, minimal: bool = False) -> None:
        self._bucket_count = _BUCKETS_MINIMAL if minimal else _BUCKETS
        self._stream = stream
        self.usable = False
        self._at = start + _HASH_HEADER.size
        self._record_bytes = self._lookups = 0
        self._kept: tuple[array[int], array[int]] | None = None
        if size < _HASH_HEADER.size:
            return
        signature, version, record_bytes, bucket_bytes = _HASH_HEADER.unpack(stream.read(start, _HASH_HEADER.size))
        if signature != _SIGNATURE or version != _VERSION:
            return
        if _HASH_HEADER.size + record_bytes + bucket_bytes > size:
            raise FormatError(f"the symbol hash table claims {record_bytes + bucket_bytes:#x} bytes of {size:#x}")
        self._record_bytes = record_bytes & ~7
        bitmap_size = (self._bucket_count // 32 + 1) * 4
        self.usable = bucket_bytes >= bitmap_size
        if self.usable:
            buckets = stream.read(self._at + record_bytes, bucket_bytes)
            self._bitmap = int.from_bytes(buckets[:bitmap_size], "little")
            self._starts = memoryview(buckets)[bitmap_size : bucket_bytes & ~3].cast("I")

    def references(self) -> list[int]:
        """Return what the table holds: the offset of every record, plus one.

        Raises:
            FormatError: The table is broken.
        """
        return memoryview(self._stream.read(self._at, self._record_bytes)).cast("I")[0::2].tolist()

    def candidates(self, hashed: int) -> Sequence[int]:
        """Return what the bucket of a name's hash holds (other names may be in it too): offsets of records, plus one.

        The first lookups read their buckets from the file; after many the table is kept.

        Raises:
            FormatError: The table is broken.
        """
        if not self.usable:
            return ()
        bucket = hashed % self._bucket_count
        if self._kept is not None:
            table, bounds = self._kept
            return table[bounds[bucket] : bounds[bucket + 1]]
        self._lookups += 1
        if self._lookups > _LOOKUPS_BEFORE_KEEPING:
            self._kept = self._keep()
        bit = self._bitmap >> bucket
        if not bit & 1:
            return ()
        index = self._bitmap.bit_count() - bit.bit_count()
        first, last = self._bound(index), self._bound(index + 1)
        if last <= first:
            return ()
        raw = self._stream.read(self._at + first * _HASH_RECORD_SIZE, (last - first) * _HASH_RECORD_SIZE)
        return memoryview(raw).cast("I")[0::2].tolist()

    def _bound(self, index: int) -> int:
        """Where the records of the ``index``-th bucket that is not empty start."""
        count = self._record_bytes // _HASH_RECORD_SIZE
        return min(self._starts[index] // _MEMORY_RECORD_SIZE, count) if index < len(self._starts) else count

    def _keep(self) -> tuple[array[int], array[int]]:
        """The references of the table, and for every bucket where its references start among them."""
        bounds = array("I")
        index = 0
        for bucket in range(self._bucket_count):
            bounds.append(self._bound(index))
            index += self._bitmap >> bucket & 1
        bounds.append(self._record_bytes // _HASH_RECORD_SIZE)
        return array("I", self.references()), bounds


class _Keys(dict[int, int]):
    """``section << 32 | offset`` of public symbols by the offsets of their records, read when first asked for."""

    def __init__(self, records: SymbolRecords) -> None:
        super().__init__()
        self._records = records

    def __missing__(self, offset: int) -> int:
        key = 0
        if 0 <= offset <= self._records.size - _PLACED.size:
            _, kind, _, at, section = _PLACED.unpack_from(*self._records.at(offset))
            key = section << 32 | at if kind == S_PUB32 else 0
        self[offset] = key
        return key


class PublicSymbols:
    """The public symbols: a name hash, and an address map sorted by section and offset.

    Args:
        stream: The stream of the publics.
        records: The symbol records.
        minimal: Whether the PDB was linked with ``/DEBUG:FASTLINK``.

    Attributes:
        names: The name hash.
        thunk_size: Size in bytes of a thunk of an incrementally linked image, 0 if it has none.
        thunk_table: ``(section, offset, count)`` of the table of these thunks.
    """

    def __init__(self, stream: Readable, records: SymbolRecords, *, minimal: bool = False) -> None:
        self._stream = stream
        self._keys = _Keys(records)
        self._map_at = self._map_size = self.thunk_size = 0
        self.thunk_table = (0, 0, 0)
        if stream.size < _PSI_HEADER.size:
            self.names = SymbolHash(stream, 0, 0)
            return
        head = _PSI_HEADER.unpack(stream.read(0, _PSI_HEADER.size))
        hash_size, map_size, thunks, self.thunk_size, section, _, offset, _ = head
        self.names = SymbolHash(stream, _PSI_HEADER.size, hash_size, minimal=minimal)
        self._map_at, self._map_size = _PSI_HEADER.size + hash_size, map_size & ~3
        self.thunk_table = (section, offset, thunks)

    @cached_property
    def _map(self) -> memoryview:
        return memoryview(self._stream.read(self._map_at, self._map_size)).cast("I")

    def __len__(self) -> int:
        return self._map_size // 4

    def offset(self, index: int) -> int:
        """Return the record offset of entry ``index`` of the address map."""
        return self._map[index]

    def at_or_below(self, section: int, offset: int) -> range:
        """Return the entries of the address map that share the greatest address not above ``section:offset``.

        The range is empty if there is none in that section.

        Raises:
            FormatError: The streams are broken.
        """
        wanted = section << 32 | offset
        keys = self._keys
        low = bisect_right(self._map, wanted, key=keys.__getitem__)
        place = keys[self._map[low - 1]] if low else 0
        if not low or place >> 32 != section or place > wanted:
            return range(0)
        first, bound = low - 1, max(low - _MAX_AT_ONE_ADDRESS, 0)
        while first > bound and keys[self._map[first - 1]] == place:
            first -= 1
        return range(first, low)
