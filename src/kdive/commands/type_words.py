"""Types and their values in the words of ``dt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import format_address, sign_extend
from kdive.errors import SymbolNotFoundError
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    FunctionType,
    PointerType,
    PrimitiveType,
    StructType,
    Type,
    TypeReference,
    resolved,
)
from kdive.symbols.views import decode_scalar

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_SHOWN_ELEMENTS = 2
_MAX_STRING = 1024
_NAMES = {
    "unsigned char": "UChar",
    "char": "Char",
    "unsigned short": "Uint2B",
    "short": "Int2B",
    "unsigned long": "Uint4B",
    "unsigned int": "Uint4B",
    "long": "Int4B",
    "int": "Int4B",
    "unsigned long long": "Uint8B",
    "unsigned __int64": "Uint8B",
    "long long": "Int8B",
    "__int64": "Int8B",
    "wchar_t": "Wchar",
    "void": "Void",
    "bool": "Bool",
    "double": "Float8B",
    "float": "Float4B",
    "f32": "Float4B",
}


def type_text(type_: Type) -> str:
    """Write a type as ``dt`` does: ``Ptr64 _EPROCESS``, ``[15] UChar``, ``Pos 3, 1 Bit``."""
    if isinstance(type_, PrimitiveType):
        return _NAMES.get(type_.name, type_.name)
    if isinstance(type_, PointerType):
        target = type_.target
        if isinstance(target, FunctionType):
            return f"Ptr{type_.size * 8}     "
        return f"Ptr{type_.size * 8} {type_text(target)}"
    if isinstance(type_, ArrayType):
        return f"[{type_.count}] {type_text(type_.element)}"
    if isinstance(type_, BitfieldType):
        return f"Pos {type_.position}, {type_.length} Bit{'s' if type_.length > 1 else ''}"
    if isinstance(type_, FunctionType):
        return "function"
    if isinstance(type_, TypeReference) and type_.kind == "enum":
        return type_.name
    return type_.name


def value_text(context: CommandContext, type_: Type, data: bytes) -> tuple[str, int | None]:
    """Write the value of a member, and give its number if it has one."""
    if isinstance(type_, TypeReference):
        if type_.kind != "enum":
            return _struct_text(context, type_, data), None
        try:
            type_ = type_.resolve()
        except SymbolNotFoundError:
            return type_text(type_), None
    if len(data) < type_.size:
        return "??", None
    if isinstance(type_, PrimitiveType):
        return _primitive_text(type_, data)
    if isinstance(type_, PointerType):
        return _pointer_text(context, type_, data)
    if isinstance(type_, ArrayType):
        return _array_text(context, type_, data), None
    if isinstance(type_, BitfieldType):
        number = decode_scalar(type_, data)
        base = resolved(type_.base)
        if isinstance(base, EnumType):
            return f"{number:#x} ({base.name_of(number) or 'no name'})", number
        return f"0y{number:0{type_.length}b}" if type_.length <= 8 else f"{number:#x}", number
    if isinstance(type_, EnumType):
        number = decode_scalar(type_, data)
        return f"{number} ( {type_.name_of(number) or 'no name'} )", number
    return type_text(type_), None


def _primitive_text(type_: PrimitiveType, data: bytes) -> tuple[str, int | None]:
    if not type_.size:
        return "Void", None
    number = decode_scalar(type_, data)
    if type_.kind == "float":
        import struct

        return f"{struct.unpack('<f' if type_.size == 4 else '<d', data[: type_.size])[0]:g}", None
    if type_.size == 1:
        byte = number & 0xFF
        return (f"{byte:#x} '{chr(byte)}'" if 32 <= byte < 127 else f"{byte:#x} ''"), number
    if type_.signed:
        signed = sign_extend(number, 8 * type_.size)
        return f"0n{signed}", signed
    if type_.size == 8:
        return f"0x{format_address(number)}" if number >> 32 else f"{number:#x}", number
    return f"{number:#x}", number


def _pointer_text(context: CommandContext, type_: PointerType, data: bytes) -> tuple[str, int | None]:
    number = decode_scalar(type_, data)
    target = type_.target
    if not number:
        return "(null)", 0
    if isinstance(target, FunctionType):
        return f"0x{format_address(number)}     {context.name_of(number) or ''}".rstrip(), number
    return f"0x{format_address(number)} {type_text(target)}", number


def _array_text(context: CommandContext, type_: ArrayType, data: bytes) -> str:
    element = type_.element
    text = type_text(type_)
    if isinstance(element, PrimitiveType) and element.size == 1 and type_.count:
        raw = data[: type_.count].split(b"\0", 1)[0]
        if raw and all(32 <= byte < 127 for byte in raw):
            return f'{text} "{raw.decode("ascii")}"'
    if isinstance(element, PrimitiveType) and element.kind == "wchar":
        wide = data[: type_.count * 2].decode("utf-16-le", "replace").split("\0", 1)[0]
        if wide and wide.isprintable():
            return f'{text} "{wide}"'
    if isinstance(element, PrimitiveType | PointerType) and 0 < type_.count <= _SHOWN_ELEMENTS:
        values = [
            value_text(context, element, data[at * element.size : (at + 1) * element.size])[0]
            for at in range(type_.count)
        ]
        return f"{text} {' '.join(values)}"
    return text


def _struct_text(context: CommandContext, type_: TypeReference, data: bytes) -> str:
    """Write an embedded structure: its name, and for the commonest ones what they say."""
    if len(data) < type_.size:
        return type_.name
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, min(len(data), 16), 8)]
    if type_.name == "_LIST_ENTRY" and type_.size == 16:
        return f"_LIST_ENTRY [ 0x{format_address(words[0])} - 0x{format_address(words[1])} ]"
    if type_.name == "_LARGE_INTEGER" and type_.size == 8:
        return f"_LARGE_INTEGER {words[0]:#x}"
    if type_.name == "_UNICODE_STRING" and type_.size == 16:
        length = words[0] & 0xFFFF & ~1
        raw = context.session.memory.read_prefix(words[1], min(length, _MAX_STRING)) if words[1] else b""
        text = raw[: len(raw) & ~1].decode("utf-16-le", "replace")
        return f'_UNICODE_STRING "{text}"' if text.isprintable() else type_.name
    return type_.name


def declared_text(type_: Type) -> str:
    """Write a type as ``dt -v`` does: ``struct _KPROCESS, 85 elements, 0x438 bytes``, ``Ptr64 to struct _PEB``."""
    if isinstance(type_, PointerType):
        return f"Ptr{type_.size * 8} to {declared_text(type_.target)}"
    if isinstance(type_, ArrayType):
        return f"[{type_.count}] {declared_text(type_.element)}"
    if isinstance(type_, TypeReference):
        text = f"{type_.kind} {type_.name}"
        try:
            layout = type_.resolve()
        except SymbolNotFoundError:
            return text
        if isinstance(layout, StructType):
            return f"{text}, {len(layout.fields)} elements, {layout.size:#x} bytes"
        return f"{text},  {len(layout.values)} total enums"
    return type_text(type_)
