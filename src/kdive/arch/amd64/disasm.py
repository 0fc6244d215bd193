"""AMD64 disassembly with iced-x86, written in MASM style."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kdive.addr import MASK64, format_address
from kdive.arch.disasm import Flow, Instruction, MemoryOperand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.arch.disasm import Symbolizer


@lru_cache(maxsize=1)
def _flows() -> dict[int, Flow]:
    from iced_x86 import FlowControl

    return {
        FlowControl.UNCONDITIONAL_BRANCH: "branch",
        FlowControl.INDIRECT_BRANCH: "branch",
        FlowControl.CONDITIONAL_BRANCH: "conditional",
        FlowControl.CALL: "call",
        FlowControl.INDIRECT_CALL: "call",
        FlowControl.RETURN: "return",
        FlowControl.INTERRUPT: "interrupt",
        FlowControl.EXCEPTION: "interrupt",
    }


@lru_cache(maxsize=1)
def _register_names() -> dict[int, str]:
    import iced_x86

    return {
        value: name.lower()
        for name, value in vars(iced_x86.Register).items()
        if isinstance(value, int) and not name.startswith("_")
    }


def _formatter() -> Any:
    from iced_x86 import Formatter, FormatterSyntax, MemorySizeOptions

    formatter = Formatter(FormatterSyntax.MASM)
    formatter.hex_prefix = ""
    formatter.hex_suffix = "h"
    formatter.uppercase_hex = True
    formatter.space_after_operand_separator = False
    formatter.first_operand_char_index = 0
    formatter.branch_leading_zeros = False
    formatter.leading_zeros = False
    formatter.show_branch_size = False
    formatter.rip_relative_addresses = False
    formatter.memory_size_options = MemorySizeOptions.ALWAYS
    return formatter


def _memory(instruction: Any, text: str) -> MemoryOperand | None:
    from iced_x86 import OpKind

    for index in range(instruction.op_count):
        if instruction.op_kind(index) == OpKind.MEMORY:
            break
    else:
        return None
    from iced_x86 import InstructionInfoFactory, MemorySizeExt, OpAccess, Register

    names = _register_names()
    written = {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
    read = {OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE}
    access = InstructionInfoFactory().info(instruction).op_access(index)
    rip = instruction.is_ip_rel_memory_operand
    displacement = instruction.ip_rel_memory_address if rip else instruction.memory_displacement
    segment = instruction.segment_prefix
    return MemoryOperand(
        "" if rip or instruction.memory_base == Register.NONE else names[instruction.memory_base],
        "" if instruction.memory_index == Register.NONE else names[instruction.memory_index],
        instruction.memory_index_scale,
        displacement & MASK64,
        MemorySizeExt.size(instruction.memory_size),
        names[segment] if segment in (Register.FS, Register.GS) else "",
        access in written,
        text,
        access in read,
    )


def decode(data: bytes, address: int, *, limit: int, symbolizer: Symbolizer | None = None) -> Iterator[Instruction]:
    """Decode up to ``limit`` instructions; a byte that starts none is shown as ``???``.

    Args:
        data: Code bytes.
        address: Address of the first one.
        limit: At most so many instructions.
        symbolizer: Gives ``mod!name+0x…`` for branch targets and rip-relative operands.
    """
    from iced_x86 import Decoder

    formatter = _formatter()
    decoder = Decoder(64, data, ip=address)
    flows = _flows()
    at = 0
    for _ in range(limit):
        if at >= len(data):
            return
        decoder.position = at
        decoder.ip = (address + at) & MASK64
        instruction = decoder.decode()
        if instruction.is_invalid:
            if len(data) - at < 15 and at + instruction.len >= len(data):
                return
            yield Instruction(address + at, data[at : at + 1], "???", flow="invalid")
            at += 1
            continue
        size = instruction.len
        mnemonic = formatter.format_mnemonic(instruction)
        operands = formatter.format_all_operands(instruction)
        flow = flows.get(instruction.flow_control, "next")
        target = None
        if flow in ("branch", "conditional", "call") and instruction.near_branch_target:
            target = instruction.near_branch_target
        memory = _memory(instruction, operands)
        shown = _annotate(operands, instruction, target, memory, symbolizer)
        yield Instruction(address + at, data[at : at + size], mnemonic, shown, flow, target, memory)
        at += size


def _annotate(
    operands: str, instruction: Any, target: int | None, memory: MemoryOperand | None, symbolizer: Symbolizer | None
) -> str:
    """Put symbols into operands, WinDbg's way: ``nt!Name (fffff800`12345678)``."""
    if target is not None:
        name = symbolizer(target) if symbolizer is not None else None
        place = format_address(target)
        return f"{name} ({place})" if name else place
    if memory is not None and instruction.is_ip_rel_memory_operand:
        address = memory.displacement
        name = symbolizer(address) if symbolizer is not None else None
        place = format_address(address)
        start, end = operands.find("["), operands.rfind("]")
        if 0 <= start < end:
            inside = f"{name} ({place})" if name else place
            return f"{operands[:start]}[{inside}]{operands[end + 1 :]}"
    return operands.replace(" ptr ptr ", " ptr ")
