"""ARM64 registers: the ``CONTEXT`` record, trap frames and flags.

Format facts: ``ARM64_NT_CONTEXT`` of ``winnt.h`` (0x390 bytes); Arm Architecture Reference Manual for CPSR/SPSR.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, KdiveError

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT_SIZE = 0x390
GENERAL = (*(f"x{index}" for index in range(29)), "fp", "lr", "sp", "pc")
_ARM64_FLAG = 0x00400000
_ALIASES = {"x29": "fp", "x30": "lr", "xip0": "x16", "xip1": "x17", "psr": "cpsr", "$ip": "pc"}


def register_names() -> list[str]:
    """Every name that :func:`read_register` knows, for completion."""
    return [*GENERAL, "cpsr", *(f"w{index}" for index in range(31)), *_ALIASES]


def decode_context(data: bytes) -> RegisterContext:
    """Decode a ``CONTEXT`` record.

    Raises:
        FormatError: The data is shorter than a record, or marked as another machine's.
    """
    if len(data) < 0x110:
        raise FormatError(f"an ARM64 context of {len(data)} bytes; {CONTEXT_SIZE} are needed")
    flags, cpsr = struct.unpack_from("<II", data, 0)
    if flags and not flags & _ARM64_FLAG:
        raise FormatError(f"context flags {flags:#x} are not those of an ARM64 context", offset=0)
    values = dict(zip(GENERAL, struct.unpack_from("<33Q", data, 8), strict=True))
    values["cpsr"] = cpsr
    if len(data) >= CONTEXT_SIZE:
        for index in range(32):
            low, high = struct.unpack_from("<QQ", data, 0x110 + 16 * index)
            values[f"v{index}"] = high << 64 | low
        values["fpcr"], values["fpsr"] = struct.unpack_from("<II", data, 0x310)
    return RegisterContext("arm64", values)


def decode_trap_frame(member: Callable[[str], int]) -> RegisterContext:
    """Make a context of a trap frame: the volatile registers, ``fp``, ``lr``, ``sp``, ``pc`` and the status register.

    Args:
        member: Returns the number in a member of ``_KTRAP_FRAME``.
    """
    values = dict.fromkeys(GENERAL, 0)
    names = {f"x{index}": f"X{index}" for index in range(19)}
    names |= {"fp": "Fp", "lr": "Lr", "sp": "Sp", "pc": "Pc", "cpsr": "Spsr"}
    for register, name in names.items():
        try:
            values[register] = member(name)
        except KdiveError:
            if register in ("pc", "sp"):
                raise
    return RegisterContext("arm64", values)


def read_register(context: RegisterContext, name: str) -> int | None:
    """Return a register by its lower-case name (``w0`` is the low half of ``x0``); None if the context lacks it."""
    name = _ALIASES.get(name, name)
    if name in context.values:
        return context.values[name]
    if name.startswith("w") and name[1:].isdigit():
        whole = read_register(context, f"x{name[1:]}")
        return None if whole is None else whole & 0xFFFFFFFF
    return None


def flags_text(cpsr: int) -> str:
    """Spell the condition flags, exception level and mode: ``-Z-- EL1``."""
    letters = "".join(
        letter if cpsr >> bit & 1 else "-" for letter, bit in (("N", 31), ("Z", 30), ("C", 29), ("V", 28))
    )
    return f"{letters} EL{cpsr >> 2 & 3}"
