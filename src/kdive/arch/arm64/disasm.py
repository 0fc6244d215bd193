"""ARM64 disassembly with capstone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.addr import MASK64, format_address
from kdive.arch.disasm import Flow, Instruction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.arch.disasm import Symbolizer

_BRANCHES = {"b", "br", "braa", "brab", "braaz", "brabz"}
_CALLS = {"bl", "blr", "blraa", "blrab", "blraaz", "blrabz"}
_RETURNS = {"ret", "retaa", "retab", "eret"}
_CONDITIONAL = {"cbz", "cbnz", "tbz", "tbnz"}
_TRAPS = {"brk", "svc", "hvc", "smc", "udf", "hlt"}


def _engine() -> Any:
    import capstone  # pyright: ignore[reportMissingTypeStubs]

    return capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)


def _flow(mnemonic: str) -> Flow:
    if mnemonic in _CALLS:
        return "call"
    if mnemonic in _BRANCHES:
        return "branch"
    if mnemonic in _RETURNS:
        return "return"
    if mnemonic in _CONDITIONAL or mnemonic.startswith("b."):
        return "conditional"
    return "interrupt" if mnemonic in _TRAPS else "next"


def decode(data: bytes, address: int, *, limit: int, symbolizer: Symbolizer | None = None) -> Iterator[Instruction]:
    """Decode up to ``limit`` instructions; a word that is none is shown as ``???``.

    Args:
        data: Code bytes.
        address: Address of the first one.
        limit: At most so many instructions.
        symbolizer: Gives ``mod!name+0x…`` for branch targets.
    """
    engine = _engine()
    for index in range(min(limit, len(data) // 4)):
        place = (address + 4 * index) & MASK64
        word = data[4 * index : 4 * index + 4]
        found = next(engine.disasm_lite(word, place), None)
        if found is None:
            yield Instruction(place, word, "???", flow="invalid")
            continue
        mnemonic, operands = str(found[2]), str(found[3])
        flow = _flow(mnemonic)
        target = None
        if flow in ("branch", "conditional", "call") and "#" in operands:
            head, _, number = operands.rpartition("#")
            target = int(number, 0) & MASK64
            name = symbolizer(target) if symbolizer is not None else None
            shown = f"{name} ({format_address(target)})" if name else format_address(target)
            operands = f"{head}{shown}"
        yield Instruction(place, word, mnemonic, operands, flow, target)
