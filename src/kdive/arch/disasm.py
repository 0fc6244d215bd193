"""Decoded instructions, whatever the architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kdive.addr import MASK64, format_address

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext

Flow = Literal["next", "branch", "conditional", "call", "return", "interrupt", "invalid"]
Symbolizer = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class MemoryOperand:
    """A memory operand: ``[base + index * scale + displacement]``, or an absolute ``address``.

    Attributes:
        base: Base register, empty if none.
        index: Index register, empty if none.
        scale: What the index is multiplied with.
        displacement: Constant part (of rip-relative operands: the address).
        size: Bytes accessed, 0 if unknown.
        segment: ``fs`` or ``gs`` if the segment base counts.
        write: Whether the operand is written.
        text: The operand as written.
    """

    base: str = ""
    index: str = ""
    scale: int = 1
    displacement: int = 0
    size: int = 0
    segment: str = ""
    write: bool = False
    text: str = ""

    def effective_address(self, context: RegisterContext) -> int | None:
        """Compute the address from registers; None if one is not known."""
        total = self.displacement
        if self.segment:
            return None
        for name, factor in ((self.base, 1), (self.index, self.scale)):
            if name:
                value = context.values.get(name)
                if value is None:
                    return None
                total += value * factor
        return total & MASK64


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: Where it lies.
        data: Its bytes.
        mnemonic: Its mnemonic, ``???`` for bytes that are no instruction.
        operands: The operands as text, with symbols.
        flow: How control goes on.
        target: Target of a direct branch or call.
        memory: Its memory operand.
    """

    address: int
    data: bytes
    mnemonic: str
    operands: str = ""
    flow: Flow = "next"
    target: int | None = None
    memory: MemoryOperand | None = None

    @property
    def end(self) -> int:
        """Address of the instruction behind it."""
        return self.address + len(self.data)

    def text_line(self) -> str:
        """The line that ``u`` shows: address, bytes, mnemonic, operands."""
        code = self.data.hex()
        return f"{format_address(self.address)} {code:<15} {self.mnemonic:<7} {self.operands}".rstrip()
