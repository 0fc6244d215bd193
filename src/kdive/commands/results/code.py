"""Results of disassembly commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class CodeLine(Record, frozen=True):
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

    address: Address
    data: bytes = b""
    mnemonic: str = ""
    operands: str = ""
    label: str = ""
    target: Address | None = None
    current: bool = False
    fixed: bool = False


class Listing(Record, frozen=True):
    """Instructions in order.

    Attributes:
        lines: The instructions.
        note: What the user should know (where the bytes came from, why the listing ends).
    """

    lines: list[CodeLine] = field(default_factory=list[CodeLine])
    note: str = ""
