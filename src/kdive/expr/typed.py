"""Typed reads over memory, casts, and the built-in type names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend
from kdive.errors import ExpressionError
from kdive.expr.values import Value
from kdive.symbols.types import (
    VOID,
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

if TYPE_CHECKING:
    from kdive.expr.scope import EvaluationScope
    from kdive.memory.interface import Memory

CHAR = PrimitiveType("char", 1, "char")
UCHAR = PrimitiveType("unsigned char", 1, "uint")
SHORT = PrimitiveType("short", 2, "int")
USHORT = PrimitiveType("unsigned short", 2, "uint")
INT = PrimitiveType("int", 4, "int")
UINT = PrimitiveType("unsigned int", 4, "uint")
LONG = PrimitiveType("long", 4, "int")
ULONG = PrimitiveType("unsigned long", 4, "uint")
INT64 = PrimitiveType("int64", 8, "int")
UINT64 = PrimitiveType("unsigned int64", 8, "uint")
WCHAR = PrimitiveType("wchar_t", 2, "wchar")
BOOL = PrimitiveType("bool", 1, "bool")
FLOAT = PrimitiveType("float", 4, "float")
DOUBLE = PrimitiveType("double", 8, "float")

PRIMITIVE_WORDS = frozenset(
    (
        *("void", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "bool", "wchar_t"),
        *("__int8", "__int16", "__int32", "__int64"),
    )
)
"""Words of which C spells its basic types; they may follow one another (``unsigned long int``)."""

_SINGLE_WORDS: dict[str, Type] = {
    "void": VOID,
    "char": CHAR,
    "bool": BOOL,
    "wchar_t": WCHAR,
    "float": FLOAT,
    "double": DOUBLE,
    "byte": UCHAR,
    "word": USHORT,
    "dword": ULONG,
    "qword": UINT64,
    "u8": UCHAR,
    "u16": USHORT,
    "u32": ULONG,
    "u64": UINT64,
    "i8": CHAR,
    "i16": SHORT,
    "i32": LONG,
    "i64": INT64,
    "UCHAR": UCHAR,
    "BYTE": UCHAR,
    "BOOLEAN": UCHAR,
    "CHAR": CHAR,
    "SHORT": SHORT,
    "USHORT": USHORT,
    "WORD": USHORT,
    "WCHAR": WCHAR,
    "INT": INT,
    "UINT": UINT,
    "BOOL": INT,
    "LONG": LONG,
    "ULONG": ULONG,
    "DWORD": ULONG,
    "NTSTATUS": LONG,
    "LONGLONG": INT64,
    "LONG64": INT64,
    "ULONGLONG": UINT64,
    "ULONG64": UINT64,
    "DWORD64": UINT64,
    "int8_t": CHAR,
    "int16_t": SHORT,
    "int32_t": INT,
    "int64_t": INT64,
    "uint8_t": UCHAR,
    "uint16_t": USHORT,
    "uint32_t": UINT,
    "uint64_t": UINT64,
}

_POINTER_SIZED = {
    "ULONG_PTR": False,
    "UINT_PTR": False,
    "DWORD_PTR": False,
    "SIZE_T": False,
    "size_t": False,
    "uintptr_t": False,
    "LONG_PTR": True,
    "INT_PTR": True,
    "ssize_t": True,
    "intptr_t": True,
    "ptrdiff_t": True,
}


def _spelled(words: list[str]) -> Type | None:
    """Return the C type that a run of basic-type words spells, as Windows compilers size it (``long`` is 4 bytes)."""
    unsigned = "unsigned" in words
    rest = [word for word in words if word not in ("unsigned", "signed", "int")]
    table: dict[tuple[str, ...], tuple[PrimitiveType, PrimitiveType]] = {
        (): (INT, UINT),
        ("char",): (CHAR, UCHAR),
        ("__int8",): (CHAR, UCHAR),
        ("short",): (SHORT, USHORT),
        ("__int16",): (SHORT, USHORT),
        ("__int32",): (INT, UINT),
        ("long",): (LONG, ULONG),
        ("long", "long"): (INT64, UINT64),
        ("__int64",): (INT64, UINT64),
        ("long", "double"): (DOUBLE, DOUBLE),
    }
    pair = table.get(tuple(rest))
    return None if pair is None else pair[unsigned]


def builtin_type(name: str, pointer_size: int = 8) -> Type | None:
    """Return a type that needs no symbols: C basic types, the usual Windows and MASM names; None if it is no such name.

    Args:
        name: The spelling, words separated by single spaces.
        pointer_size: Size in bytes of ``ULONG_PTR`` and its kin.
    """
    if (known := _SINGLE_WORDS.get(name)) is not None:
        return known
    if name in _POINTER_SIZED:
        if pointer_size == 4:
            return LONG if _POINTER_SIZED[name] else ULONG
        return INT64 if _POINTER_SIZED[name] else UINT64
    words = name.split()
    return _spelled(words) if words and all(word in PRIMITIVE_WORDS for word in words) else None


def lookup_type(name: str, scope: EvaluationScope) -> Type | None:
    """Return a built-in type or one that the symbols know, or None."""
    return builtin_type(name, scope.pointer_size) or scope.find_type(name)


def describe(type_: Type | None) -> str:
    """Write a type for a message: ``nt!_EPROCESS*``, ``unsigned long``, ``char[16]``."""
    suffix = ""
    while True:
        match type_:
            case PointerType():
                type_, suffix = type_.target, "*" + suffix
            case ArrayType():
                type_, suffix = type_.element, f"[{type_.count}]{suffix}"
            case BitfieldType():
                type_, suffix = type_.base, f":{type_.length}{suffix}"
            case FunctionType():
                return f"function{suffix}"
            case None:
                return f"untyped{suffix}"
            case _:
                return f"{type_.name}{suffix}"


def is_aggregate(type_: Type) -> bool:
    """Whether values of this (resolved) type are places rather than numbers."""
    return isinstance(type_, StructType | ArrayType | FunctionType)


def is_signed(type_: Type | None) -> bool:
    """Whether a scalar of this (resolved) type is read as two's complement."""
    match type_:
        case PrimitiveType():
            return type_.signed
        case EnumType() | BitfieldType():
            return is_signed(resolved(type_.base))
        case _:
            return False


def fit(number: int, type_: Type) -> int:
    """Reduce a number to what a scalar type can hold: cut to its size and extend its sign."""
    if isinstance(type_, PrimitiveType) and type_.kind == "bool":
        return int(number != 0)
    bits = type_.length if isinstance(type_, BitfieldType) else type_.size * 8
    if not 0 < bits <= 64:
        return number & MASK64
    if is_signed(type_):
        return sign_extend(number, bits) & MASK64
    return number & ((1 << bits) - 1)


def load(memory: Memory, address: int, type_: Type) -> Value:
    """Read a scalar of the given type; for a structure, array or function return the place without reading.

    Args:
        memory: Where to read.
        address: First byte of the value (of the storage unit for a bit field).
        type_: What lies there.

    Raises:
        MemoryAccessError: The bytes cannot be read.
        SymbolNotFoundError: The type has no layout.
        ExpressionError: The type is no scalar of at most 64 bits (``void``, a 128-bit number).
    """
    address &= MASK64
    layout = resolved(type_)
    if is_aggregate(layout):
        return Value(address, layout, address)
    size = layout.size
    if not 0 < size <= 8:
        raise ExpressionError(f"a value of type {describe(layout)} cannot be read as a number ({size} bytes)")
    raw = int.from_bytes(memory.read(address, size), "little")
    if isinstance(layout, BitfieldType):
        raw >>= layout.position
    elif isinstance(layout, PrimitiveType) and layout.kind == "bool":
        return Value(raw, layout, address)
    return Value(fit(raw, layout), layout, address)


def cast(value: Value, type_: Type) -> Value:
    """Read a value as another type: cut it to size, extend its sign, or take it as the address of a structure.

    Raises:
        SymbolNotFoundError: The type has no layout.
        ExpressionError: Nothing can be cast to the type.
    """
    layout = resolved(type_)
    if is_aggregate(layout):
        return Value(value.number, layout, value.number)
    if layout.size == 0:
        raise ExpressionError(f"cannot cast to {describe(layout)}")
    if isinstance(layout, PrimitiveType) and layout.kind == "float":
        raise ExpressionError("floating point casts are not supported")
    return Value(fit(value.number, layout), layout)


def size_of(type_: Type) -> int:
    """Return the size of a type in bytes.

    Raises:
        SymbolNotFoundError: It is only declared, not laid out.
    """
    return resolved(type_).size


def field_place(layout: Type, path: list[str | int]) -> tuple[int, Type]:
    """Walk a member path and return the byte offset and type at its end.

    Args:
        layout: The structure to start in.
        path: Member names and array indexes, in order.

    Raises:
        SymbolNotFoundError: A type on the way has no layout.
        ExpressionError: There is no such member.
    """
    offset = 0
    here = layout
    for step in path:
        here = resolved(here)
        if isinstance(step, int):
            if not isinstance(here, ArrayType):
                raise ExpressionError(f"{describe(here)} is no array")
            offset += step * size_of(here.element)
            here = here.element
            continue
        member = here.field(step) if isinstance(here, StructType) else None
        if member is None:
            raise ExpressionError(f"{describe(here)} has no member '{step}'", hint=_similar(here, step))
        offset += member.offset
        here = member.type
    return offset, here


def _similar(layout: Type, name: str) -> str | None:
    if not isinstance(layout, StructType):
        return None
    import difflib

    by_folded = {member.name.casefold(): member.name for member in layout.fields}
    close = difflib.get_close_matches(name.casefold(), list(by_folded), n=3)
    return f"did you mean {' or '.join(by_folded[match] for match in close)}?" if close else None
