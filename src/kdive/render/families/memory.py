"""Memory displays as text."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.addr import format_address
from kdive.commands.results.memory import (
    BytesWritten,
    Differences,
    ListLinks,
    MemoryDisplay,
    MemoryRow,
    PointerDisplay,
    SearchHits,
    StringDisplay,
)
from kdive.render.styled import Style, StyledText

if TYPE_CHECKING:
    from collections.abc import Sequence


def _place(address: int, *, physical: bool) -> str:
    return f"#{address:8x}" if physical else format_address(address)


def _cell(value: int | None, element: str, size: int) -> str:
    if value is None:
        return "?" * (2 * size) if element != "qword" else "????????`????????"
    if element == "qword":
        return format_address(value)
    if element == "float":
        return f"{struct.unpack('<f', value.to_bytes(4, 'little'))[0]:16.8g}"
    if element == "double":
        return f"{struct.unpack('<d', value.to_bytes(8, 'little'))[0]:22.16g}"
    return f"{value:0{2 * size}x}"


def _bytes_row(values: Sequence[int | None], pad: int) -> str:
    if None in values:
        cells = ["??" if value is None else f"{value:02x}" for value in values]
    else:
        cells = bytes(value or 0 for value in values).hex(" ").split(" ")
    cells += ["  "] * (pad - len(cells))
    left, right = " ".join(cells[:8]), " ".join(cells[8:])
    joint = "-" if len(values) > 8 else " "
    return f"{left}{joint}{right}" if right else left


def _row(text: StyledText, row: MemoryRow, result: MemoryDisplay) -> None:
    text.add(_place(row.address, physical=result.physical), Style.ADDRESS).add("  ")
    if result.element == "byte":
        body = _bytes_row(row.values, result.pad)
    elif result.element == "bits":
        bits = " ".join("????????" if value is None else f"{value:08b}" for value in row.values)
        body = f"{bits:<35}  {' '.join('??' if value is None else f'{value:02x}' for value in row.values)}"
    else:
        cells = [_cell(value, result.element, result.size) for value in row.values]
        body = " ".join(cells)
        if row.text and len(cells) < result.pad:
            body += " " * ((result.pad - len(cells)) * (2 * result.size + 1))
    text.add(body)
    text.line(f"  {row.text}" if row.text else "")


def display(result: MemoryDisplay) -> StyledText:
    """``db``, ``dd``, ``dq`` and the like."""
    text = StyledText()
    if result.element == "bits":
        text.line(f"{'':19}76543210 76543210 76543210 76543210", Style.HEADER)
    for row in result.rows:
        _row(text, row, result)
    return text


def pointers(result: PointerDisplay) -> StyledText:
    """``dps`` and the pointer forms."""
    text = StyledText()
    width = 17 if result.size == 8 else 8
    for row in result.rows:
        text.add(format_address(row.address), Style.ADDRESS).add("  ")
        if row.value is None:
            text.line(("????????`????????" if result.size == 8 else "????????").ljust(width))
            continue
        text.add(format_address(row.value, result.size), Style.NUMBER)
        if row.symbol:
            text.add(f" {row.symbol}", Style.SYMBOL)
        if row.text:
            text.add(f' "{row.text}"')
        if row.target:
            cells = (_cell(value, "qword", 8) for value in row.target)
            text.add(f" {' '.join(cells)}")
        text.line()
    return text


def string(result: StringDisplay) -> StyledText:
    """``da``, ``du``, ``ds``, ``dS``."""
    text = StyledText()
    if result.header is not None:
        length, maximum, buffer = result.header
        text.line(f"Length {length:#x}, MaximumLength {maximum:#x}, Buffer {format_address(buffer)}", Style.NOTE)
    width = 32 if result.header is None else max(len(result.text), 1)
    chunks = [result.text[at : at + width] for at in range(0, len(result.text), width)] or [""]
    step = width
    for index, chunk in enumerate(chunks):
        shown = chunk.replace("\r", ".").replace("\n", ".")
        text.add(format_address(result.address + index * step), Style.ADDRESS).line(f'  "{shown}"')
    if result.truncated:
        text.line("(the string goes on; give a larger length)", Style.NOTE)
    return text


def hits(result: SearchHits) -> StyledText:
    """``s``."""
    text = StyledText()
    shown = MemoryDisplay("byte", 1, result.rows, 16)
    text.extend(display(shown))
    if result.hits:
        last = len(result.hits) - 1
        slots = "$0" if last == 0 else f"$0..${last:x}"
        count = "1 match" if last == 0 else f"{last + 1} matches"
        cut = "; stopped there, more may follow" if result.truncated else ""
        text.line(f"{count} (in {slots}{cut})", Style.NOTE)
    else:
        text.line(f"no match in {result.searched:#x} readable bytes", Style.NOTE)
    return text


def differences(result: Differences) -> StyledText:
    """``c``."""
    text = StyledText()
    for left, left_byte, right, right_byte in result.pairs:
        text.add(format_address(left), Style.ADDRESS).add(f"  {left_byte:02x} - ")
        text.add(format_address(right), Style.ADDRESS).line(f"  {right_byte:02x}")
    if result.truncated:
        text.line(f"(stopped after {len(result.pairs)} differences)", Style.NOTE)
    return text


def written(result: BytesWritten) -> StyledText:
    """``.writemem``."""
    return StyledText().line(f"{result.size:#x} bytes from {format_address(result.address)} written to {result.path}")


def links(result: ListLinks) -> StyledText:
    """``dl``."""
    text = display(MemoryDisplay("qword", 8, result.rows, 4))
    if result.note:
        text.line(result.note, Style.NOTE)
    return text


RENDERERS = {
    MemoryDisplay: display,
    PointerDisplay: pointers,
    StringDisplay: string,
    SearchHits: hits,
    Differences: differences,
    BytesWritten: written,
    ListLinks: links,
}
