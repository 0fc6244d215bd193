"""``dt``: layouts of types, and structures in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.addr import format_address, sign_extend
from kdive.commands.results.types import EnumLayout, FieldRow, StructList, TypeLayout, TypeNames
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError, SymbolNotFoundError
from kdive.record import Record, field
from kdive.symbols.interface import wildcard
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
from kdive.symbols.views import decode_scalar, find_member

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_MAX_TYPES = 4096
_MAX_LINKS = 4096
_MAX_DEPTH = 9
_SHOWN_ELEMENTS = 2
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


class _Options(Record):
    depth: int = 0
    array: int = 0
    verbose: bool = False
    prefix: bool = False
    list_field: str = ""
    sizes: bool = False
    fields: list[str] = field(default_factory=list[str])


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
            return type_.name, None
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


def _rows(
    context: CommandContext, layout: StructType, data: bytes | None, mask: bytes | None, options: _Options, depth: int
) -> list[FieldRow]:
    rows: list[FieldRow] = []
    for member in layout.fields:
        context.cancel.check()
        if depth == 0 and options.fields and not _wanted(member.name, options):
            continue
        value, number = "", None
        inner: bytes | None = None
        size = member.type.size
        if data is not None:
            inner = data[member.offset : member.offset + size]
            present = mask is None or all(mask[member.offset : member.offset + size])
            value, number = value_text(context, member.type, inner) if present else ("??", None)
        nested: list[FieldRow] = []
        if depth < options.depth and isinstance(member.type, TypeReference) and member.type.kind != "enum":
            inner_layout = resolved(member.type)
            if isinstance(inner_layout, StructType):
                inner_mask = None if mask is None else mask[member.offset : member.offset + size]
                nested = _rows(context, inner_layout, inner, inner_mask, options, depth + 1)
        rows.append(FieldRow(member.name, member.offset, type_text(member.type), value, number, nested))
    return rows


def _wanted(name: str, options: _Options) -> bool:
    for pattern in options.fields:
        if any(char in pattern for char in "*?["):
            if wildcard(pattern).fullmatch(name):
                return True
        elif options.prefix or pattern.endswith("."):
            if name.lower().startswith(pattern.rstrip(".").lower()):
                return True
        elif name.lower() == pattern.lower():
            return True
    return False


def show_struct(
    context: CommandContext, layout: StructType, address: int | None, options: _Options | None = None, name: str = ""
) -> TypeLayout:
    """Describe a structure, at an address or bare."""
    options = options or _Options()
    data, mask = None, None
    if address is not None:
        from kdive.commands.memory import sparse_bytes

        raw, present = sparse_bytes(context.session.memory, address, layout.size)
        if not any(present):
            context.session.memory.read(address, layout.size)
        data = bytes(raw)
        mask = None if all(present) else bytes(present)
    rows = _rows(context, layout, data, mask, options, 0)
    return TypeLayout(name or layout.name, layout.kind, layout.size, address, rows, options.verbose or options.sizes)


def _parse(context: CommandContext, arguments: str) -> tuple[_Options, list[str]]:
    options = _Options()
    words = context.words(arguments)
    plain: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        depth = re.fullmatch(r"-r(\d*)", word)
        array = re.fullmatch(r"-a(\d+)", word)
        if depth:
            options.depth = min(int(depth.group(1) or 3), _MAX_DEPTH)
        elif array:
            options.array = int(array.group(1))
        elif word == "-v":
            options.verbose = True
        elif word == "-s":
            options.sizes = True
        elif word == "-y":
            options.prefix = True
        elif word == "-l":
            if index >= len(words):
                raise context.usage_error("-l needs the name of the link member")
            options.list_field = words[index]
            index += 1
        elif word in ("-b", "-n", "-o", "-i", "-c", "-d", "-t", "-h", "-p"):
            options.depth = _MAX_DEPTH if word == "-b" else options.depth
        elif word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            raise context.usage_error(f"unknown switch {word!r}")
        else:
            plain.append(word)
    return options, plain


@command(
    "dt",
    syntax="[-r[n]] [-a<n>] [-v] [-y] [-l <field>] [<module>!]<type> [<field>…] [<address>]",
    group=Group.SYMBOLS,
    summary="show the layout of a type, or a structure in memory",
    details=(
        "-r follows embedded structures, -a shows array elements, -l walks a list by a link member, -y matches field "
        "names by their beginning. A wildcard in the type lists types."
    ),
    examples=("dt nt!_EPROCESS", "dt nt!_ETHREAD Tcb. @$thread", "dt -r1 nt!_LIST_ENTRY @rsp", "dt nt!_KPR*"),
)
def dt(context: CommandContext, arguments: str) -> object:
    """Show types."""
    options, words = _parse(context, arguments)
    if not words:
        raise context.usage_error("a type is needed")
    # WinDbg takes the address behind or before the type.
    name = words.pop(0)
    address: int | None = None
    if re.match(r"[0-9@$(]", name) and words:
        address = context.evaluate(name)
        name = words.pop(0)
    if any(char in name.partition("!")[2] or (char in name and "!" not in name) for char in "*?["):
        return _type_names(context, name)
    layout, full = _find(context, name)
    while words:
        rest = " ".join(words)
        if address is None and _is_address(context, layout, words[0], options):
            address = context.evaluate(rest) if len(words) > 1 and not _has_field(layout, words[-1]) else None
            if address is None:
                address = context.evaluate(words.pop(0))
                continue
            break
        options.fields.append(words.pop(0))
    if isinstance(layout, EnumType):
        return EnumLayout(full, dict(layout.values))
    if isinstance(layout, StructType):
        return _show(context, layout, full, address, options)
    text, number = type_text(layout), None
    if address is not None:
        text, number = value_text(context, layout, context.session.memory.read(address, layout.size))
    return TypeLayout(full, "scalar", layout.size, address, [FieldRow("value", 0, type_text(layout), text, number)])


def _has_field(layout: Type, word: str) -> bool:
    return isinstance(layout, StructType) and layout.field(word.rstrip(".")) is not None


def _is_address(context: CommandContext, layout: Type, word: str, options: _Options) -> bool:
    if _has_field(layout, word) or any(char in word for char in "*?[") or word.endswith("."):
        return False
    if options.prefix and re.fullmatch(r"[A-Za-z_]\w*", word) and not re.fullmatch(r"[0-9a-fA-F`]+", word):
        return False
    try:
        context.evaluate(word)
    except KdiveError:
        return False
    return True


def _find(context: CommandContext, name: str) -> tuple[Type, str]:
    found = context.session.engine.find_type(name)
    if found is None:
        from kdive.expr.typed import builtin_type

        primitive = builtin_type(name)
        if primitive is not None:
            return primitive, name
        symbol = context.scope.symbol(name)
        if symbol is not None and symbol.type is not None:
            return resolved(symbol.type), name
        module = name.partition("!")[0] if "!" in name else "nt"
        raise CommandError(
            f"no type {name!r}",
            hint=f"dt {module}!*{name.partition('!')[2] or name}* searches; lmvm {module} shows its symbols",
        )
    module, type_ = found
    layout = resolved(type_)
    label = layout.name if isinstance(layout, StructType | EnumType) else name.partition("!")[2] or name
    return layout, f"{module.name}!{label}"


def _show(
    context: CommandContext, layout: StructType, name: str, address: int | None, options: _Options
) -> TypeLayout | StructList:
    if options.list_field and address is not None:
        return _walk(context, layout, name, address, options)
    if options.array and address is not None:
        items = [
            show_struct(context, layout, address + index * layout.size, options, name)
            for index in range(min(options.array, _MAX_LINKS))
        ]
        return StructList(items)
    dotted = [pattern for pattern in options.fields if "." in pattern.rstrip(".") or pattern.endswith(".")]
    if len(options.fields) == 1 and dotted:
        # `dt nt!_ETHREAD Tcb.` shows the members of a member.
        offset, member = find_member(layout, dotted[0].rstrip("."))
        inner = resolved(member)
        if isinstance(inner, StructType):
            options.fields = []
            place = None if address is None else address + offset
            return show_struct(context, inner, place, options, f"{name}.{dotted[0].rstrip('.')}")
    result = show_struct(context, layout, address, options, name)
    if options.fields and not result.fields:
        raise CommandError(f"{name} has no field {' '.join(options.fields)}")
    return result


def _walk(context: CommandContext, layout: StructType, name: str, address: int, options: _Options) -> StructList:
    link_path = options.list_field
    offset, link_type = find_member(layout, link_path)
    if isinstance(resolved(link_type), StructType):
        link_path = f"{link_path}.Flink"
    seen: set[int] = set()
    items: list[TypeLayout] = []
    memory = context.session.memory
    back = offset if link_path.endswith(".Flink") else 0
    link_offset = find_member(layout, link_path)[0]
    note = ""
    while address and address not in seen and len(items) < _MAX_LINKS:
        context.cancel.check()
        seen.add(address)
        try:
            items.append(show_struct(context, layout, address, options, name))
            address = (memory.u64(address + link_offset) - back) & ((1 << 64) - 1)
        except KdiveError as error:
            note = f"(the list ends here: {error.what})"
            break
    return StructList(items, note)


def _type_names(context: CommandContext, pattern: str) -> TypeNames:
    module_pattern, bang, name_pattern = pattern.partition("!")
    if not bang:
        module_pattern, name_pattern = "nt", pattern
    matcher = wildcard(module_pattern)
    found: list[tuple[str, int]] = []
    for state in context.session.engine.states:
        if not matcher.fullmatch(state.module.name):
            continue
        symbols = context.session.engine.symbols_of(state)
        if symbols is None:
            continue
        for name, size in symbols.search_types(name_pattern):
            context.cancel.check()
            found.append((f"{state.module.name}!{name}", size))
            if len(found) >= _MAX_TYPES:
                return TypeNames(sorted(found), truncated=True)
    if not found:
        raise CommandError(f"no type matches {pattern!r}")
    return TypeNames(sorted(found))
