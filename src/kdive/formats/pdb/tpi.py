"""The TPI stream: type records by index and by name, without reading all of them.

Records have variable lengths. The hash stream holds the byte offset of about every hundredth record, so a record is
found by a short walk from there; it also holds one hash per record, by which a type is found from its name.

Format facts: Microsoft's published PDB sources (``PDB/dbi/tpi.cpp``) and LLVM's "The PDB TPI and IPI Streams".
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.formats.pdb.fieldlist import Continuation, parse_field_list
from kdive.formats.pdb.gsi import hash_v1
from kdive.formats.pdb.leaves import LF_FIELDLIST, UDT_LEAVES, Udt, parse_leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdive.formats.pdb.fieldlist import ListEntry
    from kdive.formats.pdb.leaves import Leaf
    from kdive.formats.pdb.msf import MsfFile

_HEADER = struct.Struct("<IIIIIHHIIiIiIiI")
_HEAD = struct.Struct("<HH")
_MAX_LIST_PARTS = 4096
_MAX_FIELDS = 1 << 18
_MAX_NAME_HITS = 1024
_MAX_CANDIDATES = 128
"""A bucket of a sound file holds a handful; without a bound a hostile one makes every reference a long search."""
_LOOKUPS_BEFORE_READING_ALL = 64
FIRST_INDEX = 0x1000


class TypeStream:
    """The TPI (or the IPI) stream of a PDB.

    Args:
        msf: The container.
        stream: Number of the stream.

    Attributes:
        first: The lowest type index of a record.
        end: One above the highest.

    Raises:
        FormatError: The header is broken.
    """

    def __init__(self, msf: MsfFile, stream: int = 2) -> None:
        self._view = view = msf.view(stream)
        buffer = Buffer(view.read(0, min(_HEADER.size, view.size)), "type stream")
        (
            _,
            header_size,
            self.first,
            self.end,
            record_bytes,
            self._hash_stream,
            _,
            self._key_size,
            self._bucket_count,
            self._values_at,
            self._values_size,
            self._offsets_at,
            self._offsets_size,
            _,
            _,
        ) = buffer.unpack(_HEADER, 0)
        if header_size < _HEADER.size or self.first < FIRST_INDEX or self.end < self.first:
            raise FormatError("the header of the type stream is broken", offset=0)
        self._msf = msf
        if record_bytes < 0 or header_size + record_bytes > view.size:
            raise FormatError(f"the type stream claims {record_bytes:#x} bytes of records", offset=16)
        self._start, self._size = header_size, record_bytes
        # No record is shorter than four bytes: a bound on what the indexes may claim.
        if (self.end - self.first) * 4 > record_bytes:
            raise FormatError(f"the type stream claims {self.end - self.first} records in {record_bytes:#x} bytes")
        self._chunks: dict[int, tuple[bytes, list[int]]] = {}
        self._lookups = 0

    @cached_property
    def _hash_data(self) -> Buffer:
        data = self._msf.stream(self._hash_stream) if self._msf.has(self._hash_stream) else b""
        return Buffer(data, "type hash stream")

    @cached_property
    def _anchors(self) -> tuple[list[int], list[int]]:
        """Type indexes and byte offsets of the records that the file indexes, ascending."""
        data = self._hash_data
        words: list[int] = []
        if self._offsets_at >= 0 and self._offsets_at + self._offsets_size <= len(data):
            words = data.slice(self._offsets_at, self._offsets_size & ~7).cast("I").tolist()
        indexes, offsets = words[::2], words[1::2]
        sound = (
            bool(indexes)
            and indexes[0] == self.first
            and offsets[0] == 0
            and indexes[-1] < self.end
            and offsets[-1] < self._size
            and all(a < b for a, b in pairwise(indexes))
            and all(a < b for a, b in pairwise(offsets))
        )
        return (indexes, offsets) if sound else ([self.first], [0])

    def _chunk(self, number: int) -> tuple[bytes, list[int]]:
        """The bytes of the records from one anchor to the next, and where in them each record starts."""
        cached = self._chunks.get(number)
        if cached is None:
            cached = self._chunks[number] = self._read_chunk(number)
        return cached

    def _read_chunk(self, number: int) -> tuple[bytes, list[int]]:
        indexes, offsets = self._anchors
        last = number + 1 == len(indexes)
        count = (self.end if last else indexes[number + 1]) - indexes[number]
        start = offsets[number]
        data = self._view.read(self._start + start, (self._size if last else offsets[number + 1]) - start)
        at, size = 0, len(data)
        found: list[int] = []
        while len(found) < count and at + 4 <= size:
            found.append(at)
            at += 2 + (data[at] | data[at + 1] << 8)
        return data, found

    def _index_at(self, offset: int) -> int | None:
        """The type index of the record that spans a byte offset."""
        indexes, offsets = self._anchors
        number = bisect_right(offsets, offset) - 1
        if number < 0:
            return None
        position = bisect_right(self._chunk(number)[1], offset - offsets[number]) - 1
        return indexes[number] + position if position >= 0 else None

    def record(self, index: int) -> tuple[int, bytes]:
        """Return the kind and the body of a type record.

        Raises:
            FormatError: There is no such record, or it is cut short.
        """
        if not self.first <= index < self.end:
            raise FormatError(f"there is no type record {index:#x}")
        indexes, _ = self._anchors
        number = bisect_right(indexes, index) - 1
        data, starts = self._chunk(number)
        position = index - indexes[number]
        if position >= len(starts):
            raise FormatError(f"type record {index:#x} lies outside the type stream")
        return self._record_in(data, starts[position], index)

    def _record_in(self, data: bytes, at: int, index: int) -> tuple[int, bytes]:
        length, leaf = _HEAD.unpack_from(data, at)
        if length < 2 or at + 2 + length > len(data):
            raise FormatError(f"type record {index:#x} is cut short", offset=at)
        return leaf, data[at + 4 : at + 2 + length]

    def leaf(self, index: int) -> Leaf:
        """Return a decoded type record.

        Raises:
            FormatError: There is no such record, or it is broken.
        """
        return parse_leaf(*self.record(index))

    def fields(self, index: int) -> list[ListEntry]:
        """Return the entries of a field list with all its continuations (index 0: none).

        Raises:
            FormatError: A part is missing, broken, refers back to an earlier part, or the list is absurdly long.
        """
        entries: list[ListEntry] = []
        seen: set[int] = set()
        while index:
            if index in seen or len(seen) >= _MAX_LIST_PARTS or len(entries) > _MAX_FIELDS:
                raise FormatError(f"the field list {index:#x} never ends")
            seen.add(index)
            leaf, body = self.record(index)
            if leaf != LF_FIELDLIST:
                raise FormatError(f"type record {index:#x} of kind {leaf:#x} is no field list")
            index = 0
            for entry in parse_field_list(body):
                if isinstance(entry, Continuation):
                    index = entry.type_index
                else:
                    entries.append(entry)
        return entries

    @cached_property
    def _hash_values(self) -> bytes | None:
        """One hash bucket number per record; None if the file has no usable table."""
        data, count = self._hash_data, self.end - self.first
        size = self._key_size
        if size not in (2, 4) or not self._bucket_count or self._values_at < 0:
            return None
        if self._values_size < count * size or self._values_at + count * size > len(data) or not count:
            return None
        return data.bytes(self._values_at, count * size)

    @cached_property
    def _buckets(self) -> dict[int, list[int]]:
        """Record indexes by hash bucket."""
        values = memoryview(self._hash_values or b"").cast("I" if self._key_size == 4 else "H")
        buckets: dict[int, list[int]] = {}
        for index, value in enumerate(values.tolist(), self.first):
            buckets.setdefault(value, []).append(index)
        return buckets

    def _in_bucket(self, bucket: int) -> list[int]:
        """The records of a hash bucket: the first lookups search the table, after many it is turned round."""
        self._lookups += 1
        values, size = self._hash_values, self._key_size
        if values is None:
            return []
        if self._lookups > _LOOKUPS_BEFORE_READING_ALL:
            return self._buckets.get(bucket, [])
        needle = bucket.to_bytes(size, "little")
        found: list[int] = []
        at = values.find(needle)
        while at >= 0:
            if at % size == 0:
                found.append(self.first + at // size)
                at += size - 1
            at = values.find(needle, at + 1)
        return found

    def _udt(self, index: int) -> Udt | None:
        try:
            leaf, body = self.record(index)
            if leaf not in UDT_LEAVES:
                return None
            udt = parse_leaf(leaf, body)
        except FormatError:
            return None
        return udt if isinstance(udt, Udt) else None

    def find(self, name: str, *, thorough: bool = False) -> int | None:
        """Return the index of the type of this name, its definition if the file has one.

        Where the file has several definitions (some kernels carry a shortened ``_KPRCB`` beside the whole one), the
        largest counts, and of equal ones the last, as it does for the linker's own table.

        Args:
            name: The name.
            thorough: Whether to search also for what the hash table does not hold under its plain name: types local
                to functions, and types that are announced but never defined.
        """
        if not name:
            return None
        best = self._largest(self._by_hash(name), lambda udt: udt.name == name)
        if best is not None:
            return best
        forward: int | None = None
        for index in self._by_bytes(name) if thorough else ():
            udt = self._udt(index)
            if udt is None or udt.name != name:
                continue
            if not udt.forward:
                return index
            forward = index
        return forward

    def _by_hash(self, name: str) -> list[int]:
        """Candidates for a name, the latest first."""
        if self._hash_values is None:
            index = self._by_name.get(name)
            return [] if index is None else [index]
        found = self._in_bucket(hash_v1(name.encode("utf-8", "replace")) % self._bucket_count)
        return found[: -_MAX_CANDIDATES - 1 : -1]

    @cached_property
    def _by_name(self) -> dict[str, int]:
        """Definitions by name and by decorated name, for files without a hash table."""
        names: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for index, udt in self.udts():
            for name in (udt.name, udt.unique_name):
                known = sizes.get(name, -1)
                if name and udt.size >= known:
                    names[name], sizes[name] = index, udt.size
        return names

    def _by_bytes(self, name: str) -> Iterator[int]:
        needle = name.encode("utf-8", "replace") + b"\0"
        data = self._view.read(self._start, self._size)
        at = data.find(needle)
        for _ in range(_MAX_NAME_HITS):
            if at < 0:
                return
            index = self._index_at(at)
            if index is not None:
                yield index
            at = data.find(needle, at + 1)

    def definition(self, index: int, udt: Udt) -> int:
        """Return the index of the definition that a forward reference stands for, or ``index`` if there is none."""
        if not udt.forward:
            return index
        wanted = udt.unique_name or udt.name
        for key in (udt.name, udt.unique_name):
            best = self._largest(self._by_hash(key), lambda other: (other.unique_name or other.name) == wanted)
            if best is not None:
                return best
        return index

    def _largest(self, candidates: list[int], wanted: Callable[[Udt], bool]) -> int | None:
        """The largest of the definitions among the candidates that is wanted; of equal ones the first."""
        best: tuple[int, int] | None = None
        for index in candidates:
            udt = self._udt(index)
            if udt is not None and not udt.forward and wanted(udt) and (best is None or udt.size > best[0]):
                best = (udt.size, index)
        return None if best is None else best[1]

    def udts(self) -> Iterator[tuple[int, Udt]]:
        """Yield every structure, class, union and enumeration that is defined (not only announced)."""
        for number, first in enumerate(self._anchors[0]):
            # Not kept: a search for types would leave the whole stream in memory.
            data, starts = self._chunks.get(number) or self._read_chunk(number)
            for index, at in enumerate(starts, first):
                if (data[at + 2] | data[at + 3] << 8) not in UDT_LEAVES:
                    continue
                try:
                    udt = parse_leaf(*self._record_in(data, at, index))
                except FormatError:
                    continue
                if isinstance(udt, Udt) and not udt.forward:
                    yield index, udt
