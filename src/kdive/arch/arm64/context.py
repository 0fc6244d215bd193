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
CONTEXT_ALL = 0x40001F
CONTEXT_WITHOUT_DEBUG = 0x400017
SPECIAL_REGISTERS_SIZE = 0xA0
GENERAL = (*(f"x{index}" for index in range(29)), "fp", "lr", "sp", "pc")
_ARM64_FLAG = 0x00400000
_DEBUG = (
    (0x318, "<8I", tuple(f"bcr{index}" for index in range(8))),
    (0x338, "<8Q", tuple(f"bvr{index}" for index in range(8))),
    (0x378, "<2I", ("wcr0", "wcr1")),
    (0x380, "<2Q", ("wvr0", "wvr1")),
)
_SPECIAL_DEBUG = ((0x28, "Q", 8, "bvr"), (0x68, "I", 8, "bcr"), (0x88, "Q", 2, "wvr"), (0x98, "I", 2, "wcr"))
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


def update_context(data: bytes, values: dict[str, int]) -> bytes:
    """Return a ``CONTEXT`` record with registers changed, ready to be set: it says that it holds no debug registers.

    Raises:
        FormatError: A register is not one that can be set through a context.
    """
    raw = bytearray(data)
    for written, value in values.items():
        name = _ALIASES.get(written, written)
        if name in GENERAL:
            struct.pack_into("<Q", raw, 8 + 8 * GENERAL.index(name), value & (1 << 64) - 1)
        elif name == "cpsr":
            struct.pack_into("<I", raw, 4, value & 0xFFFFFFFF)
        elif name in ("fpcr", "fpsr"):
            struct.pack_into("<I", raw, 0x310 if name == "fpcr" else 0x314, value & 0xFFFFFFFF)
        elif name.startswith("v") and name[1:].isdecimal() and int(name[1:]) < 32:
            place = 0x110 + 16 * int(name[1:])
            raw[place : place + 16] = (value & (1 << 128) - 1).to_bytes(16, "little")
        else:
            raise FormatError(f"register {written} cannot be set through a context record")
    struct.pack_into("<I", raw, 0, CONTEXT_WITHOUT_DEBUG)
    return bytes(raw)


def decode_special_registers(data: bytes) -> dict[str, int]:
    """Decode ``KSPECIAL_REGISTERS``; empty if it is cut short.

    Source: the layout in the symbols of ARM64 kernels.
    """
    if len(data) < SPECIAL_REGISTERS_SIZE:
        return {}
    names = ("elr_el1", "spsr_el1", "tpidr_el0", "tpidrro_el0", "tpidr_el1")
    found: dict[str, int] = dict(zip(names, struct.unpack_from("<QI4xQQQ", data), strict=True))
    for offset, layout, count, prefix in _SPECIAL_DEBUG:
        values = struct.unpack_from(f"<{count}{layout}", data, offset)
        found.update({f"{prefix}{index}": value for index, value in enumerate(values)})
    return found


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
