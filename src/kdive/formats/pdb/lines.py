"""Source lines: the C13 subsections of a module's stream.

The entries stay in the columns in which the file has them; a lookup bisects them.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``DebugLinesSubsection``,
``DebugInlineeLinesSubsection`` and ``DebugChecksumsSubsection``.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUBSECTION = struct.Struct("<II")
_LINES = 0xF2
_CHECKSUMS = 0xF4
_INLINEES = 0xF6
_IMPORTS = 0xF7
_EXPORTS = 0xF8
_IMPORTED = 0x80000000
_HEADER = struct.Struct("<IHHI")
_BLOCK = struct.Struct("<III")
_CHECKSUM = struct.Struct("<IBB")
_INLINEE = struct.Struct("<III")
_INLINEE_WITH_FILES = 1
LINE_MASK = 0xFFFFFF
_STATEMENT = 0x80000000
_MAX_NAMESAKES = 64
CHECKSUM_KINDS = {0: "", 1: "MD5", 2: "SHA-1", 3: "SHA-256"}
NOT_A_LINE = frozenset({0xFEEFEE, 0xF00F00})
"""Line numbers that tell a debugger to step over or into, rather than where the source is."""


class FileEntry(NamedTuple):
    """A source file: offset of its name in the string table, kind and bytes of its checksum."""

    name: int
    checksum_kind: str
    checksum: bytes


class Inlinee(NamedTuple):
    """An inlined function: offset of its file in the table of checksums, and its first line."""

    file: int
    line: int


class LineBlock(NamedTuple):
    """Lines of one file in one run of code.

    Attributes:
        section: 1-based section number.
        start: Offset in the section of the run that the block belongs to.
        size: Size of the run in bytes.
        file: Offset of the file in the table of checksums.
        offsets: Offsets of the entries from ``start``, ascending.
        packed: For each entry: 24 bits line, 7 bits to the last line, 1 bit statement.
    """

    section: int
    start: int
    size: int
    file: int
    offsets: memoryview
    packed: memoryview

    def lines(self) -> list[int]:
        """The line numbers of the entries."""
        return [value & LINE_MASK for value in self.packed.tolist()]


class LineSpan(NamedTuple):
    """One line's code: ``start`` and ``end`` are offsets in the section, ``file`` one in the table of checksums."""

    section: int
    start: int
    end: int
    file: int
    line: int
    last_line: int
    statement: bool


class ModuleLines:
    """The lines of one module.

    Args:
        data: The C13 part of the module's stream.

    Raises:
        FormatError: A subsection is cut short.
    """

    def __init__(self, data: bytes) -> None:
        self._buffer = Buffer(data, "line information")
        self._data = data
        self._words = memoryview(data)[: len(data) & ~3].cast("I")
        self._parts: dict[int, list[tuple[int, int]]] = {
            kind: [] for kind in (_LINES, _CHECKSUMS, _INLINEES, _IMPORTS, _EXPORTS)
        }
        at, size = 0, len(data)
        while at + _SUBSECTION.size <= size:
            kind, length = _SUBSECTION.unpack_from(data, at)
            at += _SUBSECTION.size
            if at + length > size:
                raise FormatError("a subsection of the line information is cut short", offset=at)
            if kind in self._parts:
                self._parts[kind].append((at, at + length))
            at += (length + 3) & ~3

    @cached_property
    def blocks(self) -> list[LineBlock]:
        """All lines, in the order of the file.

        Raises:
            FormatError: A block is cut short.
        """
        found: list[LineBlock] = []
        data, words = self._data, self._words
        head, block = _HEADER.unpack_from, _BLOCK.unpack_from
        for at, end in self._parts[_LINES]:
            if at + _HEADER.size > end:
                raise FormatError("a table of source lines is cut short", offset=at)
            start, section, flags, size = head(data, at)
            at += _HEADER.size
            while at + _BLOCK.size <= end:
                file, count, length = block(data, at)
                if length < _BLOCK.size or count * (12 if flags & 1 else 8) + _BLOCK.size > length or at + length > end:
                    raise FormatError("a block of source lines is cut short", offset=at)
                # Everything here is aligned to four bytes, but for lengths that a broken file claims.
                first = (at + _BLOCK.size) >> 2
                stop = first + 2 * count
                found.append(LineBlock(section, start, size, file, words[first:stop:2], words[first + 1 : stop : 2]))
                at += length
        return found

    def find(self, section: int, offset: int) -> LineSpan | None:
        """Return the line of the code at ``section:offset``, or None.

        Raises:
            FormatError: A block is cut short.
        """
        best: LineSpan | None = None
        for block in self.blocks:
            delta = offset - block.start
            if block.section != section or not 0 <= delta < block.size:
                continue
            index = bisect_right(block.offsets, delta) - 1
            while index >= 0 and block.packed[index] & LINE_MASK in NOT_A_LINE:
                index -= 1
            # The last entry at one offset counts, and of several blocks the one that starts last.
            if index >= 0 and (best is None or block.start + block.offsets[index] >= best.start):
                best = self._span(block, index)
        if best is None:
            return None
        return best._replace(end=self._next(best, section))

    def _span(self, block: LineBlock, index: int) -> LineSpan:
        packed: int = block.packed[index]
        line = packed & LINE_MASK
        end: int = block.offsets[index + 1] if index + 1 < len(block.offsets) else block.size
        return LineSpan(
            block.section,
            block.start + block.offsets[index],
            block.start + end,
            block.file,
            line,
            line + (packed >> 24 & 0x7F),
            bool(packed & _STATEMENT),
        )

    def _next(self, span: LineSpan, section: int) -> int:
        """Where the entry ends: code of one run may alternate between blocks of several files."""
        end = span.end
        for block in self.blocks:
            if block.section == section and block.start <= span.start < block.start + block.size:
                index = bisect_right(block.offsets, span.start - block.start)
                if index < len(block.offsets):
                    end = min(end, block.start + block.offsets[index])
        return end

    def spans(self, file: int, line: int) -> Iterator[LineSpan]:
        """Yield the code of one line of a file (an offset in the table of checksums).

        The code of a line ends with the block at the latest, so it is too long where code of another file follows.

        Raises:
            FormatError: A block is cut short.
        """
        for block in self.blocks:
            if block.file != file:
                continue
            for index, packed in enumerate(block.packed):
                if packed & LINE_MASK == line:
                    yield self._span(block, index)

    @cached_property
    def files(self) -> dict[int, FileEntry]:
        """The table of checksums: source files by their offset in it.

        Raises:
            FormatError: The table is cut short.
        """
        found: dict[int, FileEntry] = {}
        for start, end in self._parts[_CHECKSUMS][:1]:
            part, at = self._buffer.sub(start, end - start), 0
            while at + _CHECKSUM.size <= len(part):
                name, size, kind = part.unpack(_CHECKSUM, at)
                entry = FileEntry(name, CHECKSUM_KINDS.get(kind, f"kind {kind}"), part.bytes(at + _CHECKSUM.size, size))
                found[at] = entry
                at = (at + _CHECKSUM.size + size + 3) & ~3
        return found

    @cached_property
    def inlinees(self) -> dict[int, tuple[Inlinee, ...]]:
        """The inlined functions by their item index.

        One index can stand for several functions: lld merges the items of equal names and types, as Rust's generic
        functions have them (seen in a Rust PDB with three lines for one index).

        Raises:
            FormatError: The table is cut short.
        """
        found: dict[int, tuple[Inlinee, ...]] = {}
        for start, end in self._parts[_INLINEES]:
            part = self._buffer.sub(start, end - start)
            signature, at = part.u32(0), 4
            while at + _INLINEE.size <= len(part):
                inlinee, file, line = part.unpack(_INLINEE, at)
                at += _INLINEE.size
                if signature == _INLINEE_WITH_FILES:
                    at += 4 + 4 * part.u32(at)
                entry = Inlinee(file, line)
                known = found.get(inlinee, ())
                if len(known) < _MAX_NAMESAKES and entry not in known:
                    found[inlinee] = (*known, entry)
        return found

    def imported(self, index: int) -> tuple[int, int] | None:
        """Return where an item index of another module comes from; None for an index of the file's own.

        Returns:
            The offset of the module's name in the string table, and the item's number in that module.

        Raises:
            FormatError: The table of imports is cut short, or does not have it.
        """
        if not index & _IMPORTED:
            return None
        wanted, number = index >> 20 & 0x7FF, index & 0xFFFFF
        for start, end in self._parts[_IMPORTS]:
            part, at = self._buffer.sub(start, end - start), 0
            while at + 8 <= len(part):
                name, count = part.u32(at), part.u32(at + 4)
                if wanted == 0:
                    if number >= count:
                        break
                    return name, part.u32(at + 8 + 4 * number)
                wanted -= 1
                at += 8 + 4 * count
        raise FormatError(f"item {index:#x} is not among the imports of its module")

    @cached_property
    def exports(self) -> dict[int, int]:
        """Item indexes by the numbers under which other modules import them.

        Raises:
            FormatError: The table is cut short.
        """
        found: dict[int, int] = {}
        for start, end in self._parts[_EXPORTS]:
            part = self._buffer.sub(start, (end - start) & ~7)
            words: list[int] = part.view.cast("I").tolist()
            found.update(zip(words[0::2], words[1::2], strict=True))
        return found
