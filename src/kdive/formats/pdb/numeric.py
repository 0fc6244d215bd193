"""Numeric leaves: the variable-length integers inside CodeView records.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources.
"""

from __future__ import annotations

import struct

from kdive.errors import FormatError

_U16 = struct.Struct("<H")
_FIXED: dict[int, tuple[int, bool]] = {
    0x8000: (1, True),  # LF_CHAR
    0x8001: (2, True),  # LF_SHORT
    0x8002: (2, False),  # LF_USHORT
    0x8003: (4, True),  # LF_LONG
    0x8004: (4, False),  # LF_ULONG
    0x8009: (8, True),  # LF_QUADWORD
    0x800A: (8, False),  # LF_UQUADWORD
    0x8017: (16, True),  # LF_OCTWORD
    0x8018: (16, False),  # LF_UOCTWORD
}
_OPAQUE = {0x8005: 4, 0x8006: 8, 0x8007: 10, 0x8008: 16, 0x800B: 6, 0x801C: 2}
"""Sizes of the real-number leaves; they occur only in constants, which are read as 0 then."""


def numeric(record: bytes, at: int) -> tuple[int, int]:
    """Decode the numeric leaf at ``at``.

    Returns:
        The value, and the offset behind the leaf.

    Raises:
        FormatError: The leaf is cut short or of an unknown kind.
    """
    if at + 2 > len(record):
        raise FormatError("a number in a CodeView record is cut short", offset=at)
    leaf: int = _U16.unpack_from(record, at)[0]
    at += 2
    if leaf < 0x8000:
        return leaf, at
    fixed = _FIXED.get(leaf)
    if fixed is not None:
        size, signed = fixed
        if at + size > len(record):
            raise FormatError("a number in a CodeView record is cut short", offset=at)
        return int.from_bytes(record[at : at + size], "little", signed=signed), at + size
    skipped = _OPAQUE.get(leaf)
    if skipped is None or at + skipped > len(record):
        raise FormatError(f"numeric leaf {leaf:#x} in a CodeView record", offset=at - 2)
    return 0, at + skipped


def name_at(record: bytes, at: int, pascal: bool = False) -> tuple[str, int]:
    """Decode the name at ``at``: NUL-terminated, or length-prefixed (``pascal``) in records of old compilers.

    Returns:
        The name and the offset behind it. A name without terminator ends with the record.

    Raises:
        FormatError: It starts outside the record.
    """
    if at >= len(record):
        raise FormatError("a name in a CodeView record is cut short", offset=at)
    if pascal:
        end = at + 1 + record[at]
        return record[at + 1 : end].decode("latin-1"), end
    end = record.find(b"\0", at)
    if end < 0:
        end = len(record)
    return record[at:end].decode("utf-8", "replace"), end + 1
