"""Binary annotations: where the code of an inlined call lies, and which lines it is from.

They are a small program of compressed numbers that moves an offset, a line and a file. An entry holds until the next
one starts, unless a length closes it.

Format facts: ``CVUncompressData`` and ``BinaryAnnotationOpcode`` in ``cvinfo.h`` of Microsoft's published PDB sources;
LLVM's ``CodeViewSymbols`` readers. Two lengths behave differently in files of both compilers: ``ChangeCodeLength``
(clang) moves on to the end of the code that it closes, ``ChangeCodeLengthAndCodeOffset`` (MSVC) stays at its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kdive.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE_OFFSET = 1
_CODE_OFFSET_BASE = 2
_CHANGE_CODE_OFFSET = 3
_CODE_LENGTH = 4
_FILE = 5
_LINE = 6
_CODE_AND_LINE = 11
_LENGTH_AND_CODE = 12
_LAST = 13
_SIGNED = frozenset({_LINE, 10})


class InlineLine(NamedTuple):
    """Code of one line of an inlined function.

    Attributes:
        chunk: 0 for the procedure itself, n for its n-th block of separated code.
        start: Offset in the chunk.
        end: Offset behind the code; None if the annotations do not say.
        line: Lines below the first one of the function.
        file: Offset of the file in the table of checksums, None for that of the function.
    """

    chunk: int
    start: int
    end: int | None
    line: int
    file: int | None


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A compressed number of one, two or four bytes, and the offset behind it."""
    first = data[at]
    if first < 0x80:
        return first, at + 1
    size, mask = (2, 0x3F) if first < 0xC0 else (4, 0x1F)
    if first >= 0xE0 or at + size > len(data):
        raise FormatError("a binary annotation is cut short", offset=at)
    value = first & mask
    for byte in data[at + 1 : at + size]:
        value = value << 8 | byte
    return value, at + size


def _signed(value: int) -> int:
    return -(value >> 1) if value & 1 else value >> 1


def operations(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield ``(operation, operand, second operand or 0)``; a zero byte ends them.

    Raises:
        FormatError: A number is cut short or an operation is unknown.
    """
    at, size = 0, len(data)
    while at < size:
        operation, at = _number(data, at)
        if operation == 0:
            return
        if operation > _LAST or at >= size:
            raise FormatError(f"binary annotation {operation:#x}", offset=at)
        first, at = _number(data, at)
        second = 0
        if operation == _LENGTH_AND_CODE:
            if at >= size:
                raise FormatError("a binary annotation is cut short", offset=at)
            second, at = _number(data, at)
        elif operation == _CODE_AND_LINE:
            first, second = first & 15, _signed(first >> 4)
        elif operation in _SIGNED:
            first = _signed(first)
        yield operation, first, second


def inline_lines(data: bytes) -> list[InlineLine]:
    """Decode the annotations of an inline site into its code.

    Raises:
        FormatError: They are broken.
    """
    found: list[InlineLine] = []
    chunk = offset = line = 0
    file: int | None = None
    open_ended = False

    def start(end: int | None = None) -> None:
        nonlocal open_ended
        close(offset)
        found.append(InlineLine(chunk, offset, end, line, file))
        open_ended = end is None

    def close(end: int) -> None:
        nonlocal open_ended
        if open_ended and found[-1].chunk == chunk:
            found[-1] = found[-1]._replace(end=end)
        open_ended = False

    for operation, first, second in operations(data):
        if operation in (_CODE_OFFSET, _CHANGE_CODE_OFFSET):
            offset += first
            start()
        elif operation == _CODE_AND_LINE:
            offset += first
            line += second
            start()
        elif operation == _LENGTH_AND_CODE:
            offset += second
            start(offset + first)
        elif operation == _CODE_LENGTH:
            offset += first
            close(offset)
        elif operation == _CODE_OFFSET_BASE:
            open_ended = False
            chunk, offset = first, 0
        elif operation == _FILE:
            file = first
        elif operation == _LINE:
            line += first
    return found
