"""GUIDs as files hold them: three little-endian fields and eight bytes."""

from __future__ import annotations


def guid_hex(raw: bytes) -> str:
    """Write the 16 bytes of a GUID as 32 upper-case hex digits, as symbol-store keys do."""
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:16]).hex().upper()


def guid_text(raw: bytes) -> str:
    """Write the 16 bytes of a GUID in registry form, upper case, without braces."""
    digits = guid_hex(raw)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
