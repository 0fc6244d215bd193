"""How addresses are written for people and for programs."""

from __future__ import annotations

MASK64 = (1 << 64) - 1
USER_SPACE_END = 1 << 47
"""First address above user space, on AMD64 and ARM64 Windows with 4-level tables."""


def format_address(address: int, pointer_size: int = 8) -> str:
    """Write an address as WinDbg does: ``fffff803`1a2b3c4d`` (64-bit) or ``8053db18`` (32-bit)."""
    if pointer_size == 4:
        return f"{address & 0xFFFFFFFF:08x}"
    address &= MASK64
    return f"{address >> 32:08x}`{address & 0xFFFFFFFF:08x}"


def json_address(address: int) -> str:
    """Write an address for JSON: ``0x…`` in lower-case hex."""
    return f"{address & MASK64:#x}"


def sign_extend(value: int, bits: int) -> int:
    """Read the low ``bits`` bits of ``value`` as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
