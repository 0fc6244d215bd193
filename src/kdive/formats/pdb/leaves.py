"""Type records (CodeView ``LF_*``) decoded one at a time.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewTypes.def``.
"""

from __future__ import annotations

import struct
from typing import Literal

from kdive.errors import FormatError
from kdive.formats.pdb.numeric import name_at, numeric
from kdive.record import Record

LF_VTSHAPE = 0x000A
LF_MODIFIER = 0x1001
LF_POINTER = 0x1002
LF_PROCEDURE = 0x1008
LF_MFUNCTION = 0x1009
LF_ARGLIST = 0x1201
LF_FIELDLIST = 0x1203
LF_BITFIELD = 0x1205
LF_METHODLIST = 0x1206

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
_ALIAS_LEAVES = frozenset({0x1010, 0x150A, 0x1518})  # LF_ALIAS_ST, LF_ALIAS, LF_MODIFIER_EX


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
    """A pointer or a reference of ``size`` bytes.

    Attributes:
        target: What it points to.
        size: Size in bytes.
        mode: 0 pointer, 1 reference, 2 to a data member, 3 to a member function, 4 rvalue reference.
        owner: The class of a pointer to a member, else 0.
        flags: Bit 0 flat 32-bit, bit 1 ``volatile``, bit 2 ``const``, bit 3 unaligned, bit 4 restricted.
    """

    target: int
    size: int
    mode: int
    owner: int = 0
    flags: int = 0


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
    """A function signature.

    Attributes:
        result: Type of the result.
        arguments: Type index of the argument list.
        owner: The class of a member function, else 0.
        this: Type of ``this`` (0 for static functions).
        convention: ``CV_call_t``: 0 ``cdecl``, 4 ``fastcall``, 7 ``stdcall``, 11 ``thiscall``, 24 ``vectorcall``.
        this_adjust: What is added to ``this`` before the body runs.
    """

    result: int
    arguments: int
    owner: int = 0
    this: int = 0
    convention: int = 0
    this_adjust: int = 0


class ArgumentList(Record, frozen=True):
    """The parameters of a signature."""

    types: tuple[int, ...]


class Overload(Record, frozen=True):
    """One of several member functions of a name; ``vtable_offset`` is that of the virtual function it introduces."""

    type_index: int
    attributes: int
    vtable_offset: int | None = None


class MethodList(Record, frozen=True):
    """The member functions that share a name."""

    overloads: tuple[Overload, ...]


class VtableShape(Record, frozen=True):
    """The shape of a virtual function table: a code for each of its slots."""

    slots: tuple[int, ...]


class Opaque(Record, frozen=True):
    """A type that is there but has no layout to speak of (a virtual function table, a label)."""

    leaf: int


Leaf = Udt | Pointer | Array | Bitfield | Modifier | Procedure | ArgumentList | MethodList | VtableShape | Opaque

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
_METHOD = struct.Struct("<IIIBBHIi")
_OVERLOAD = struct.Struct("<HHI")
_MEMBER_MODES = frozenset({2, 3})
_INTRODUCES_VIRTUAL = frozenset({4, 6})
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
        mode = attributes >> 5 & 7
        owner = _U32.unpack_from(body, 8)[0] if mode in _MEMBER_MODES else 0
        return Pointer(target, size, mode, owner, attributes >> 8 & 0x1F)
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
        result, convention, _, _, arguments = _PROCEDURE.unpack_from(body)
        return Procedure(result, arguments, convention=convention)
    if leaf == LF_MFUNCTION:
        result, owner, this, convention, _, _, arguments, adjust = _METHOD.unpack_from(body)
        return Procedure(result, arguments, owner, this, convention, adjust)
    if leaf == LF_ARGLIST:
        count = _U32.unpack_from(body)[0]
        if 4 + 4 * count > len(body):
            raise FormatError("an argument list is cut short")
        return ArgumentList(struct.unpack_from(f"<{count}I", body, 4))
    if leaf == LF_METHODLIST:
        return _method_list(body)
    if leaf == LF_VTSHAPE:
        count = int.from_bytes(body[:2], "little")
        if 2 + (count + 1) // 2 > len(body):
            raise FormatError("the shape of a virtual function table is cut short")
        return VtableShape(tuple(body[2 + slot // 2] >> (4 if slot & 1 else 0) & 15 for slot in range(count)))
    return Opaque(leaf)


def introduces_virtual(attributes: int) -> bool:
    """Whether the attributes of a member function say that it is the first of its name that is virtual."""
    return attributes >> 2 & 7 in _INTRODUCES_VIRTUAL


def _method_list(body: bytes) -> MethodList:
    overloads: list[Overload] = []
    at = 0
    while at + _OVERLOAD.size <= len(body):
        attributes, _, type_index = _OVERLOAD.unpack_from(body, at)
        at += _OVERLOAD.size
        offset: int | None = None
        if introduces_virtual(attributes):
            offset = _U32.unpack_from(body, at)[0]
            at += 4
        overloads.append(Overload(type_index, attributes, offset))
    return MethodList(tuple(overloads))


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
