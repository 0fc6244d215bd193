"""AMD64 registers: the ``CONTEXT`` record, trap frames, sub-registers and flags.

Format facts: ``CONTEXT`` of ``winnt.h`` (1232 bytes), ``_KTRAP_FRAME`` of the kernel's symbols, Intel SDM volume 1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, KdiveError

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT_SIZE = 1232
CONTEXT_ALL = 0x10001F
CONTEXT_WITHOUT_DEBUG = 0x10000F
SPECIAL_REGISTERS_SIZE = 0xA8
GENERAL = (
    "rax",
    "rcx",
    "rdx",
    "rbx",
    "rsp",
    "rbp",
    "rsi",
    "rdi",
    "r8",
    "r9",
    "r10",
    "r11",
    "r12",
    "r13",
    "r14",
    "r15",
)
"""The general registers in encoding order (as unwind codes number them)."""
_SEGMENTS = ("cs", "ds", "es", "fs", "gs", "ss")
DEBUG_REGISTERS = ("dr0", "dr1", "dr2", "dr3", "dr6", "dr7")
_AMD64_FLAG = 0x00100000
_XMM = struct.Struct("<QQ")

# name → (register, shift in bits, width in bits)
_SUB: dict[str, tuple[str, int, int]] = {}
for _letter in "abcd":
    _SUB[f"e{_letter}x"] = (f"r{_letter}x", 0, 32)
    _SUB[f"{_letter}x"] = (f"r{_letter}x", 0, 16)
    _SUB[f"{_letter}l"] = (f"r{_letter}x", 0, 8)
    _SUB[f"{_letter}h"] = (f"r{_letter}x", 8, 8)
for _name in ("si", "di", "bp", "sp", "ip"):
    _SUB[f"e{_name}"] = (f"r{_name}", 0, 32)
    _SUB[_name] = (f"r{_name}", 0, 16)
    if _name != "ip":
        _SUB[f"{_name}l"] = (f"r{_name}", 0, 8)
for _number in range(8, 16):
    for _suffix, _width in (("d", 32), ("w", 16), ("b", 8)):
        _SUB[f"r{_number}{_suffix}"] = (f"r{_number}", 0, _width)
for _number in range(16):
    _SUB[f"xmm{_number}l"] = (f"xmm{_number}", 0, 64)
    _SUB[f"xmm{_number}h"] = (f"xmm{_number}", 64, 64)
for _bit, _name in (
    (0, "cf"),
    (2, "pf"),
    (4, "af"),
    (6, "zf"),
    (7, "sf"),
    (8, "tf"),
    (9, "if"),
    (10, "df"),
    (11, "of"),
):
    _SUB[_name] = ("efl", _bit, 1)
_SUB["iopl"] = ("efl", 12, 2)
_ALIASES = {"eflags": "efl", "rflags": "efl", "rfl": "efl", "fl": "efl", "pc": "rip", "$ip": "rip"}

# WinDbg's two-letter words: (bit, word when set, word when clear), in its order.
_FLAG_WORDS = (
    (11, "ov", "nv"),
    (10, "dn", "up"),
    (9, "ei", "di"),
    (7, "ng", "pl"),
    (6, "zr", "nz"),
    (4, "ac", "na"),
    (2, "pe", "po"),
    (0, "cy", "nc"),
)


def register_names() -> list[str]:
    """Every name that :func:`read_register` knows, for completion."""
    return [*GENERAL, "rip", "efl", *_SEGMENTS, *DEBUG_REGISTERS, "mxcsr", *_SUB, *_ALIASES]


def decode_context(data: bytes) -> RegisterContext:
    """Decode a ``CONTEXT`` record.

    Raises:
        FormatError: The data is shorter than a record, or marked as another machine's.
    """
    if len(data) < 0x200:
        raise FormatError(f"an AMD64 context of {len(data)} bytes; {CONTEXT_SIZE} are needed")
    flags, mxcsr = struct.unpack_from("<II", data, 0x30)
    if flags and not flags & _AMD64_FLAG:
        raise FormatError(f"context flags {flags:#x} are not those of an AMD64 context", offset=0x30)
    values: dict[str, int] = {}
    values.update(zip(_SEGMENTS, struct.unpack_from("<6H", data, 0x38), strict=True))
    values["efl"] = struct.unpack_from("<I", data, 0x44)[0]
    values.update(zip(DEBUG_REGISTERS, struct.unpack_from("<6Q", data, 0x48), strict=True))
    values.update(zip(GENERAL, struct.unpack_from("<16Q", data, 0x78), strict=True))
    values["rip"] = struct.unpack_from("<Q", data, 0xF8)[0]
    values["mxcsr"] = mxcsr
    if len(data) >= 0x2A0:
        for index in range(16):
            low, high = _XMM.unpack_from(data, 0x1A0 + 16 * index)
            values[f"xmm{index}"] = high << 64 | low
    return RegisterContext("amd64", values)


def decode_trap_frame(member: Callable[[str], int]) -> RegisterContext:
    """Make a context of a trap frame.

    A trap frame holds the volatile registers, ``rbp`` and (in some paths) ``rbx``, ``rsi`` and ``rdi``; the other
    nonvolatile ones are zero, as WinDbg shows them.

    Args:
        member: Returns the number in a member of ``_KTRAP_FRAME``.
    """
    names = {name: name.capitalize() for name in ("rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "rbp", "rip", "rsp")}
    names |= {"rbx": "Rbx", "rsi": "Rsi", "rdi": "Rdi", "efl": "EFlags", "cs": "SegCs", "ss": "SegSs"}
    values: dict[str, int] = dict.fromkeys((*GENERAL, *_SEGMENTS, "efl", "rip"), 0)
    for register, name in names.items():
        try:
            values[register] = member(name)
        except KdiveError:
            if register in ("rip", "rsp"):
                raise
    values["cs"] &= 0xFFFF
    values["ss"] &= 0xFFFF
    return RegisterContext("amd64", values)


def read_register(context: RegisterContext, name: str) -> int | None:
    """Return a register, sub-register or flag by its lower-case name; None if the context lacks it."""
    name = _ALIASES.get(name, name)
    if name in context.values:
        return context.values[name]
    part = _SUB.get(name)
    if part is None or part[0] not in context.values:
        return None
    register, shift, width = part
    return context.values[register] >> shift & ((1 << width) - 1)


def flags_text(flags: int) -> str:
    """Spell the flags as ``r`` does: ``iopl=0         nv up ei pl zr na po nc``."""
    words = " ".join(on if flags >> bit & 1 else off for bit, on, off in _FLAG_WORDS)
    return f"iopl={flags >> 12 & 3:x}         {words}"


def update_context(data: bytes, values: dict[str, int]) -> bytes:
    """Return a ``CONTEXT`` record with some registers changed.

    The record's flags come out without the debug registers: what targets report in them may be junk, and must not be
    written back.

    Raises:
        FormatError: The record is too short, or has no register of a name.
    """
    raw = bytearray(data)
    decode_context(data)
    for name, value in values.items():
        if name in GENERAL:
            struct.pack_into("<Q", raw, 0x78 + 8 * GENERAL.index(name), value & MASK64)
        elif name == "rip":
            struct.pack_into("<Q", raw, 0xF8, value & MASK64)
        elif name == "efl":
            struct.pack_into("<I", raw, 0x44, value & 0xFFFFFFFF)
        elif name == "mxcsr":
            struct.pack_into("<I", raw, 0x34, value & 0xFFFFFFFF)
        elif name in _SEGMENTS:
            struct.pack_into("<H", raw, 0x38 + 2 * _SEGMENTS.index(name), value & 0xFFFF)
        elif name.startswith("xmm") and name[3:].isdigit() and int(name[3:]) < 16:
            _XMM.pack_into(raw, 0x1A0 + 16 * int(name[3:]), value & MASK64, value >> 64 & MASK64)
        else:
            raise FormatError(f"register {name} cannot be set through a context record")
    struct.pack_into("<I", raw, 0x30, CONTEXT_WITHOUT_DEBUG)
    return bytes(raw)


def with_debug_registers(data: bytes, values: dict[str, int]) -> bytes:
    """Return a whole ``CONTEXT`` record with its debug registers replaced: those that targets report may be junk."""
    raw = bytearray(data)
    struct.pack_into("<6Q", raw, 0x48, *(values.get(name, 0) for name in DEBUG_REGISTERS))
    struct.pack_into("<I", raw, 0x30, CONTEXT_ALL)
    return bytes(raw)


def decode_special_registers(data: bytes) -> dict[str, int]:
    """Decode ``KSPECIAL_REGISTERS`` as far as the data goes: control and debug registers, descriptor tables.

    Source: ``wdm.h``-era layouts of the Windows headers; sizes differ between versions, the start does not.
    """
    names: tuple[str, ...] = ("cr0", "cr2", "cr3", "cr4", "dr0", "dr1", "dr2", "dr3", "dr6", "dr7")
    words = struct.unpack_from(f"<{min(len(data) // 8, len(names))}Q", data)
    found: dict[str, int] = dict(zip(names, words, strict=False))
    if len(data) >= 0x74:
        found["gdtl"], found["gdtr"] = struct.unpack_from("<HQ", data, 0x56)
        found["idtl"], found["idtr"] = struct.unpack_from("<HQ", data, 0x66)
        found["tr"], found["ldtr"] = struct.unpack_from("<HH", data, 0x70)
    if len(data) >= 0xA8:
        found["cr8"] = struct.unpack_from("<Q", data, 0xA0)[0]
    return found
