"""Results of run control."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.commands.results.stack import Registers
from kdive.record import Record, field


class StopReport(Record, frozen=True):
    """Where and why the target stands still.

    Attributes:
        kind: ``breakpoint``, ``step``, ``break``, ``exception``, ``bugcheck``, ``prompt``, ``target_reloaded`` or
            ``lost``.
        text: The reason in words.
        ip: Where it stands.
        symbol: Symbol there.
        breakpoint: Number of the breakpoint that was hit.
        registers: The registers, with the next instruction.
        output: What the target printed meanwhile.
    """

    kind: str
    text: str
    ip: Address | None = None
    symbol: str = ""
    breakpoint: int | None = None
    registers: Registers | None = None
    output: list[str] = field(default_factory=list[str])


class BreakpointRow(Record, frozen=True):
    """A breakpoint.

    Attributes:
        id: Its number.
        enabled: Whether it stops the target.
        address: Where it is.
        symbol: Symbol there.
        hits: How often it was hit.
        passes: How many hits until it stops the target.
        commands: What runs when it is hit.
    """

    id: int
    enabled: bool
    address: Address
    symbol: str
    hits: int
    passes: int
    commands: str


class BreakpointList(Record, frozen=True):
    """``bl``."""

    breakpoints: list[BreakpointRow]
