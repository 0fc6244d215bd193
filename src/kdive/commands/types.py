"""``dt``: layouts of types, and structures in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.types import EnumLayout, FieldRow, StructList, TypeLayout, TypeNames
from kdive.commands.spec import Group, command
from kdive.commands.type_words import declared_text, type_text, value_text
from kdive.errors import CommandError, KdiveError
from kdive.record import Record, field
from kdive.symbols.interface import wildcard
from kdive.symbols.types import (
    ArrayType,
    EnumType,
    PointerType,
    StructType,
    Type,
    TypeReference,
    resolved,
)
from kdive.symbols.views import find_member

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.memory.interface import Memory

_MAX_TYPES = 4096
_MAX_LINKS = 4096
_MAX_DEPTH = 9
_MAX_ROWS = 20000
_MAX_ELEMENTS = 4096
_MAX_DESCRIBED = 100


class _Options(Record):
    """What ``dt`` was asked to show; the letters are WinDbg's."""

    depth: int = 0
    follow: bool = True
    """Whether ``-r`` follows pointers (``-b`` does not)."""
    array: int | None = None
    verbose: bool = False
    compact: bool = False
    offsets: bool = True
    types_only: bool = False
    physical: bool = False
    prefix: bool = False
    enumerate: bool = False
    describe: bool = False
    of_size: int | None = None
    list_field: str = ""
    fields: list[str] = field(default_factory=list[str])


class _Budget(Record):
    """How many rows may still be made: following everything could go on for ever."""

    rows: int = _MAX_ROWS


class _Lister:
    """Makes the rows of a structure.

    Args:
        context: The command's context.
        memory: Where values are read.
        options: What to show.
    """

    def __init__(self, context: CommandContext, memory: Memory, options: _Options) -> None:
        self._context = context
        self._memory = memory
        self._options = options
        self._budget = _Budget()

    @property
    def cut_short(self) -> bool:
        """Whether there would have been more rows than anybody reads."""
        return self._budget.rows <= 0

    def read(self, address: int, size: int) -> tuple[bytes, bytes | None]:
        """Read what there is of a structure, and a mask of it if that is not all.

        Raises:
            MemoryAccessError: Nothing of it can be read.
        """
        from kdive.commands.memory import sparse_bytes

        raw, present = sparse_bytes(self._memory, address, size)
        if size and not any(present):
            self._memory.read(address, size)
        return bytes(raw), None if all(present) else bytes(present)

    def rows(self, layout: StructType, data: bytes | None, mask: bytes | None, depth: int = 0) -> list[FieldRow]:
        """Describe the members."""
        options = self._options
        found: list[FieldRow] = []
        for member in layout.fields:
            self._context.cancel.check()
            if depth == 0 and options.fields and not _wanted(member.name, options):
                continue
            if self._budget.rows <= 0:
                break
            self._budget.rows -= 1
            inner: bytes | None = None
            inner_mask: bytes | None = None
            value, number = "", None
            size = member.type.size
            if data is not None:
                inner = data[member.offset : member.offset + size]
                inner_mask = None if mask is None else mask[member.offset : member.offset + size]
                present = inner_mask is None or all(inner_mask)
                value, number = value_text(self._context, member.type, inner) if present else ("??", None)
            nested = self._nested(member.type, inner, inner_mask, number, depth)
            type_ = declared_text(member.type) if options.verbose else type_text(member.type)
            if options.types_only:
                value, number = "", None
            found.append(FieldRow(member.name, member.offset, type_, value, number, nested))
        return found

    def _nested(
        self, type_: Type, data: bytes | None, mask: bytes | None, number: int | None, depth: int
    ) -> list[FieldRow]:
        options = self._options
        if isinstance(type_, ArrayType) and options.array is not None and data is not None:
            return self._elements(type_, data, mask, depth)
        if depth >= options.depth:
            return []
        if isinstance(type_, PointerType) and options.follow and isinstance(type_.target, TypeReference):
            layout = resolved(type_.target) if type_.target.size else None
            if not isinstance(layout, StructType):
                return []
            if data is None:
                return self.rows(layout, None, None, depth + 1)
            if not number:
                return []
            try:
                return self.rows(layout, *self.read(number, layout.size), depth + 1)
            except KdiveError:
                return []
        if isinstance(type_, TypeReference) and type_.kind != "enum":
            layout = resolved(type_)
            if isinstance(layout, StructType):
                return self.rows(layout, data, mask, depth + 1)
        return []

    def _elements(self, type_: ArrayType, data: bytes, mask: bytes | None, depth: int) -> list[FieldRow]:
        element = type_.element
        count = min(type_.count, self._options.array or type_.count, _MAX_ELEMENTS)
        found: list[FieldRow] = []
        for index in range(count):
            low, high = index * element.size, (index + 1) * element.size
            if self._budget.rows <= 0:
                break
            self._budget.rows -= 1
            inner = data[low:high]
            inner_mask = None if mask is None else mask[low:high]
            present = inner_mask is None or all(inner_mask)
            value, number = value_text(self._context, element, inner) if present else ("??", None)
            nested = self._nested(element, inner, inner_mask, number, depth)
            found.append(FieldRow(f"[{index:02x}]", low, type_text(element), value, number, nested))
        return found


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
    memory = context.session.memory
    if options.physical:
        if context.session.target.physical is None:
            raise CommandError("the target has no physical memory, so -p cannot be used")
        memory = context.session.target.physical
    lister = _Lister(context, memory, options)
    data, mask = (None, None) if address is None else lister.read(address, layout.size)
    rows = lister.rows(layout, data, mask)
    note = f"(stopped after {_MAX_ROWS} rows; name fields, or follow less deep)" if lister.cut_short else ""
    return TypeLayout(
        name or layout.name,
        layout.kind,
        layout.size,
        address,
        rows,
        options.verbose,
        len(layout.fields),
        options.compact,
        options.offsets,
        note,
    )


_SWITCHES = {
    "v": "verbose",
    "c": "compact",
    "t": "types_only",
    "p": "physical",
    "y": "prefix",
    "e": "enumerate",
    "d": "describe",
}


def _parse(context: CommandContext, arguments: str) -> tuple[_Options, list[str]]:
    options = _Options()
    words = context.words(arguments)
    plain: list[str] = []
    index = 0

    def following(what: str) -> str:
        nonlocal index
        if index >= len(words):
            raise context.usage_error(what)
        index += 1
        return words[index - 1]

    while index < len(words):
        word = words[index]
        index += 1
        match = re.fullmatch(r"-([A-Za-z]+)(\d*)", word)
        if match is None:
            plain.append(word)
            continue
        letters, digits = match.groups()
        for letter in letters:
            if letter in _SWITCHES:
                setattr(options, _SWITCHES[letter], True)
            elif letter == "r":
                options.depth = min(int(digits or 3), _MAX_DEPTH)
            elif letter == "b":
                options.depth, options.follow = _MAX_DEPTH, False
            elif letter == "a":
                options.array = int(digits or 0)
            elif letter == "o":
                options.offsets = False
            elif letter == "l":
                options.list_field = following("-l needs the name of the link member")
            elif letter == "s":
                options.of_size = context.evaluate(digits or following("-s needs a size"))
            elif letter == "n":
                plain.append(following("-n needs a name"))
            elif letter != "i":
                raise context.usage_error(f"unknown switch '-{letter}'")
    return options, plain


@command(
    "dt",
    syntax="[-abcdeoprtvy] [-s <size>] [-l <field>] [-n <name>] [<module>!]<type> [<field>…] [<address>]",
    group=Group.SYMBOLS,
    summary="show the layout of a type, or a structure in memory",
    details=(
        "-r[n] follows structures and pointers n deep (3), -b only what is embedded; -a[n] shows elements of arrays "
        "(behind an address: n structures in a row); -l walks a list by a link member; -v sizes and counts, -t types "
        "only, -o no offsets, -c one line each; -p the address is physical; -y names match by their beginning; -n the "
        "next word is a name even if it looks like a number. A wildcard in the type lists types (-e always does), -s "
        "those of one size, -d with their members; field names take wildcards too."
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
    wild = any(char in name.partition("!")[2] or (char in name and "!" not in name) for char in "*?[")
    if wild or options.enumerate or options.of_size is not None:
        return _type_names(context, name, options)
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
    if options.array and address is not None and not options.fields:
        items = [
            show_struct(context, layout, address + index * layout.size, options, name)
            for index in range(min(options.array, _MAX_LINKS))
        ]
        return StructList(items)
    if len(options.fields) == 1 and "." in options.fields[0]:
        # `dt nt!_ETHREAD Tcb.` shows the members of a member, `dt nt!_ETHREAD Tcb.Apc*` those that match.
        path, _, pattern = options.fields[0].rpartition(".")
        offset, member = find_member(layout, path)
        inner = resolved(member)
        if isinstance(inner, StructType):
            options.fields = [pattern] if pattern else []
            place = None if address is None else address + offset
            layout, address, name = inner, place, f"{name}.{path}"
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


def _type_names(context: CommandContext, pattern: str, options: _Options) -> TypeNames | StructList:
    module_pattern, bang, name_pattern = pattern.partition("!")
    if not bang:
        module_pattern, name_pattern = "nt", pattern
    matcher = wildcard(module_pattern)
    found: list[tuple[str, int]] = []
    truncated = False
    for state in context.session.engine.states:
        if not matcher.fullmatch(state.module.name):
            continue
        symbols = context.session.engine.symbols_of(state)
        if symbols is None:
            continue
        for name, size in symbols.search_types(name_pattern):
            context.cancel.check()
            if options.of_size is not None and size != options.of_size:
                continue
            if len(found) >= _MAX_TYPES:
                truncated = True
                break
            found.append((f"{state.module.name}!{name}", size))
    if not found:
        of_size = "" if options.of_size is None else f" with {options.of_size:#x} bytes"
        raise CommandError(f"no type matches {pattern!r}{of_size}")
    found.sort()
    if not options.describe:
        return TypeNames(found, truncated)
    items: list[TypeLayout] = []
    for name, _ in found[:_MAX_DESCRIBED]:
        layout, full = _find(context, name)
        if isinstance(layout, StructType):
            items.append(show_struct(context, layout, None, options, full))
    note = f"(stopped after {_MAX_DESCRIBED} types; narrow the pattern)" if len(found) > _MAX_DESCRIBED else ""
    return StructList(items, note)
