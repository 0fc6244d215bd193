"""Type records (CodeView ``LF_*``) decoded one at a time.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewTypes.def``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal

from kdive.errors import FormatError
from kdive.formats.pdb.numeric import name_at, numeric
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

LF_VTSHAPE = 0x000A
LF_MODIFIER = 0x1001
LF_POINTER = 0x1002
LF_PROCEDURE = 0x1008
LF_MFUNCTION = 0x1009
LF_ARGLIST = 0x1201
LF_FIELDLIST = 0x1203
LF_BITFIELD = 0x1205

_PROPERTY_FORWARD = 0x0080
_PROPERTY_SCOPED = 0x0100
_PROPERTY_UNIQUE_NAME = 0x0200

UdtName = Literal["struct", "class", "union", "enum"]

# Kinds of user-defined types: leaf -> (keyword, layout, length-prefixed names).
_UDTS: dict[int, tuple[UdtName, Literal["class", "class2", "union", "union2", "enum"], bool]] = {
    0x1004: ("class", "class", True),
    0x1005: ("struct", "class", True),
    0x1006: ("union", "union", True),
    0x1007: ("enum", "enum", True),
    0x1504: ("class", "class", False),
    0x1505: ("struct", "class", False),
    0x1506: ("union", "union", False),
    0x1507: ("enum", "enum", False),
    0x1519: ("class", "class", False),  # LF_INTERFACE
    0x1608: ("class", "class2", False),
    0x1609: ("struct", "class2", False),
    0x160A: ("union", "union2", False),
    0x160B: ("class", "class2", False),  # LF_INTERFACE2
}
UDT_LEAVES = frozenset(_UDTS)
ARRAY_LEAVES = frozenset({0x1003, 0x1503, 0x151B})  # LF_ARRAY_ST, LF_ARRAY, LF_VECTOR
_VECTOR = 0x151B
_ALIAS_LEAVES = {0x100A: True, 0x150A: False}
ALIAS_LEAVES = frozenset(_ALIAS_LEAVES)


class Udt(Record, frozen=True):
    """A structure, class, union or enumeration.

    Attributes:
        kind: The C keyword.
        name: The name as the source has it.
        unique_name: The decorated name, empty if the compiler recorded none.
        size: Size in bytes (0 for enumerations, whose size is that of ``base``).
        fields: Type index of the field list, 0 if there is none.
        base: Underlying type of an enumeration.
        forward: Whether this only announces a type defined elsewhere.
        scoped: Whether it is local to a function.
    """

    kind: UdtName
    name: str
    unique_name: str
    size: int
    fields: int
    base: int
    forward: bool
    scoped: bool


class Pointer(Record, frozen=True):
    """A pointer or a reference of ``size`` bytes."""

    target: int
    size: int
    mode: int


class Array(Record, frozen=True):
    """An array: ``size`` bytes of ``element`` (or ``elements`` of them, for vectors, where size is 0)."""

    element: int
    size: int
    elements: int = 0


class Bitfield(Record, frozen=True):
    """``length`` bits from bit ``position`` of ``base``."""

    base: int
    position: int
    length: int


class Modifier(Record, frozen=True):
    """``const``, ``volatile`` (or another name for) ``target``."""

    target: int
    flags: int = 0


class Procedure(Record, frozen=True):
    """A function signature; ``arguments`` is the type index of the argument list, ``owner`` the class or 0."""

    result: int
    arguments: int
    owner: int = 0


class ArgumentList(Record, frozen=True):
    """The parameters of a signature."""

    types: tuple[int, ...]


class Opaque(Record, frozen=True):
    """A type that is there but has no layout to speak of (a vtable shape, a label)."""

    leaf: int


Leaf = Udt | Pointer | Array | Bitfield | Modifier | Procedure | ArgumentList | Opaque

_POINTER_SIZES = {0: 2, 1: 4, 2: 4, 0x0A: 4, 0x0B: 6, 0x0C: 8}
_CLASS = struct.Struct("<HHIII")
_CLASS2 = struct.Struct("<IIII")
_UNION = struct.Struct("<HHI")
_UNION2 = struct.Struct("<II")
_ENUM = struct.Struct("<HHII")
_II = struct.Struct("<II")
_IH = struct.Struct("<IH")
_IBB = struct.Struct("<IBB")
_PROCEDURE = struct.Struct("<IBBHI")
_METHOD = struct.Struct("<IIIBBHII")
_U32 = struct.Struct("<I")


def parse_leaf(leaf: int, body: bytes) -> Leaf:
    """Decode a type record other than a field list.

    Args:
        leaf: The kind of record.
        body: What follows the kind.

    Raises:
        FormatError: The record is cut short or inconsistent.
    """
    try:
        return _parse(leaf, body)
    except struct.error:
        raise FormatError(f"type record {leaf:#x} is cut short") from None


def _parse(leaf: int, body: bytes) -> Leaf:
    if leaf in _UDTS:
        return _udt(leaf, body)
    if leaf == LF_POINTER:
        target, attributes = _II.unpack_from(body)
        size = attributes >> 13 & 0x3F or _POINTER_SIZES.get(attributes & 0x1F, 8)
        return Pointer(target, size, attributes >> 5 & 7)
    if leaf in ARRAY_LEAVES:
        if leaf == _VECTOR:
            element, count = _II.unpack_from(body)
            size, _ = numeric(body, 8)
            return Array(element, size, count)
        element, _ = _II.unpack_from(body)
        size, _ = numeric(body, 8)
        return Array(element, max(size, 0))
    if leaf == LF_BITFIELD:
        base, length, position = _IBB.unpack_from(body)
        return Bitfield(base, position, length)
    if leaf == LF_MODIFIER:
        target, flags = _IH.unpack_from(body)
        return Modifier(target, flags)
    if leaf in _ALIAS_LEAVES:
        return Modifier(_U32.unpack_from(body)[0])
    if leaf == LF_PROCEDURE:
        result, _, _, _, arguments = _PROCEDURE.unpack_from(body)
        return Procedure(result, arguments)
    if leaf == LF_MFUNCTION:
        head = _METHOD.unpack_from(body)
        return Procedure(head[0], head[6], head[1])
    if leaf == LF_ARGLIST:
        count = _U32.unpack_from(body)[0]
        if 4 + 4 * count > len(body):
            raise FormatError("an argument list is cut short")
        return ArgumentList(struct.unpack_from(f"<{count}I", body, 4))
    return Opaque(leaf)


def _udt(leaf: int, body: bytes) -> Udt:
    kind, layout, pascal = _UDTS[leaf]
    base = 0
    if layout == "class":
        _, properties, fields, _, _ = _CLASS.unpack_from(body)
        size, at = numeric(body, 16)
    elif layout == "class2":
        # Not in the published header: wider properties, and the member count is a numeric leaf before the size.
        properties, fields, _, _ = _CLASS2.unpack_from(body)
        _, at = numeric(body, 16)
        size, at = numeric(body, at)
    elif layout == "union":
        _, properties, fields = _UNION.unpack_from(body)
        size, at = numeric(body, 8)
    elif layout == "union2":
        properties, fields = _UNION2.unpack_from(body)
        _, at = numeric(body, 8)
        size, at = numeric(body, at)
    else:
        _, properties, base, fields = _ENUM.unpack_from(body)
        size, at = 0, 12
    name, at = name_at(body, at, pascal)
    unique = ""
    if properties & _PROPERTY_UNIQUE_NAME and at < len(body):
        unique, _ = name_at(body, at, pascal)
    return Udt(
        kind,
        name,
        unique,
        max(size, 0),
        fields,
        base,
        bool(properties & _PROPERTY_FORWARD),
        bool(properties & _PROPERTY_SCOPED),
    )


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
    """A base class at ``offset`` bytes; for virtual bases the offset of the vbtable pointer."""

    type_index: int
    offset: int
    virtual: bool = False


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
    """A member function; ``overloads`` is more than 1 if ``type_index`` is that of a method list."""

    name: str
    type_index: int
    overloads: int = 1


class Continuation(Record, frozen=True):
    """The field list goes on in another record."""

    type_index: int


ListEntry = Member | StaticMember | BaseClass | VtablePointer | Enumerate | NestedType | Method | Continuation

_HI = struct.Struct("<HI")
_HHI = struct.Struct("<HHI")
_HII = struct.Struct("<HII")
_INTRODUCES_VIRTUAL = frozenset({4, 6})


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
    _, at = numeric(body, at)
    return BaseClass(type_index, max(pointer, 0), True), at


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
    at += 10 if attributes >> 2 & 7 in _INTRODUCES_VIRTUAL else 6
    name, at = name_at(body, at, pascal)
    return Method(name, type_index), at


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
