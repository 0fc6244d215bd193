"""Disassembly as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.arch.disasm import code_columns
from kdive.commands.results.code import Listing
from kdive.render.styled import Style, StyledText


def listing(result: Listing) -> StyledText:
    """``u`` and the like."""
    text = StyledText()
    for line in result.lines:
        if line.label:
            text.line(f"{line.label}:", Style.SYMBOL)
        columns = code_columns(line.data, line.mnemonic, line.fixed)
        code, mnemonic = columns.split(" ", 1)
        padding = len(mnemonic) - len(mnemonic.lstrip())
        text.add(format_address(line.address), Style.ADDRESS).add(f" {code} {mnemonic[:padding]}")
        text.add(mnemonic[padding:], Style.MNEMONIC).add(f" {line.operands}")
        text.line("  <- ip" if line.current else "", Style.NOTE)
    if result.note:
        text.line(result.note, Style.NOTE)
    return text


RENDERERS = {Listing: listing}
