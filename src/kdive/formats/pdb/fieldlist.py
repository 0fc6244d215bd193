"""The entries of a field list: members, bases, enumerators, methods, nested types.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewTypes.def``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.leaves import introduces_virtual
from kdive.formats.pdb.numeric import name_at, numeric
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable


class Member(Record, frozen=True):
    """A data member: ``offset`` in bytes."""

    name: str
    type_index: int
    offset: int


class StaticMember(Record, frozen=True):
    """A static data member."""

    name: str
    type_index: int


class BaseClass(Record, frozen=True):
    """A base class at ``offset`` bytes; for a virtual one that of the vbtable pointer, and its ``slot`` there."""

    type_index: int
    offset: int
    virtual: bool = False
    slot: int = 0


class VtablePointer(Record, frozen=True):
    """The pointer to the virtual function table."""

    type_index: int
    offset: int = 0


class Enumerate(Record, frozen=True):
    """A constant of an enumeration."""

    name: str
    value: int


class NestedType(Record, frozen=True):
    """A type declared inside another."""

    name: str
    type_index: int


class Method(Record, frozen=True):
    """A member function; ``overloads`` is not 1 if ``type_index`` is that of a method list."""

    name: str
    type_index: int
    overloads: int = 1
    vtable_offset: int | None = None


class Continuation(Record, frozen=True):
    """The field list goes on in another record."""

    type_index: int


ListEntry = Member | StaticMember | BaseClass | VtablePointer | Enumerate | NestedType | Method | Continuation

_U32 = struct.Struct("<I")
_HI = struct.Struct("<HI")
_HII = struct.Struct("<HII")


def _member(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    _, type_index = _HI.unpack_from(body, at)
    offset, at = numeric(body, at + 6)
    name, at = name_at(body, at, pascal)
    return Member(name, type_index, max(offset, 0)), at


def _static_member(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    _, type_index = _HI.unpack_from(body, at)
    name, at = name_at(body, at + 6, pascal)
    return StaticMember(name, type_index), at


def _base_class(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    _, type_index = _HI.unpack_from(body, at)
    offset, at = numeric(body, at + 6)
    return BaseClass(type_index, max(offset, 0)), at


def _virtual_base(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    _, type_index, _ = _HII.unpack_from(body, at)
    pointer, at = numeric(body, at + 10)
    slot, at = numeric(body, at)
    return BaseClass(type_index, max(pointer, 0), True, slot), at


def _enumerate(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    value, at = numeric(body, at + 2)
    name, at = name_at(body, at, pascal)
    return Enumerate(name, value), at


def _vtable(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    return VtablePointer(_HI.unpack_from(body, at)[1]), at + 6


def _vtable_offset(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    _, type_index, offset = _HII.unpack_from(body, at)
    return VtablePointer(type_index, offset), at + 10


def _nested(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    _, type_index = _HI.unpack_from(body, at)
    name, at = name_at(body, at + 6, pascal)
    return NestedType(name, type_index), at


def _methods(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    count, type_index = _HI.unpack_from(body, at)
    name, at = name_at(body, at + 6, pascal)
    return Method(name, type_index, count), at


def _one_method(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    attributes, type_index = _HI.unpack_from(body, at)
    at += 6
    offset: int | None = None
    if introduces_virtual(attributes):
        offset = _U32.unpack_from(body, at)[0]
        at += 4
    name, at = name_at(body, at, pascal)
    return Method(name, type_index, 1, offset), at


def _friend_class(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    return NestedType("", _HI.unpack_from(body, at)[1]), at + 6


def _continuation(body: bytes, at: int, pascal: bool) -> tuple[ListEntry, int]:
    del pascal
    return Continuation(_HI.unpack_from(body, at)[1]), at + 6


_ENTRIES: dict[int, tuple[Callable[[bytes, int, bool], tuple[ListEntry, int]], bool]] = {
    0x0403: (_enumerate, True),
    0x1400: (_base_class, False),
    0x1401: (_virtual_base, False),
    0x1402: (_virtual_base, False),
    0x1404: (_continuation, False),
    0x1405: (_member, True),
    0x1406: (_static_member, True),
    0x1407: (_methods, True),
    0x1408: (_nested, True),
    0x1409: (_vtable, False),
    0x140A: (_friend_class, False),
    0x140B: (_one_method, True),
    0x140C: (_vtable_offset, False),
    0x140D: (_nested, True),
    0x1502: (_enumerate, False),
    0x150C: (_nested, False),  # LF_FRIENDFCN has the shape of a nested type
    0x150D: (_member, False),
    0x150E: (_static_member, False),
    0x150F: (_methods, False),
    0x1510: (_nested, False),
    0x1511: (_one_method, False),
    0x1512: (_nested, False),
    0x1513: (_nested, False),
    0x151A: (_base_class, False),
}
_PADDING = 0xF0


def parse_field_list(body: bytes) -> list[ListEntry]:
    """Decode the entries of one ``LF_FIELDLIST`` record (a continuation is an entry too).

    Raises:
        FormatError: An entry is cut short or of an unknown kind.
    """
    entries: list[ListEntry] = []
    at, end = 0, len(body)
    try:
        while at < end:
            pad = body[at]
            if pad >= _PADDING:
                at += pad & 15 or 1
                continue
            if at + 2 > end:
                break
            leaf = pad | body[at + 1] << 8
            known = _ENTRIES.get(leaf)
            if known is None:
                raise FormatError(f"field list entry of kind {leaf:#x}", offset=at)
            entry, at = known[0](body, at + 2, known[1])
            entries.append(entry)
    except struct.error:
        raise FormatError("a field list is cut short", offset=at) from None
    return entries
