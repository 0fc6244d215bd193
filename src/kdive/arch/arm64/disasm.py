"""ARM64 disassembly with capstone, written as WinDbg writes it: ``stp fp,lr,[sp,#-0x20]!``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kdive.addr import MASK64, format_address
from kdive.arch.disasm import Flow, Instruction, MemoryOperand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.arch.disasm import Symbolizer

_BRANCHES = {"b", "br", "braa", "brab", "braaz", "brabz"}
_CALLS = {"bl", "blr", "blraa", "blrab", "blraaz", "blrabz"}
_RETURNS = {"ret", "retaa", "retab", "eret", "eretaa", "eretab"}
_CONDITIONAL = {"cbz", "cbnz", "tbz", "tbnz"}
_TRAPS = {"brk", "svc", "hvc", "smc", "udf", "hlt", "dcps1", "dcps2", "dcps3"}
_ADDRESSES = {"adr", "adrp"}
# Instructions that read and write in one go.
_ATOMIC = ("ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "cas", "swp")
_REGISTER_SIZES = {"b": 1, "h": 2, "s": 4, "w": 4, "d": 8, "x": 8, "q": 16, "v": 16}
_FRAME_NAMES = re.compile(r"\bx(29|30)\b")
_HEX = re.compile(r"(?<=#)(-?)0x([0-9a-f]+)")


@lru_cache(maxsize=1)
def _engine() -> Any:
    import capstone  # pyright: ignore[reportMissingTypeStubs]

    engine: Any = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    engine.detail = True
    return engine


def _flow(mnemonic: str) -> Flow:
    if mnemonic in _CALLS:
        return "call"
    if mnemonic in _BRANCHES:
        return "branch"
    if mnemonic in _RETURNS:
        return "return"
    if mnemonic in _CONDITIONAL or mnemonic.startswith(("b.", "bc.")):
        return "conditional"
    return "interrupt" if mnemonic in _TRAPS else "next"


def _windbg_text(operands: str) -> str:
    """Rewrite capstone's operands: ``fp`` and ``lr``, no blanks behind commas, upper-case hex digits."""
    text = operands.replace(", ", ",")
    text = _FRAME_NAMES.sub(lambda found: "fp" if found.group(1) == "29" else "lr", text)
    return _HEX.sub(lambda found: f"{found.group(1)}0x{found.group(2).upper()}", text)


def _size(mnemonic: str, registers: list[str]) -> int:
    """Bytes that a load or store moves, 0 if not known."""
    if not registers:
        return 0
    stem = mnemonic.removeprefix("ld").removeprefix("st")
    if stem.endswith("b"):
        return 1
    if stem.endswith("h"):
        return 2
    unit = 4 if stem.endswith("sw") else _REGISTER_SIZES.get(registers[-1][0], 8)
    if registers[-1] in ("fp", "lr", "sp"):
        unit = 8
    return unit * (2 if stem.endswith("p") and len(registers) > 1 else 1)


def _memory(decoded: Any, text: str, literal: int | None) -> MemoryOperand | None:
    from capstone import arm64_const as constants  # pyright: ignore[reportMissingTypeStubs]

    mnemonic = str(decoded.mnemonic)
    registers = [
        str(decoded.reg_name(operand.reg))
        for operand in decoded.operands
        if operand.type == constants.ARM64_OP_REG  # pyright: ignore[reportUnknownMemberType]
    ]
    size = _size(mnemonic, registers)
    # A load with no memory operand takes its value from beside the code.
    if literal is not None and mnemonic.startswith("ldr"):
        return MemoryOperand(displacement=literal, size=size, text=text, read=True)
    for operand in decoded.operands:
        if operand.type != constants.ARM64_OP_MEM:  # pyright: ignore[reportUnknownMemberType]
            continue
        memory = operand.mem
        index = str(decoded.reg_name(memory.index) or "") if memory.index else ""
        signed = operand.ext in (
            constants.ARM64_EXT_SXTW,  # pyright: ignore[reportUnknownMemberType]
            constants.ARM64_EXT_SXTX,  # pyright: ignore[reportUnknownMemberType]
        )
        atomic = mnemonic.startswith(_ATOMIC)
        return MemoryOperand(
            str(decoded.reg_name(memory.base) or ""),
            index,
            1 << operand.shift.value if operand.shift.type else 1,
            memory.disp & MASK64,
            size,
            write=atomic or mnemonic.startswith("st"),
            text=text,
            read=atomic or mnemonic.startswith("ld"),
            signed_index=signed,
        )
    return None


def decode(data: bytes, address: int, *, limit: int, symbolizer: Symbolizer | None = None) -> Iterator[Instruction]:
    """Decode up to ``limit`` instructions; a word that is none is shown as ``???``.

    Args:
        data: Code bytes.
        address: Address of the first one.
        limit: At most so many instructions.
        symbolizer: Gives ``mod!name+0x…`` for branch targets and addresses relative to ``pc``.
    """
    engine = _engine()
    for index in range(min(limit, len(data) // 4)):
        place = (address + 4 * index) & MASK64
        word = bytes(data[4 * index : 4 * index + 4])
        found = next(engine.disasm(word, place, 1), None)
        if found is None:
            yield Instruction(place, word, "???", flow="invalid", fixed=True)
            continue
        mnemonic, raw = str(found.mnemonic), str(found.op_str)
        flow = _flow(mnemonic)
        operands = _windbg_text(raw)
        target = literal = None
        relative = flow in ("branch", "conditional", "call") or mnemonic in _ADDRESSES
        if "#" in raw and (relative or (mnemonic.startswith("ldr") and "[" not in raw)):
            literal = int(raw.rpartition("#")[2], 0) & MASK64
            target = literal if flow != "next" else None
            name = symbolizer(literal) if symbolizer is not None else None
            shown = f"{name} ({format_address(literal)})" if name else format_address(literal)
            operands = operands.rpartition("#")[0] + shown
        memory = _memory(found, operands, literal if flow == "next" else None)
        yield Instruction(place, word, mnemonic, operands, flow, target, memory, fixed=True)
