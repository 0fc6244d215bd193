"""Symbol records (CodeView ``S_*``): those that carry names and addresses, decoded fast.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewSymbols.def``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from kdive.errors import FormatError
from kdive.formats.pdb.kinds import (
    DATA,
    PROCEDURE_REFERENCES,
    PROCEDURES,
    S_CONSTANT,
    S_DATAREF,
    S_GDATA32,
    S_GPROC32,
    S_PROCREF,
    S_PUB32,
    S_THUNK32,
    S_UDT,
    SCOPES,
    THREAD_DATA,
    layout,
)
from kdive.formats.pdb.numeric import name_at, numeric

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdive.formats.pdb.msf import StreamView

PUBLIC_CODE = 1
PUBLIC_FUNCTION = 2

_HEAD = struct.Struct("<HH")
_PROCEDURE = layout(S_GPROC32)[0]
_DATA = layout(S_GDATA32)[0]
_THUNK = layout(S_THUNK32)[0]
_REFERENCE = layout(S_PROCREF)[0]
_U32 = struct.Struct("<I")


class Located(NamedTuple):
    """A symbol with an address: public, procedure, variable or thunk.

    Attributes:
        record: The kind of record (``S_*``).
        name: The name as recorded.
        section: 1-based section number.
        offset: Offset in the section.
        size: Size in bytes, 0 if not recorded.
        type_index: The type, 0 if not recorded.
        flags: The flags of a public symbol.
    """

    record: int
    name: str
    section: int
    offset: int
    size: int = 0
    type_index: int = 0
    flags: int = 0


class Reference(NamedTuple):
    """A pointer from the globals to a procedure in a module: 1-based ``module``, byte ``offset`` in its stream."""

    record: int
    name: str
    module: int
    offset: int


class Named(NamedTuple):
    """A typedef (``value`` None) or a named constant."""

    record: int
    name: str
    type_index: int
    value: int | None = None


SymbolRecord = Located | Reference | Named


def record_at(data: bytes, at: int) -> tuple[int, bytes]:
    """Return the kind and the body (behind the kind) of the record at a byte offset.

    Raises:
        FormatError: No whole record lies there.
    """
    if at < 0 or at + 4 > len(data):
        raise FormatError("a symbol record lies outside its stream", offset=at)
    length, kind = _HEAD.unpack_from(data, at)
    end = at + 2 + length
    if length < 2 or end > len(data):
        raise FormatError("a symbol record is cut short", offset=at)
    return kind, data[at + 4 : end]


class SymbolRecords:
    """The symbol record stream of a PDB: single records are read from the file until many were; then it is kept whole.

    Args:
        view: The stream.

    Attributes:
        size: Size in bytes.
    """

    def __init__(self, view: StreamView) -> None:
        self._view = view
        self._left = _READS_BEFORE_READING_ALL
        self._whole: bytes | None = None
        self.size = view.size

    def whole(self) -> bytes:
        """Return all bytes.

        Raises:
            FormatError: Blocks of the stream lie outside the file.
        """
        if self._whole is None:
            self._whole = self._view.whole(keep=True)
        return self._whole

    def at(self, offset: int) -> tuple[bytes, int]:
        """Return bytes that hold the record at an offset, if there is a whole one, and where in them it starts.

        Raises:
            FormatError: The offset lies outside the stream, or its blocks outside the file.
        """
        if self._whole is not None:
            return self._whole, offset
        if not 0 <= offset <= self.size - 4:
            raise FormatError("a symbol record lies outside its stream", offset=max(offset, 0))
        self._left -= 1
        if self._left < 0:
            return self.whole(), offset
        data = self._view.read(offset, min(_USUAL_SIZE, self.size - offset))
        length = 2 + (data[0] | data[1] << 8)
        if length > len(data):
            data = self._view.read(offset, min(length, self.size - offset))
        return data, 0

    def parse(self, offset: int) -> SymbolRecord | None:
        """Decode the record at an offset; None if it is of a kind that names nothing of interest.

        Raises:
            FormatError: The record is broken.
        """
        data, at = self.at(offset)
        if data[at + 2 : at + 4] == _PUBLIC:
            stop = data.find(b"\0", at + _NAME_START, at + 2 + (data[at] | data[at + 1] << 8))
            if stop >= 0:
                flags, place, section = _DATA.unpack_from(data, at + 4)
                return Located(
                    S_PUB32, data[at + _NAME_START : stop].decode("utf-8", "replace"), section, place, 0, 0, flags
                )
        return parse_record(data, at)

    def named(self, references: Sequence[int], name: bytes, *, types: bool = False) -> list[int]:
        """Return the offsets of those records that may have a name (a cheap look before they are decoded).

        Args:
            references: Offsets of records, plus one, as hash tables have them.
            name: The name.
            types: Whether to look at typedefs and constants too, which have their names elsewhere.

        Raises:
            FormatError: Blocks of the stream lie outside the file.
        """
        terminated = name + b"\0"
        data = self._whole
        if data is None:
            offsets = [reference - 1 for reference in references if 0 < reference <= self.size - 3]
            return [offset for offset in offsets if self._may_be(*self.at(offset), terminated, types=types)]
        # Looking for the end of the name first is the fastest way to tell most others apart.
        at_name, at_end = _NAME_START - 1, _NAME_START - 1 + len(name)
        last = name[-1] if name else 0
        try:
            ending = [
                reference
                for reference in references
                if not data[reference + at_end] and data[reference + at_end - 1] == last
            ]
        except IndexError:  # the last record of the stream, or a broken table
            ending = list(references)
        found = [reference - 1 for reference in ending if data.startswith(terminated, reference + at_name)]
        if types:
            found += [
                reference - 1
                for reference in references
                if data[reference + 1 : reference + 3] in _NAMED_ELSEWHERE
                and self._may_be(data, reference - 1, terminated, types=True)
            ]
        return found

    def _may_be(self, data: bytes, at: int, terminated: bytes, *, types: bool) -> bool:
        if types and data[at + 2 : at + 4] in _NAMED_ELSEWHERE:
            return data.find(terminated, at + _EARLIEST_NAME, at + _LATEST_NAME + len(terminated)) >= 0
        return data.startswith(terminated, at + _NAME_START)


_NAME_START = 14
"""Publics, variables and references to procedures have their names at the same place,"""
_NAMED_ELSEWHERE = frozenset(kind.to_bytes(2, "little") for kind in (S_UDT, S_CONSTANT))
"""and types and constants have theirs behind a number of varying size,"""
_EARLIEST_NAME, _LATEST_NAME = 8, 26
_PUBLIC = S_PUB32.to_bytes(2, "little")
_PROCEDURE_NAME = 39
_USUAL_SIZE = 160
_READS_BEFORE_READING_ALL = 256


def parse_record(data: bytes, at: int) -> SymbolRecord | None:
    """Decode the record at a byte offset; None if it is of a kind that names nothing of interest.

    Raises:
        FormatError: The record is broken.
    """
    kind, body = record_at(data, at)
    try:
        return _decode(kind, body)
    except struct.error:
        raise FormatError(f"symbol record {kind:#x} is cut short", offset=at) from None


def _decode(kind: int, body: bytes) -> SymbolRecord | None:
    if kind == S_PUB32:
        flags, offset, section = _DATA.unpack_from(body)
        return Located(kind, name_at(body, 10)[0], section, offset, flags=flags)
    if kind in PROCEDURES:
        head = _PROCEDURE.unpack_from(body)
        return Located(kind, name_at(body, 35)[0], head[8], head[7], head[3], head[6])
    if kind in DATA or kind in THREAD_DATA:
        type_index, offset, section = _DATA.unpack_from(body)
        return Located(kind, name_at(body, 10)[0], section, offset, type_index=type_index)
    if kind in PROCEDURE_REFERENCES or kind == S_DATAREF:
        _, offset, module = _REFERENCE.unpack_from(body)
        return Reference(kind, name_at(body, 10)[0], module, offset)
    if kind == S_UDT:
        return Named(kind, name_at(body, 4)[0], _U32.unpack_from(body)[0])
    if kind == S_CONSTANT:
        value, end = numeric(body, 4)
        return Named(kind, name_at(body, end)[0], _U32.unpack_from(body)[0], value)
    if kind == S_THUNK32:
        _, _, _, offset, section, size, _ = _THUNK.unpack_from(body)
        return Located(kind, name_at(body, 21)[0], section, offset, size)
    return None


def scan_module(data: bytes, end: int) -> Iterator[Located]:
    """Yield the procedures and thunks at the outermost level of a module's records.

    Procedures name the record that ends their scope, so that their insides are skipped without being looked at.

    Args:
        data: The module stream.
        end: Where its records end.
    """
    end = min(end, len(data))
    at = 4  # behind the signature
    while at + 4 <= end:
        length, kind = _HEAD.unpack_from(data, at)
        following = at + 2 + length
        if length < 2 or following > end:
            return
        if kind in SCOPES and length >= 10:
            scope_end: int = _U32.unpack_from(data, at + 8)[0]
            if following <= scope_end <= end:
                following = scope_end
        if kind in PROCEDURES:
            stop = data.find(b"\0", at + _PROCEDURE_NAME, following)
            if length > _PROCEDURE_NAME and stop >= 0:
                head = _PROCEDURE.unpack_from(data, at + 4)
                name = data[at + _PROCEDURE_NAME : stop].decode("utf-8", "replace")
                yield Located(kind, name, head[8], head[7], head[3], head[6])
        elif kind == S_THUNK32:
            try:
                symbol = parse_record(data, at)
            except FormatError:
                symbol = None
            if isinstance(symbol, Located):
                yield symbol
        at = following
