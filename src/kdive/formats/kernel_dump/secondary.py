"""Tagged secondary data: blobs that drivers and the kernel attach to a dump, each under a GUID.

Format facts (observed in dumps of builds 17134 to 22000): ``DumpBlob``, 32-bit header size, 32-bit build tag, then
blocks of {32-bit header size 0x20, GUID, data size, padding before, padding after} and data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.formats.guid import guid_text
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.formats.buffer import Buffer

MARK = b"DumpBlob"
_BLOCK_HEADER_SIZE = 0x20
_MAX_BLOCKS = 1024


class SecondaryData(Record, frozen=True):
    """One block: its GUID in registry form (upper case, no braces), file offset and size in bytes."""

    guid: str
    offset: int
    size: int
    truncated: bool


def parse_secondary(buffer: Buffer, offset: int) -> list[SecondaryData]:
    """Decode the blocks from the ``DumpBlob`` mark at ``offset``; an empty list if there is none."""
    if offset < 0 or offset + 16 > len(buffer) or buffer.bytes(offset, 8) != MARK:
        return []
    at = offset + buffer.u32(offset + 8)
    found: list[SecondaryData] = []
    while at + _BLOCK_HEADER_SIZE <= len(buffer) and len(found) < _MAX_BLOCKS:
        header = buffer.u32(at)
        if header != _BLOCK_HEADER_SIZE:
            break
        guid = guid_text(buffer.bytes(at + 4, 16))
        size, before, after = buffer.u32(at + 20), buffer.u32(at + 24), buffer.u32(at + 28)
        data = at + header + before
        present = max(0, min(size, len(buffer) - data))
        found.append(SecondaryData(guid, data, present, present < size))
        at = data + size + after
    return found
