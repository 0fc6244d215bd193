"""Seeded damage to files."""

from __future__ import annotations

import os
import random
import struct

_INTERESTING = (
    *(0, 1, 2, 3, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0xFFFF, 0x10000),
    *(0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFF0, 0xFFFFFFFC, 0xFFFFFFFE, 0xFFFFFFFF, 0x00FFFFFF, 0x3FFFFFFF),
)


def rounds(normal: int) -> int:
    """How many inputs to try: ``normal`` times the whole number in ``KDIVE_FUZZ`` (1 if it is not set)."""
    return normal * max(int(os.environ.get("KDIVE_FUZZ") or 1), 1)


def _flip(data: bytearray, chance: random.Random, span: int) -> None:
    at = chance.randrange(span)
    data[at] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random, span: int) -> None:
    size = chance.choice((2, 4, 4, 4))
    at = chance.randrange(span) & ~1
    value = chance.choice(_INTERESTING) & ((1 << 8 * size) - 1)
    raw = value.to_bytes(size, "little")[: len(data) - at]
    data[at : at + len(raw)] = raw


def _nudge(data: bytearray, chance: random.Random, span: int) -> None:
    at = min(chance.randrange(span) & ~3, len(data) - 4)
    value = struct.unpack_from("<I", data, at)[0] + chance.choice((-4096, -16, -4, -1, 1, 4, 16, 4096))
    struct.pack_into("<I", data, at, value & 0xFFFFFFFF)


def _copy(data: bytearray, chance: random.Random, span: int) -> None:
    size = min(chance.choice((4, 16, 64, 512, 4096)), len(data))
    source = chance.randrange(len(data) - size + 1)
    at = min(chance.randrange(span), len(data) - size)
    data[at : at + size] = data[source : source + size]


def _truncate(data: bytearray, chance: random.Random, span: int) -> None:
    del span
    del data[chance.randrange(8, len(data)) :]


def mutate(data: bytes, seed: int, hot: int | None = None) -> bytes:
    """Return a damaged copy of ``data``, the same for the same seed.

    Args:
        data: The whole input, at least 16 bytes.
        seed: Chooses the damage.
        hot: Half of the damage goes to the first so many bytes.
    """
    chance = random.Random(seed)
    damaged = bytearray(data)
    kinds = (_flip, _flip, _overwrite, _overwrite, _nudge, _copy)
    for _ in range(chance.choice((1, 2, 4, 16, 64))):
        span = min(hot, len(damaged)) if hot and chance.random() < 0.5 else len(damaged)
        chance.choice(kinds)(damaged, chance, span)
    if chance.random() < 0.1:
        _truncate(damaged, chance, len(damaged))
    return bytes(damaged)
