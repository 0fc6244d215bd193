"""Stacks, registers and exception records as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import format_address
from kdive.commands.results.stack import (
    ContextSelected,
    ExceptionInfo,
    FrameInfo,
    FrameSelected,
    Registers,
    Stack,
)
from kdive.render.styled import Style, StyledText

if TYPE_CHECKING:
    from collections.abc import Sequence

_AMD64_ROWS = (
    ("rax", "rbx", "rcx"),
    ("rdx", "rsi", "rdi"),
    ("rip", "rsp", "rbp"),
    (" r8", " r9", "r10"),
    ("r11", "r12", "r13"),
    ("r14", "r15"),
)
_SEGMENTS = ("cs", "ss", "ds", "es", "fs", "gs")


def _address_or_blank(value: int | None) -> str:
    return " " * 17 if value is None else format_address(value)


def _frame(text: StyledText, frame: FrameInfo, style: str) -> None:
    if "f" in style:
        text.add(f"{'':10}")
    if "n" in style or "f" in style or "v" in style:
        text.add(f"{frame.index:02x} ")
    if frame.how == "inline":
        text.add("(Inline Function) --------`--------", Style.NOTE)
    else:
        text.add(format_address(frame.child_sp), Style.ADDRESS).add(" ")
        text.add(_address_or_blank(frame.return_address), Style.ADDRESS)
    if "b" in style or "v" in style:
        text.add(" : ")
        for argument in frame.arguments:
            text.add("????????`????????" if argument is None else format_address(argument)).add(" ")
        text.add(":" if frame.arguments else "")
    text.add(" ").add(frame.symbol, Style.SYMBOL)
    if frame.source and "L" not in style:
        text.add(f" [{frame.source}]", Style.NOTE)
    how = "chain" if frame.chained else frame.how
    if how not in ("unwind", "inline"):
        note = how if not frame.note or frame.note == how else f"{how}: {frame.note}"
        text.add(f"  [{note if 'v' in style else how}]", Style.NOTE)
    elif frame.note and "v" in style:
        text.add(f"  [{frame.note}]", Style.NOTE)
    text.line()


def stack(result: Stack) -> StyledText:
    """``k``: WinDbg's columns, and how a frame was found at the end of its line."""
    text = StyledText()
    if result.context:
        text.line(f"  *** Stack trace for {result.context}", Style.NOTE)
    lead = "" if not set(result.style) & set("nvf") else " # "
    arguments = f" : {'Args to Child':<71} :" if set(result.style) & set("bv") else ""
    head = f"{lead}{'Child-SP':<17} {'RetAddr':<17}{arguments} Call Site"
    text.line(head, Style.HEADER)
    previous: int | None = None
    for frame in result.frames:
        if "f" in result.style:
            size = "" if previous is None else f"{frame.child_sp - previous:x}"
            previous = frame.child_sp
            row = StyledText()
            _frame(row, frame, result.style.replace("f", "n"))
            text.add(f"{size:>8}  ")
            text.extend(row)
        else:
            _frame(text, frame, result.style)
    if result.truncated:
        text.line(f"(stopped after {len(result.frames)} frames; k <count> shows more)", Style.NOTE)
    return text


def _amd64(text: StyledText, result: Registers) -> None:
    values = result.values
    for row in _AMD64_ROWS:
        cells = [f"{name}={values.get(name.strip(), 0):016x}" for name in row]
        text.line(" ".join(cells))
    if result.flags:
        text.line(result.flags)
    if all(name in values for name in _SEGMENTS):
        cells = [f"{name}={values[name]:04x}" for name in _SEGMENTS]
        text.line(f"{'  '.join(cells)}             efl={values.get('efl', 0):08x}")


def _arm64(text: StyledText, result: Registers) -> None:
    names = [f"x{index}" for index in range(29)]
    values = result.values
    for start in range(0, 29, 4):
        text.line("".join(f"{name:>4}={values.get(name, 0):016x}" for name in names[start : start + 4]))
    text.line("".join(f"{name:>4}={values.get(name, 0):016x}" for name in ("fp", "lr", "sp", "pc")))
    text.line(f"cpsr={values.get('cpsr', 0):08x} {result.flags}".rstrip())


def registers(result: Registers) -> StyledText:
    """``r``: WinDbg's register block with the instruction below, or ``name=value`` for single ones."""
    text = StyledText()
    if result.selected:
        for name, value in result.values.items():
            text.add(name, Style.REGISTER).line(f"={value:016x}")
        return text
    if result.context:
        text.line(f"Last set context: {result.context}", Style.NOTE)
    if result.machine == "arm64":
        _arm64(text, result)
    else:
        _amd64(text, result)
    if result.location:
        text.line(f"{result.location}:", Style.SYMBOL)
    if result.instruction:
        text.line(result.instruction)
    return text


def frame_selected(result: FrameSelected) -> StyledText:
    """``.frame``."""
    text = StyledText()
    _frame(text, result.frame, "n")
    if result.registers is not None:
        text.extend(registers(result.registers))
    return text


def context_selected(result: ContextSelected) -> StyledText:
    """``.cxr`` and its like."""
    if result.registers is None:
        return StyledText().line(result.how)
    return registers(result.registers)


def _parameters(text: StyledText, parameters: Sequence[int]) -> None:
    for index, parameter in enumerate(parameters):
        text.line(f"   Parameter[{index}]: {parameter:016x}")


def exception(result: ExceptionInfo) -> StyledText:
    """``.exr``."""
    text = StyledText()
    place = f" ({result.symbol})" if result.symbol else ""
    text.add("ExceptionAddress: ").add(f"{result.address:016x}", Style.ADDRESS).line(place, Style.SYMBOL)
    name = f" ({result.name})" if result.name else ""
    text.line(f"   ExceptionCode: {result.code:08x}{name}")
    text.line(f"  ExceptionFlags: {result.flags:08x}")
    text.line(f"NumberParameters: {len(result.parameters)}")
    _parameters(text, result.parameters)
    for line in result.meaning:
        text.line(line)
    return text


RENDERERS = {
    Stack: stack,
    Registers: registers,
    FrameSelected: frame_selected,
    ContextSelected: context_selected,
    ExceptionInfo: exception,
}
