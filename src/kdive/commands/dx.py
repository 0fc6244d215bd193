"""``dx``: typed expressions and queries over the debugger's objects."""

from __future__ import annotations

import itertools
import re
import struct
from typing import TYPE_CHECKING

from kdive.addr import sign_extend
from kdive.commands.results.dx import ModelGrid, ModelNode
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.expr.query.evaluator import evaluate_query
from kdive.expr.query.model import ModelObject, Sequence, as_sequence
from kdive.expr.typed import describe, is_signed, load
from kdive.expr.values import Value
from kdive.record import Record
from kdive.session.model import SessionModel
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    FunctionType,
    PointerType,
    PrimitiveType,
    StructType,
    resolved,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.commands.context import CommandContext
    from kdive.expr.query.model import ModelValue
    from kdive.memory.interface import Memory
    from kdive.symbols.types import Type

_MAX_DEPTH = 8
_DEFAULT_COUNT = 100
_MAX_STRING = 256
_SUFFIX = re.compile(r"\s*,\s*(d|x|o|b|c|s|su|\d+|0x[0-9a-fA-F]+)\s*$")


class _Format(Record, frozen=True):
    """How values are shown: ``letter`` is a radix or a string kind, ``count`` how many elements."""

    letter: str = ""
    count: int = _DEFAULT_COUNT


class _Shower:
    """Turns values into result nodes.

    Args:
        context: The command's context.
        format_: How values are shown.
    """

    def __init__(self, context: CommandContext, format_: _Format) -> None:
        self._context = context
        self._format = format_

    @property
    def _memory(self) -> Memory:
        return self._context.session.memory

    def text(self, value: ModelValue) -> str:
        """Write a value in one line."""
        match value:
            case None:
                return ""
            case str():
                return value
            case ModelObject() | Sequence():
                return value.display
            case Value():
                return self._typed_text(value)

    def node(self, name: str, value: ModelValue, depth: int) -> ModelNode:
        """Describe a value with its parts down to a depth."""
        self._context.cancel.check()
        children: list[ModelNode] = []
        more = 0
        if depth > 0:
            parts = self._parts(value)
            for part_name, part in itertools.islice(parts, self._format.count):
                children.append(self._part(part_name, part, depth - 1))
            more = -1 if next(parts, None) is not None else 0
        type_ = "" if not isinstance(value, Value) or value.type is None else _type_text(value.type)
        number = value.number if isinstance(value, Value) and not _is_place(value) else None
        text = self._safe_text(value)
        if depth > 0 and isinstance(value, Sequence) and not children:
            text = "no elements"
        return ModelNode(name, text, type_, number, children, more)

    def _safe_text(self, value: ModelValue) -> str:
        try:
            return self.text(value)
        except KdiveError as error:
            return f"<{error.what}>"

    def _part(self, name: str, get: object, depth: int) -> ModelNode:
        """Describe one part; what cannot be read says so and leaves the others alone."""
        try:
            value = get() if callable(get) else get
            return self.node(name, value, depth)  # pyright: ignore[reportArgumentType]
        except KdiveError as error:
            return ModelNode(name, f"<{error.what}>")

    def _parts(self, value: ModelValue) -> Iterator[tuple[str, object]]:
        match value:
            case ModelObject():
                for name in value.names():
                    yield name, lambda name=name: value.get(name)
            case Sequence():
                for index, element in value.pairs():
                    yield f"[{index:#x}]", element
            case Value():
                yield from self._typed_parts(value)
            case _:
                return

    def _typed_parts(self, value: Value) -> Iterator[tuple[str, object]]:
        layout = resolved(value.type) if value.type is not None else None
        address = value.number
        if isinstance(layout, PointerType) and value.number:
            target = resolved(layout.target)
            if isinstance(target, StructType):
                layout = target
            elif target.size and not isinstance(target, FunctionType):
                yield "[0x0]", lambda: load(self._memory, address, target)
                return
        if isinstance(layout, StructType):
            for member in layout.fields:
                place = address + member.offset
                bits = ""
                if isinstance(member.type, BitfieldType):
                    last = member.type.position + member.type.length - 1
                    bits = f" ({last:2}:{member.type.position:2})"
                yield (
                    f"[+0x{member.offset:03x}{bits}] {member.name}",
                    lambda place=place, type_=member.type: load(self._memory, place, type_),
                )
            return
        sequence = as_sequence(value, self._memory)
        if sequence is not None:
            yield from self._parts(sequence)

    # --- values in words ---------------------------------------------------------------------------------------------

    def _typed_text(self, value: Value) -> str:
        layout = resolved(value.type) if value.type is not None else None
        match layout:
            case StructType() | FunctionType():
                return ""
            case ArrayType():
                return self._array_text(value.number, layout)
            case PointerType():
                return self._pointer_text(value.number, layout)
            case EnumType():
                name = layout.name_of(value.number)
                return f"{name or 'no name'} ({self._number(value.number, signed=is_signed(layout))})"
            case PrimitiveType(kind="float"):
                packed = value.number.to_bytes(8, "little")[: layout.size]
                return f"{struct.unpack('<f' if layout.size == 4 else '<d', packed)[0]:g}"
            case PrimitiveType(kind="bool"):
                return "true" if value.number else "false"
            case PrimitiveType(size=1):
                number = value.number & 0xFF
                shown = self._number(number, signed=False)
                return f"{shown} '{chr(number)}'" if 32 <= number < 127 else shown
            case _:
                return self._number(value.number, signed=layout is not None and is_signed(layout))

    def _number(self, number: int, *, signed: bool) -> str:
        match self._format.letter:
            case "d":
                return str(sign_extend(number, 64) if signed else number)
            case "x":
                return f"{number:#x}"
            case "o":
                return f"0{number:o}"
            case "b":
                return f"0y{number:b}"
            case "c" if 32 <= number < 127:
                return f"'{chr(number)}'"
            case _:
                return str(sign_extend(number, 64)) if signed else f"{number:#x}"

    def _pointer_text(self, number: int, layout: PointerType) -> str:
        target = resolved(layout.target) if not isinstance(layout.target, FunctionType) else layout.target
        text = self._number(number, signed=False)
        if isinstance(target, FunctionType):
            name = self._context.name_of(number)
            return f"{text} : {name}" if name else text
        if not number:
            return text
        wide = self._format.letter == "su" or (isinstance(target, PrimitiveType) and target.kind == "wchar")
        narrow = self._format.letter == "s" or (isinstance(target, PrimitiveType) and target.kind == "char")
        if wide or narrow:
            string = _string(self._memory.read_prefix(number, _MAX_STRING), wide=wide)
            return f'{text} : "{string}"' if string else text
        return text

    def _array_text(self, address: int, layout: ArrayType) -> str:
        element = resolved(layout.element)
        if not isinstance(element, PrimitiveType) or element.size > 2 or element.kind == "bool":
            return ""
        wide = element.kind == "wchar" or self._format.letter == "su"
        if not wide and element.size != 1:
            return ""
        string = _string(self._memory.read_prefix(address, min(layout.size, _MAX_STRING)), wide=wide)
        return f'"{string}"' if string else ""


def _type_text(type_: Type) -> str:
    """Write a type with a blank before what is derived: ``void *``, ``unsigned char [15]``."""
    return re.sub(r"(?<=\w)(?=[*\[])", " ", describe(type_), count=1)


def _is_place(value: Value) -> bool:
    layout = resolved(value.type) if value.type is not None else None
    return isinstance(layout, StructType | ArrayType | FunctionType)


def _string(data: bytes, *, wide: bool) -> str:
    """Return the printable string that starts in bytes, or nothing if it is none."""
    if wide:
        text = data[: len(data) & ~1].decode("utf-16-le", "replace").split("\0", 1)[0]
    else:
        text = data.split(b"\0", 1)[0].decode("latin-1")
    return text if text.isprintable() else ""


def _parse(context: CommandContext, arguments: str) -> tuple[int, bool, _Format, str]:
    depth, grid, rest = 1, False, arguments.strip()
    while match := re.match(r"-(r\d*|g|v|nv)(?:\s+|$)", rest):
        switch = match[1]
        rest = rest[match.end() :]
        if switch == "g":
            grid = True
        elif switch.startswith("r"):
            depth = min(int(switch[1:] or 1), _MAX_DEPTH)
    if match := re.match(r"-\w+", rest):
        raise context.usage_error(f"unknown switch {match[0]!r}")
    letter, count = "", _DEFAULT_COUNT
    while match := _SUFFIX.search(rest):
        rest = rest[: match.start()]
        if match[1][0].isdigit():
            count = int(match[1], 0)
        else:
            letter = match[1]
    if not rest:
        raise context.usage_error("an expression is needed")
    return depth, grid, _Format(letter, count), rest


@command(
    "dx",
    syntax="[-r<depth>] [-g] <expression>[,d | ,x | ,o | ,b | ,s | ,su | ,<count>]",
    group=Group.EXPRESSIONS,
    summary="evaluate a C++ expression or a query over the debugger's objects",
    details=(
        "Objects: Debugger, @$cursession, @$curprocess, @$curthread, @$curstack, @$curframe. Sequences and arrays know "
        "Where, Select, OrderBy, OrderByDescending, Count, First, Last, Any, All, Take, Skip, TakeWhile, SkipWhile, "
        "Flatten, GroupBy, Distinct, Contains, Concat, Reverse, Sum, Min, Max; strings know Contains, StartsWith, "
        "EndsWith, IndexOf, Substring, ToLower, ToUpper, Length. new { A = x, B = y } makes an object. -g shows a "
        "sequence as a table, -r follows parts deeper. Numbers are decimal unless written 0x."
    ),
    examples=(
        "dx @$curprocess",
        "dx -r2 @$curprocess.Threads.First()",
        'dx -g @$cursession.Processes.Where(p => p.Name.Contains("svc")).Select(p => new { Name = p.Name, Id = p.Id })',
        "dx ((nt!_EPROCESS*)@$proc)->ImageFileName",
        "dx @$curprocess.KernelObject.UniqueProcessId,d",
        'dx Debugger.Utility.Collections.FromListEntry(&nt!PsActiveProcessHead, "nt!_EPROCESS", "ActiveProcessLinks")',
    ),
)
def dx(context: CommandContext, arguments: str) -> ModelNode | ModelGrid:
    """Evaluate a query."""
    depth, grid, format_, text = _parse(context, arguments)
    shower = _Shower(context, format_)
    model = SessionModel(context.session)
    value = evaluate_query(text, context.scope, model.objects(shower.text))
    if grid:
        return _grid(context, shower, text, value, format_.count)
    return shower.node(text, value, depth)


def _grid(context: CommandContext, shower: _Shower, name: str, value: ModelValue, count: int) -> ModelGrid:
    sequence = as_sequence(value, context.session.memory)
    if sequence is None:
        raise CommandError("-g shows sequences", hint="leave it out, or select several things")
    columns: dict[str, None] = {}
    nodes: list[ModelNode] = []
    pairs = sequence.pairs()
    for index, element in itertools.islice(pairs, count):
        node = shower.node(f"[{index:#x}]", element, 1)
        nodes.append(node)
        columns.update((child.name, None) for child in node.children)
    if not columns:
        return ModelGrid(name, ["Value"], [[node.name, node.value] for node in nodes], next(pairs, None) is not None)
    rows: list[list[str]] = []
    for node in nodes:
        cells = {child.name: child.value or (f"[{child.type}]" if child.type else "") for child in node.children}
        rows.append([node.name, *(cells.get(column, "") for column in columns)])
    return ModelGrid(name, list(columns), rows, next(pairs, None) is not None)
