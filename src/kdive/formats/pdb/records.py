"""Symbol records (CodeView ``S_*``).

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewSymbols.def``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from kdive.errors import FormatError
from kdive.formats.pdb.numeric import name_at, numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

S_THUNK32 = 0x1102
S_BLOCK32 = 0x1103
S_CONSTANT = 0x1107
S_UDT = 0x1108
S_LDATA32 = 0x110C
S_GDATA32 = 0x110D
S_PUB32 = 0x110E
S_LPROC32 = 0x110F
S_GPROC32 = 0x1110
S_LTHREAD32 = 0x1112
S_GTHREAD32 = 0x1113
S_LMANDATA = 0x111C
S_GMANDATA = 0x111D
S_PROCREF = 0x1125
S_DATAREF = 0x1126
S_LPROCREF = 0x1127
S_SEPCODE = 0x1132
S_LPROC32_ID = 0x1146
S_GPROC32_ID = 0x1147
S_LPROC32_DPC = 0x1155
S_LPROC32_DPC_ID = 0x1156

PROCEDURES = frozenset({S_LPROC32, S_GPROC32, S_LPROC32_ID, S_GPROC32_ID, S_LPROC32_DPC, S_LPROC32_DPC_ID})
PROCEDURES_BY_ID = frozenset({S_LPROC32_ID, S_GPROC32_ID, S_LPROC32_DPC_ID})
"""Procedures whose type index is an item of the IPI stream."""
DATA = frozenset({S_LDATA32, S_GDATA32, S_LMANDATA, S_GMANDATA})
THREAD_DATA = frozenset({S_LTHREAD32, S_GTHREAD32})
PROCEDURE_REFERENCES = frozenset({S_PROCREF, S_LPROCREF})
_SCOPES = PROCEDURES | {S_THUNK32, S_BLOCK32, S_SEPCODE}

PUBLIC_CODE = 1
PUBLIC_FUNCTION = 2

_HEAD = struct.Struct("<HH")
_PROCEDURE = struct.Struct("<IIIIIIIIHB")
_DATA = struct.Struct("<IIH")
_THUNK = struct.Struct("<IIIIHHB")
_REFERENCE = struct.Struct("<IIH")
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
NameKind = Literal["public", "data", "procedure"]


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


_NAME_KINDS: dict[int, NameKind] = {S_PUB32: "public", S_PROCREF: "procedure", S_LPROCREF: "procedure"}
_NAME_KINDS.update(dict.fromkeys(DATA, "data"))
_NAME_START = 14
"""The records above all have their name at the same place."""


def scan_names(data: bytes) -> Iterator[tuple[bytes, NameKind, int]]:
    """Yield ``(name, kind, offset)`` of every record of a symbol record stream that has an address.

    Stops without complaint at the first broken record length: what was before it is still good.
    """
    unpack, size, kinds, find = _HEAD.unpack_from, len(data), _NAME_KINDS, data.find
    at = 0
    while at + 4 <= size:
        length, kind = unpack(data, at)
        end = at + 2 + length
        if length < 2 or end > size:
            return
        known = kinds.get(kind)
        if known is not None:
            stop = find(b"\0", at + _NAME_START, end)
            if stop > 0:
                yield data[at + _NAME_START : stop], known, at
        at = end


def scan_kind(data: bytes, wanted: int) -> Iterator[int]:
    """Yield the offsets of the records of one kind in a symbol record stream."""
    unpack, size = _HEAD.unpack_from, len(data)
    at = 0
    while at + 4 <= size:
        length, kind = unpack(data, at)
        if kind == wanted:
            yield at
        at += 2 + length
        if length < 2:
            return


def scan_module(data: bytes, end: int) -> Iterator[Located]:
    """Yield the procedures, thunks and variables at the outermost level of a module's records.

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
        if kind in _SCOPES and length >= 10:
            scope_end: int = _U32.unpack_from(data, at + 8)[0]
            if following <= scope_end <= end:
                following = scope_end
        if kind in PROCEDURES or kind == S_THUNK32 or kind in DATA:
            try:
                symbol = parse_record(data, at)
            except FormatError:
                symbol = None
            if isinstance(symbol, Located):
                yield symbol
        at = following
