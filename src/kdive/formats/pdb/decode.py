"""Any symbol record, decoded by the table of kinds.

The records that lookups touch have a faster path in :mod:`kdive.formats.pdb.records`; this is the complete one.
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING, NamedTuple

from kdive.errors import FormatError
from kdive.formats.pdb.kinds import KINDS, layout
from kdive.formats.pdb.numeric import name_at, numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = struct.Struct("<HH")
_RANGE = struct.Struct("<IHH")
_GAP = struct.Struct("<HH")
_U32 = struct.Struct("<I")
FIRST_RECORD = 4
"""Where the records of a module's stream start: behind its signature."""


class CodeRange(NamedTuple):
    """Where a location holds: ``size`` bytes from ``section:offset``, without the gaps.

    Attributes:
        section: 1-based section number.
        offset: Offset in the section.
        size: Size in bytes.
        gaps: ``(start, size)`` of the parts that are left out, relative to ``offset``.
    """

    section: int
    offset: int
    size: int
    gaps: tuple[tuple[int, int], ...] = ()

    def covers(self, section: int, offset: int) -> bool:
        """Whether the location holds at ``section:offset``."""
        delta = offset - self.offset
        if section != self.section or not 0 <= delta < self.size:
            return False
        return not any(start <= delta < start + size for start, size in self.gaps)


class CodeViewRecord(NamedTuple):
    """A symbol record.

    Attributes:
        at: Byte offset in its stream.
        end: Offset of the next record.
        kind: ``S_*``.
        fields: The fixed fields by name.
        name: The name, if the kind has one.
        value: The value of a constant.
        range: The code range of a location.
        indexes: The item indexes of a list of callers, callees or inlinees.
        strings: The strings of an annotation or an environment block.
        rest: The bytes behind the fixed fields of kinds that end in bytes.
    """

    at: int
    end: int
    kind: int
    fields: dict[str, int]
    name: str = ""
    value: int | None = None
    range: CodeRange | None = None
    indexes: tuple[int, ...] = ()
    strings: tuple[str, ...] = ()
    rest: bytes = b""

    @property
    def kind_name(self) -> str:
        """The name of the kind."""
        known = KINDS.get(self.kind)
        return known.name if known is not None else f"S_{self.kind:#06x}"


def decode(data: bytes, at: int) -> CodeViewRecord:
    """Decode the symbol record at a byte offset. Kinds that are not declared come back with their bytes.

    Raises:
        FormatError: The record is cut short.
    """
    if at < 0 or at + 4 > len(data):
        raise FormatError("a symbol record lies outside its stream", offset=at)
    length, kind = _HEAD.unpack_from(data, at)
    end = at + 2 + length
    if length < 2 or end > len(data):
        raise FormatError("a symbol record is cut short", offset=at)
    body = data[at + 4 : end]
    known = KINDS.get(kind)
    if known is None:
        return CodeViewRecord(at, end, kind, {}, rest=body)
    fixed, names = layout(kind)
    try:
        fields = dict(zip(names, fixed.unpack_from(body), strict=True))
        return _tail(CodeViewRecord(at, end, kind, fields), known.tail, body, fixed.size)
    except struct.error:
        raise FormatError(f"symbol record {known.name} is cut short", offset=at) from None


def _tail(record: CodeViewRecord, tail: str, body: bytes, at: int) -> CodeViewRecord:
    if tail in ("name", "pascal"):
        return record._replace(name=name_at(body, at, tail == "pascal")[0])
    if tail == "number":
        value, at = numeric(body, at)
        return record._replace(value=value, name=name_at(body, at)[0])
    if tail == "range":
        offset, section, size = _RANGE.unpack_from(body, at)
        at += _RANGE.size
        whole = body[at : at + (len(body) - at) // _GAP.size * _GAP.size]
        return record._replace(range=CodeRange(section, offset, size, tuple(_GAP.iter_unpack(whole))))
    if tail == "indexes":
        (count,) = _U32.unpack_from(body, at)
        if at + 4 + 4 * count > len(body):
            raise FormatError("a list of item indexes is cut short", offset=record.at)
        return record._replace(indexes=struct.unpack_from(f"<{count}I", body, at + 4))
    if tail == "strings":
        strings = body[at:].split(b"\0")
        if record.fields.get("count") is not None:
            strings = strings[: record.fields["count"]]
        else:
            strings = strings[: strings.index(b"")] if b"" in strings else strings
        return record._replace(strings=tuple(raw.decode("utf-8", "replace") for raw in strings))
    return record._replace(rest=body[at:]) if tail == "bytes" else record


def records(data: bytes, end: int, start: int = FIRST_RECORD) -> Iterator[CodeViewRecord]:
    """Yield the records of a module's stream from ``start`` up to ``end``.

    A record whose inside is broken is left out; a broken length ends the walk.
    """
    at, end = start, min(end, len(data))
    while at + 4 <= end:
        length: int = data[at] | data[at + 1] << 8
        following = at + 2 + length
        if length < 2 or following > end:
            return
        with contextlib.suppress(FormatError):
            yield decode(data, at)
        at = following
