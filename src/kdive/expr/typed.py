"""Typed values: loading from memory, members, elements, casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend
from kdive.errors import ExpressionError, SymbolNotFoundError
from kdive.expr.values import Value
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    FunctionType,
    PointerType,
    PrimitiveType,
    StructType,
    Type,
    resolved,
)
from kdive.symbols.views import decode_scalar, find_member

if TYPE_CHECKING:
    from kdive.memory.interface import Memory

PRIMITIVES: dict[str, PrimitiveType] = {
    "void": PrimitiveType("void", 0, "void"),
    "bool": PrimitiveType("bool", 1, "bool"),
    "char": PrimitiveType("char", 1, "char"),
    "signed char": PrimitiveType("char", 1, "char"),
    "unsigned char": PrimitiveType("unsigned char", 1, "uint"),
    "wchar_t": PrimitiveType("wchar_t", 2, "wchar"),
    "short": PrimitiveType("short", 2, "int"),
    "unsigned short": PrimitiveType("unsigned short", 2, "uint"),
    "int": PrimitiveType("int", 4, "int"),
    "unsigned int": PrimitiveType("unsigned int", 4, "uint"),
    "unsigned": PrimitiveType("unsigned int", 4, "uint"),
    "long": PrimitiveType("long", 4, "int"),
    "unsigned long": PrimitiveType("unsigned long", 4, "uint"),
    "__int64": PrimitiveType("long long", 8, "int"),
    "long long": PrimitiveType("long long", 8, "int"),
    "unsigned __int64": PrimitiveType("unsigned long long", 8, "uint"),
    "unsigned long long": PrimitiveType("unsigned long long", 8, "uint"),
    "byte": PrimitiveType("unsigned char", 1, "uint"),
    "word": PrimitiveType("unsigned short", 2, "uint"),
    "dword": PrimitiveType("unsigned long", 4, "uint"),
    "qword": PrimitiveType("unsigned long long", 8, "uint"),
    "u8": PrimitiveType("unsigned char", 1, "uint"),
    "u16": PrimitiveType("unsigned short", 2, "uint"),
    "u32": PrimitiveType("unsigned long", 4, "uint"),
    "u64": PrimitiveType("unsigned long long", 8, "uint"),
    "i8": PrimitiveType("char", 1, "char"),
    "i16": PrimitiveType("short", 2, "int"),
    "i32": PrimitiveType("long", 4, "int"),
    "i64": PrimitiveType("long long", 8, "int"),
    "UCHAR": PrimitiveType("unsigned char", 1, "uint"),
    "CHAR": PrimitiveType("char", 1, "char"),
    "BOOLEAN": PrimitiveType("unsigned char", 1, "uint"),
    "USHORT": PrimitiveType("unsigned short", 2, "uint"),
    "SHORT": PrimitiveType("short", 2, "int"),
    "ULONG": PrimitiveType("unsigned long", 4, "uint"),
    "LONG": PrimitiveType("long", 4, "int"),
    "DWORD": PrimitiveType("unsigned long", 4, "uint"),
    "ULONG64": PrimitiveType("unsigned long long", 8, "uint"),
    "ULONGLONG": PrimitiveType("unsigned long long", 8, "uint"),
    "LONGLONG": PrimitiveType("long long", 8, "int"),
    "ULONG_PTR": PrimitiveType("unsigned long long", 8, "uint"),
    "SIZE_T": PrimitiveType("unsigned long long", 8, "uint"),
    "WCHAR": PrimitiveType("wchar_t", 2, "wchar"),
}
"""Type names that need no symbols: C's, and the Windows headers' most used."""


def load(memory: Memory, address: int, type_: Type) -> Value:
    """Make the value of an object in memory.

    A structure, array or function keeps its address as its number; a scalar is read.

    Raises:
        MemoryAccessError: A scalar cannot be read.
        SymbolNotFoundError: The type has no layout.
    """
    layout = resolved(type_)
    if isinstance(layout, StructType | ArrayType | FunctionType) or layout.size == 0:
        return Value(address, layout, address)
    return Value(decode_scalar(layout, memory.read(address, layout.size)), layout, address)


def member(memory: Memory, value: Value, name: str, *, arrow: bool) -> Value:
    """Follow ``value.name`` or ``value->name``; WinDbg lets ``.`` go through pointers too.

    Raises:
        ExpressionError: The value is no structure, or has no such member.
    """
    type_ = None if value.type is None else resolved(value.type)
    address = value.address
    if isinstance(type_, PointerType):
        address, type_ = value.number, resolved(type_.target)
    elif arrow:
        raise ExpressionError(f"-> needs a pointer to a structure before {name!r}")
    if not isinstance(type_, StructType) or address is None:
        raise ExpressionError(f"no structure before {name!r}", hint="cast first: ((nt!_EPROCESS *)address)->Field")
    try:
        offset, member_type = find_member(type_, name)
    except SymbolNotFoundError as error:
        raise ExpressionError(str(error)) from error
    return load(memory, (address + offset) & MASK64, member_type)


def element(memory: Memory, value: Value, index: int) -> Value:
    """Follow ``value[index]``.

    Raises:
        ExpressionError: The value is neither an array nor a pointer.
    """
    type_ = None if value.type is None else resolved(value.type)
    if isinstance(type_, ArrayType) and value.address is not None:
        inner, base = type_.element, value.address
    elif isinstance(type_, PointerType):
        inner, base = type_.target, value.number
    else:
        raise ExpressionError("[ ] needs an array or a pointer")
    return load(memory, (base + index * resolved(inner).size) & MASK64, inner)


def dereference(memory: Memory, value: Value) -> Value:
    """Follow ``*value`` of a typed pointer or array.

    Raises:
        ExpressionError: The value is not a typed pointer.
    """
    return element(memory, value, 0)


def cast(value: Value, type_: Type) -> Value:
    """Convert a value: numbers are cut or sign-extended to the type's width."""
    layout = resolved(type_)
    if isinstance(layout, StructType | ArrayType):
        return Value(value.number, layout, value.number)
    if isinstance(layout, EnumType):
        base = resolved(layout.base)
        size = base.size
        signed = isinstance(base, PrimitiveType) and base.signed
    else:
        size = layout.size
        signed = isinstance(layout, PrimitiveType) and layout.signed
    number = value.number
    if size:
        number &= (1 << (8 * size)) - 1
        if signed:
            number = sign_extend(number, 8 * size)
    return Value(number, layout)


def is_signed(type_: Type | None) -> bool:
    """Whether C arithmetic on the type is signed; an untyped literal is."""
    if type_ is None:
        return True
    layout = resolved(type_)
    if isinstance(layout, BitfieldType):
        layout = resolved(layout.base)
    if isinstance(layout, EnumType):
        layout = resolved(layout.base)
    return isinstance(layout, PrimitiveType) and (layout.signed or layout.size < 4)


def stride(type_: Type | None) -> int:
    """By how many bytes ``+ 1`` moves a value of this type in C: the pointee's size, or 0 if it is no pointer."""
    if type_ is None:
        return 0
    layout = resolved(type_)
    if isinstance(layout, PointerType):
        return max(resolved(layout.target).size, 1)
    if isinstance(layout, ArrayType):
        return max(resolved(layout.element).size, 1)
    return 0


def type_name(type_: Type) -> str:
    """Spell a type as C would."""
    if isinstance(type_, PointerType):
        return f"{type_name(type_.target)} *"
    if isinstance(type_, ArrayType):
        return f"{type_name(type_.element)} [{type_.count}]"
    if isinstance(type_, BitfieldType):
        return f"{type_name(type_.base)}:{type_.length}"
    if isinstance(type_, FunctionType):
        return "<function>"
    return type_.name
