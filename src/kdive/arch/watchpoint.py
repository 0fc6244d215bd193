"""What debug registers watch, whatever the architecture."""

from __future__ import annotations

from typing import Literal

from kdive.record import Record

Access = Literal["e", "w", "r", "i"]


class Watchpoint(Record, frozen=True):
    """What a debug register watches.

    Attributes:
        address: Where; aligned to ``size``.
        size: Bytes: 1, 2, 4 or 8; 1 for execution.
        access: ``e`` execution, ``w`` writes, ``r`` reads and writes, ``i`` port input and output.
    """

    address: int
    size: int
    access: Access
