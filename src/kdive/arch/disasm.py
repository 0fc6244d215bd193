"""Decoded instructions, whatever the architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from kdive.addr import MASK64, format_address, sign_extend
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext

Flow = Literal["next", "branch", "conditional", "call", "return", "interrupt", "invalid"]
Symbolizer = Callable[[int], str | None]
_LOW32 = 0xFFFFFFFF


class MemoryOperand(Record, frozen=True):
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
        read: Whether the operand is read.
        signed_index: Whether a 32-bit index is extended with its sign.
    """

    base: str = ""
    index: str = ""
    scale: int = 1
    displacement: int = 0
    size: int = 0
    segment: str = ""
    write: bool = False
    text: str = ""
    read: bool = False
    signed_index: bool = False

    def effective_address(self, context: RegisterContext) -> int | None:
        """Compute the address from registers; None if one is not known, or a segment's base counts."""
        if self.segment:
            return None
        if context.machine == "arm64":
            from kdive.arch.arm64.context import read_register
        else:
            from kdive.arch.amd64.context import read_register
        total = self.displacement
        for name, factor in ((self.base, 1), (self.index, self.scale)):
            if not name:
                continue
            value = read_register(context, name)
            if value is None:
                return None
            if name == self.index and self.signed_index and name.startswith("w"):
                value = sign_extend(value, 32)
            total += value * factor
        return total & (_LOW32 if self._is_narrow(context) else MASK64)

    def _is_narrow(self, context: RegisterContext) -> bool:
        """Whether an address-size prefix makes the address a 32-bit one."""
        return context.machine == "amd64" and (self.base or self.index).startswith("e")


class Instruction(Record, frozen=True):
    """One instruction.

    Attributes:
        address: Where it lies.
        data: Its bytes.
        mnemonic: Its mnemonic, ``???`` for bytes that are no instruction.
        operands: The operands as text, with symbols.
        flow: How control goes on.
        target: Target of a direct branch or call.
        memory: Its memory operand.
        fixed: Whether all instructions of the set are words of 32 bits, which listings show as numbers.
    """

    address: int
    data: bytes
    mnemonic: str
    operands: str = ""
    flow: Flow = "next"
    target: int | None = None
    memory: MemoryOperand | None = None
    fixed: bool = False

    @property
    def end(self) -> int:
        """Address of the instruction behind it."""
        return self.address + len(self.data)

    def text_line(self) -> str:
        """The line that ``u`` shows: address, bytes, mnemonic, operands."""
        columns = code_columns(self.data, self.mnemonic, self.fixed)
        return f"{format_address(self.address)} {columns} {self.operands}".rstrip()


def code_columns(data: bytes, mnemonic: str, fixed: bool) -> str:
    """Lay out the bytes and the mnemonic as WinDbg does.

    AMD64 code is shown byte for byte in a wide column; ARM64 instructions are shown as the one number that they are,
    with a wide column for the mnemonic.
    """
    return f"{data[::-1].hex():<8} {mnemonic:<11}" if fixed else f"{data.hex():<15} {mnemonic:<7}"


def effective_address(instruction: Instruction, context: RegisterContext) -> int | None:
    """The address of an instruction's memory operand; None if it has none or a register is not known."""
    return None if instruction.memory is None else instruction.memory.effective_address(context)
