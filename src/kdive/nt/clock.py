"""The clock that the kernel shows to everybody: ``KUSER_SHARED_DATA`` (ntddk.h), at a fixed address."""

from __future__ import annotations

import datetime
import struct
from typing import TYPE_CHECKING

from kdive.errors import MemoryAccessError
from kdive.formats.kernel_dump.header import filetime
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.memory.interface import Memory

SHARED_DATA = 0xFFFFF78000000000
_INTERRUPT_TIME = 0x08
_TIMES = struct.Struct("<IiiIii")
"""``InterruptTime`` and ``SystemTime``, a ``KSYSTEM_TIME`` each: the low part and the high part twice."""


class Clock(Record, frozen=True):
    """What a system's clock says.

    Attributes:
        time: Date and time (UTC), None if not known.
        uptime: Time since the boot, None if not known.
    """

    time: datetime.datetime | None = None
    uptime: datetime.timedelta | None = None


def read_clock(memory: Memory) -> Clock:
    """Read the clock of a system that stands still; empty if it is not there."""
    try:
        raw = memory.read(SHARED_DATA + _INTERRUPT_TIME, _TIMES.size)
    except MemoryAccessError:
        return Clock()
    low, high, _, system_low, system_high, _ = _TIMES.unpack(raw)
    interrupt, system = high << 32 | low, system_high << 32 | system_low
    return Clock(
        filetime(system) if system > 0 else None,
        datetime.timedelta(microseconds=interrupt // 10) if interrupt > 0 else None,
    )
