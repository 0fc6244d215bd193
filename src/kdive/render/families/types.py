"""Type layouts as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import format_address
from kdive.commands.results.types import EnumLayout, StructList, TypeLayout, TypeNames
from kdive.render.styled import Style, StyledText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.commands.results.types import FieldRow


def _fields(text: StyledText, result: TypeLayout, rows: Sequence[FieldRow], depth: int) -> None:
    width = max((len(row.name) for row in rows), default=0)
    width = min(max(width, 16), 32)
    for row in rows:
        text.add("   " * (depth + 1))
        if row.name.startswith("["):
            text.add(f"{row.name} ")
            text.line(row.value or row.type)
        else:
            if result.offsets:
                text.add(f"+0x{row.offset:03x} ", Style.ADDRESS)
            # With -v a structure inside says what it is made of, which is more than its name.
            compound = result.verbose and row.number is None and not row.value.startswith("[")
            shown = row.type if compound else row.value or row.type
            text.add(f"{row.name:<{width}}").add(" : ").line(shown)
        if row.fields:
            _fields(text, result, row.fields, depth + 1)


def layout(result: TypeLayout) -> StyledText:
    """``dt``: WinDbg's columns."""
    text = StyledText()
    head = result.name
    if result.verbose:
        head = f"{result.kind} {head}, {result.members or len(result.fields)} elements, {result.size:#x} bytes"
    if result.address is not None:
        head += f" at {format_address(result.address)}"
    if result.compact:
        parts = [f"{row.name} : {row.value or row.type}" for row in result.fields]
        text.add(head, Style.HEADER).line("  " + "  ".join(parts))
    else:
        if head:
            text.line(head, Style.HEADER)
        _fields(text, result, result.fields, 0)
    if result.note:
        text.line(result.note, Style.NOTE)
    return text


def enum(result: EnumLayout) -> StyledText:
    """``dt`` of an enumeration."""
    text = StyledText().line(f"Enum {result.name}, {len(result.constants)} total enums", Style.HEADER)
    for name, value in result.constants.items():
        text.line(f"   {name} = 0n{value}")
    return text


def names(result: TypeNames) -> StyledText:
    """``dt`` with a wildcard."""
    text = StyledText()
    for name, size in result.types:
        text.line(f"          {name}" + (f"  ({size:#x} bytes)" if size else ""))
    if result.truncated:
        text.line(f"(stopped after {len(result.types)} types)", Style.NOTE)
    return text


def struct_list(result: StructList) -> StyledText:
    """``dt -l`` and ``dt -a``."""
    text = StyledText()
    for index, item in enumerate(result.items):
        text.line(f"[{index}]", Style.NOTE)
        text.extend(layout(item))
    if result.note:
        text.line(result.note, Style.NOTE)
    return text


RENDERERS = {TypeLayout: layout, EnumLayout: enum, TypeNames: names, StructList: struct_list}
