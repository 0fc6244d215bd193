"""Bounds-checked reading of a buffer.

Parsers never index raw bytes with numbers that came from a file: they go through :class:`Buffer`, which turns every
out-of-range read into a :class:`~kdive.errors.FormatError` with the offset, and never allocates by a length field
before that length was checked.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kdive.errors import FormatError

if TYPE_CHECKING:
    import mmap

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Buffer:
    """A read-only window on bytes, with every access checked.

    Args:
        data: The bytes.
        name: What the bytes are, for messages ("dump header", "TPI stream").
        base: Offset of ``data`` in the file, added to offsets in messages.
    """

    __slots__ = ("base", "name", "view")

    def __init__(self, data: bytes | bytearray | memoryview | mmap.mmap, name: str = "data", base: int = 0) -> None:
        self.view = memoryview(data)
        self.name = name
        self.base = base

    def __len__(self) -> int:
        return len(self.view)

    def _fail(self, offset: int, size: int) -> FormatError:
        return FormatError(
            f"{self.name} is cut short: {size} bytes wanted at {offset:#x}, {len(self.view)} bytes present",
            offset=self.base + max(offset, 0),
        )

    def check(self, offset: int, size: int) -> None:
        """Raise unless ``size`` bytes lie at ``offset``.

        Raises:
            FormatError: They do not.
        """
        if offset < 0 or size < 0 or offset + size > len(self.view):
            raise self._fail(offset, size)

    def slice(self, offset: int, size: int) -> memoryview:
        """Return a view of ``size`` bytes at ``offset`` without copying."""
        self.check(offset, size)
        return self.view[offset : offset + size]

    def bytes(self, offset: int, size: int) -> bytes:
        """Return a copy of ``size`` bytes at ``offset``."""
        return bytes(self.slice(offset, size))

    def sub(self, offset: int, size: int, name: str | None = None) -> Buffer:
        """Return a checked window inside this one."""
        return Buffer(self.slice(offset, size), name or self.name, self.base + offset)

    def unpack(self, layout: struct.Struct, offset: int) -> tuple[Any, ...]:
        """Decode ``layout`` at ``offset``."""
        if offset < 0 or offset + layout.size > len(self.view):
            raise self._fail(offset, layout.size)
        return layout.unpack_from(self.view, offset)

    def u8(self, offset: int) -> int:
        """Read one unsigned byte."""
        self.check(offset, 1)
        return self.view[offset]

    def u16(self, offset: int) -> int:
        """Read a little-endian 16-bit unsigned integer."""
        return self.unpack(_U16, offset)[0]

    def u32(self, offset: int) -> int:
        """Read a little-endian 32-bit unsigned integer."""
        return self.unpack(_U32, offset)[0]

    def u64(self, offset: int) -> int:
        """Read a little-endian 64-bit unsigned integer."""
        return self.unpack(_U64, offset)[0]

    def cstring(self, offset: int, limit: int = 4096) -> str:
        """Read a NUL-terminated narrow string of at most ``limit`` bytes (UTF-8, bad bytes replaced)."""
        self.check(offset, 0)
        raw = bytes(self.view[offset : offset + limit])
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")

    def utf16(self, offset: int, characters: int) -> str:
        """Read ``characters`` UTF-16LE code units, cut at the first NUL."""
        return self.bytes(offset, characters * 2).decode("utf-16-le", "replace").split("\0", 1)[0]
