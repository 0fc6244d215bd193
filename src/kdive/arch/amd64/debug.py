"""AMD64 debug registers: DR0 to DR3 hold addresses, DR7 says what is watched there.

Source: Intel SDM volume 3, chapter on debug registers; ``KSPECIAL_REGISTERS`` of the Windows headers.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.arch.watchpoint import Watchpoint

SLOTS = 4
_NOTHING = 0x400
"""DR7 with nothing enabled: bit 10 is always set."""

_ACCESS = {"e": 0, "w": 1, "i": 2, "r": 3}
_LENGTH = {1: 0, 2: 1, 8: 2, 4: 3}
_DR0, _DR6, _DR7 = 0x20, 0x40, 0x48


def debug_control(slots: Sequence[Watchpoint | None]) -> int:
    """DR7 for what the debug registers watch, by their numbers."""
    control = _NOTHING
    for number, watched in enumerate(slots):
        if watched is not None:
            control |= 1 << 2 * number
            control |= (_LENGTH[watched.size] << 2 | _ACCESS[watched.access]) << 16 + 4 * number
    return control


def with_debug_registers(special: bytes, slots: Sequence[Watchpoint | None]) -> bytes:
    """``KSPECIAL_REGISTERS`` with other debug registers, everything else being as it was."""
    changed = bytearray(special)
    for number in range(SLOTS):
        watched = slots[number] if number < len(slots) else None
        struct.pack_into("<Q", changed, _DR0 + 8 * number, 0 if watched is None else watched.address)
    struct.pack_into("<Q", changed, _DR6, 0)
    struct.pack_into("<Q", changed, _DR7, debug_control(slots))
    return bytes(changed)
