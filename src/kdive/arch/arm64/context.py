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
_DEBUG = (
    (0x318, "<8I", tuple(f"bcr{index}" for index in range(8))),
    (0x338, "<8Q", tuple(f"bvr{index}" for index in range(8))),
    (0x378, "<2I", ("wcr0", "wcr1")),
    (0x380, "<2Q", ("wvr0", "wvr1")),
)
# Views of a vector register: letter → width in bits.
_VECTOR_VIEWS = {"q": 128, "d": 64, "s": 32, "h": 16, "b": 8}
# Condition flags and the exception level: name → (bit, width).
_FLAGS = {"nf": (31, 1), "zf": (30, 1), "cf": (29, 1), "vf": (28, 1), "el": (2, 2)}
_ALIASES = {"x29": "fp", "x30": "lr", "xip0": "x16", "xip1": "x17", "psr": "cpsr", "$ip": "pc"}


def register_names() -> list[str]:
    """Every name that :func:`read_register` knows, for completion."""
    vectors = (f"{letter}{index}" for letter in ("v", *_VECTOR_VIEWS) for index in range(32))
    debug = (name for _, _, names in _DEBUG for name in names)
    words = (f"w{index}" for index in range(31))
    return [*GENERAL, "cpsr", *words, *vectors, "fpcr", "fpsr", *debug, *_FLAGS, *_ALIASES]


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
        for offset, layout, names in _DEBUG:
            values.update(zip(names, struct.unpack_from(layout, data, offset), strict=True))
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
    """Return a register, a part of one or a flag by its lower-case name; None if the context lacks it.

    ``w0`` is the low half of ``x0``; ``q0``, ``d0``, ``s0``, ``h0`` and ``b0`` are the low bits of ``v0``.
    """
    name = _ALIASES.get(name, name)
    if name in context.values:
        return context.values[name]
    if name in _FLAGS:
        status = context.values.get("cpsr")
        bit, width = _FLAGS[name]
        return None if status is None else status >> bit & ((1 << width) - 1)
    kind, number = name[:1], name[1:]
    if not number.isdecimal() or len(number) > 2:
        return None
    if kind == "w":
        whole = read_register(context, f"x{number}")
        return None if whole is None else whole & 0xFFFFFFFF
    if kind in _VECTOR_VIEWS:
        whole = context.values.get(f"v{number}")
        return None if whole is None else whole & ((1 << _VECTOR_VIEWS[kind]) - 1)
    return None


def flags_text(cpsr: int) -> str:
    """Spell the condition flags, exception level and mode: ``-Z-- EL1``."""
    letters = "".join(
        letter if cpsr >> bit & 1 else "-" for letter, bit in (("N", 31), ("Z", 30), ("C", 29), ("V", 28))
    )
    return f"{letters} EL{cpsr >> 2 & 3}"
