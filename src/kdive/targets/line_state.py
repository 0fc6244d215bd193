"""What a line to a target looks like while nobody answers, and what to check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.record import Record

if TYPE_CHECKING:
    from kdive.wire.kd.link import LinkCounters


class LineState(Record, frozen=True):
    """What is seen.

    Attributes:
        kind: ``silent``, ``junk``, ``damaged``, ``resets`` or ``packets``; changes are worth telling.
        seen: The same in words.
        hint: What to check next.
    """

    kind: str
    seen: str
    hint: str


def line_state(counters: LinkCounters) -> LineState:
    """Say what the bytes so far look like."""
    if counters.bytes_in == 0:
        return LineState(
            "silent",
            "nothing came back at all",
            "is the guest running with debugging on (bcdedit /debug on; /dbgsettings serial), and on this port?",
        )
    if counters.received:
        return LineState(
            "packets", f"{counters.received} packets, and no stop", "the guest may be too busy to stop; try again"
        )
    if counters.damaged:
        return LineState(
            "damaged",
            f"{counters.damaged} damaged packets and no good one",
            "check the baud rate and that nothing else writes to this port",
        )
    if counters.target_resets:
        return LineState("resets", "resets, and no state change", "another debugger may hold the target")
    return LineState(
        "junk",
        f"{counters.bytes_in} bytes that are no KD packets",
        "another program may use this serial port (a console, a boot loader)",
    )
