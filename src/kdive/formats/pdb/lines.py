"""Source lines: the C13 subsections of a module's stream.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``DebugLinesSubsection``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUBSECTION = struct.Struct("<II")
_LINES = 0xF2
_CHECKSUMS = 0xF4
_IGNORE = 0x80000000
_HEADER = struct.Struct("<IHHI")
_BLOCK = struct.Struct("<III")
_LINE = struct.Struct("<II")
_LINE_MASK = 0xFFFFFF
_NOT_A_LINE = frozenset({0xFEEFEE, 0xF00F00})
"""Line numbers that tell a debugger to step over or into, rather than where the source is."""


def _subsections(buffer: Buffer, wanted: int) -> Iterator[Buffer]:
    at = 0
    while at + _SUBSECTION.size <= len(buffer):
        kind, size = buffer.unpack(_SUBSECTION, at)
        at += _SUBSECTION.size
        if kind == wanted:
            yield buffer.sub(at, size)
        at += (size + 3) & ~3


def find_line(data: bytes, section: int, offset: int) -> tuple[int, int] | None:
    """Return ``(offset of the file's name in the string table, line)`` of the code at ``section:offset``, or None.

    Args:
        data: The C13 part of a module's stream.
        section: 1-based section number.
        offset: Offset in the section.

    Raises:
        FormatError: A subsection is cut short.
    """
    buffer = Buffer(data, "line information")
    for lines in _subsections(buffer, _LINES):
        start, at_section, flags, size = lines.unpack(_HEADER, 0)
        if at_section != section or not start <= offset < start + size:
            continue
        found = _search(lines, flags, offset - start)
        if found is not None:
            file, line = found
            for checksums in _subsections(buffer, _CHECKSUMS):
                return checksums.u32(file), line
    return None


def _search(lines: Buffer, flags: int, offset: int) -> tuple[int, int] | None:
    best: tuple[int, int, int] | None = None
    at = _HEADER.size
    while at + _BLOCK.size <= len(lines):
        file, count, size = lines.unpack(_BLOCK, at)
        if size < _BLOCK.size or count * (12 if flags & 1 else 8) > size:
            raise FormatError("a block of source lines is cut short", offset=at)
        for start, packed in _LINE.iter_unpack(lines.slice(at + _BLOCK.size, count * _LINE.size)):
            line = packed & _LINE_MASK
            if start <= offset and line not in _NOT_A_LINE and (best is None or start >= best[0]):
                best = (start, file, line)
        at += size
    return None if best is None else (best[1], best[2])
