"""The info stream (identity, named streams, features) and the string table of a PDB.

Format facts: Microsoft's published PDB sources (``PDB1``, ``NMTNI``) and LLVM's "The PDB Info Stream".
"""

from __future__ import annotations

import struct

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.formats.guid import guid_hex
from kdive.record import Record, field

FEATURE_VC110 = 20091201
FEATURE_VC140 = 20140508
FEATURE_NO_TYPE_MERGE = 0x4D544F4E
FEATURE_MINIMAL = 0x494E494D
"""``MINI``: linked with ``/DEBUG:FASTLINK``; private symbols stayed in the object files."""

_HEADER = struct.Struct("<III16s")
_PAIR = struct.Struct("<II")
_STRINGS_MAGIC = 0xEFFEEFFE


class PdbInfo(Record, frozen=True):
    """What the info stream says.

    Attributes:
        guid: 32 upper-case hex digits.
        age: How often the file was written; images match the DBI stream's age instead.
        timestamp: Seconds since 1970 of the first write (or a hash, for reproducible builds).
        streams: Numbers of the named streams.
        features: Feature codes.
    """

    guid: str
    age: int
    timestamp: int
    streams: dict[str, int] = field(default_factory=dict[str, int])
    features: frozenset[int] = frozenset()


def parse_info(data: bytes) -> PdbInfo:
    """Decode the info stream.

    Raises:
        FormatError: It is too short to hold the identity.
    """
    buffer = Buffer(data, "PDB info stream")
    _, timestamp, age, raw_guid = buffer.unpack(_HEADER, 0)
    guid = guid_hex(raw_guid)
    streams: dict[str, int] = {}
    features: frozenset[int] = frozenset()
    if len(data) > _HEADER.size:
        streams, end = _named_streams(buffer, _HEADER.size)
        tail = buffer.view[end : end + ((len(buffer) - end) & ~3)]
        features = frozenset(struct.unpack(f"<{len(tail) // 4}I", tail))
    return PdbInfo(guid, age, timestamp, streams, features)


def _named_streams(buffer: Buffer, at: int) -> tuple[dict[str, int], int]:
    size = buffer.u32(at)
    strings = buffer.sub(at + 4, size, "PDB stream names")
    at += 4 + size
    count = buffer.u32(at)
    at += 8
    for _ in range(2):  # the bit vectors of present and of deleted slots; the entries follow without holes
        at += 4 + buffer.u32(at) * 4
        buffer.check(at, 0)
    buffer.check(at, count * _PAIR.size)
    streams: dict[str, int] = {}
    for _ in range(count):
        name_at, number = buffer.unpack(_PAIR, at)
        at += _PAIR.size
        streams[strings.cstring(name_at)] = number
    return streams, at


class StringTable:
    """The ``/names`` stream: strings that other streams name by offset.

    Raises:
        FormatError: The stream does not start as a string table.
    """

    def __init__(self, data: bytes) -> None:
        buffer = Buffer(data, "PDB string table")
        if buffer.u32(0) != _STRINGS_MAGIC:
            raise FormatError("the PDB string table has a wrong signature", offset=0)
        self._strings = buffer.sub(12, min(buffer.u32(8), len(data) - 12))

    def get(self, offset: int) -> str:
        """Return the string at an offset.

        Raises:
            FormatError: The offset lies outside the table.
        """
        return self._strings.cstring(offset)
