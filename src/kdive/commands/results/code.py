"""Results of disassembly commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class CodeLine:
    """One instruction.

    Attributes:
        address: Where it lies.
        data: Its bytes.
        mnemonic: Its mnemonic.
        operands: Its operands, with symbols.
        label: The symbol at the address, if a block begins there.
        target: Target of a direct branch or call.
        current: Whether it is at the instruction pointer.
        fixed: Whether all instructions of the set are words of 32 bits.
    """

    address: int = address_field()
    data: bytes = b""
    mnemonic: str = ""
    operands: str = ""
    label: str = ""
    target: int | None = address_field(default=None)
    current: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class Listing:
    """Instructions in order.

    Attributes:
        lines: The instructions.
        note: What the user should know (where the bytes came from, why the listing ends).
    """

    lines: list[CodeLine] = field(default_factory=list[CodeLine])
    note: str = ""
