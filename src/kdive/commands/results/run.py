"""Results of run control."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.commands.results.stack import Registers
from kdive.record import Record, field


class StopReport(Record, frozen=True):
    """Where and why the target stands still.

    Attributes:
        kind: ``breakpoint``, ``watchpoint``, ``step``, ``break``, ``exception``, ``bugcheck``, ``module``, ``prompt``,
            ``target_reloaded`` or ``lost``.
        text: The reason in words.
        ip: Where it stands.
        symbol: Symbol there.
        breakpoint: Number of the breakpoint that was hit.
        registers: The registers, with the next instruction.
        output: What the target printed meanwhile.
        notes: What happened meanwhile without stopping the target.
    """

    kind: str
    text: str
    ip: Address | None = None
    symbol: str = ""
    breakpoint: int | None = None
    registers: Registers | None = None
    output: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


class BreakpointRow(Record, frozen=True):
    """A breakpoint.

    Attributes:
        id: Its number.
        enabled: Whether it stops the target.
        address: Where it is, None while it waits for its module.
        symbol: Symbol there, or what it waits for.
        deferred: Whether it follows a name when modules come and go.
        access: What a debug register watches for: ``e``, ``w``, ``r`` or ``i``; empty for an instruction.
        size: Bytes that a debug register watches.
        hits: How often it was hit.
        left: How many hits until it stops the target.
        passes: At which hit it stops the target.
        once: Whether it goes when it has stopped the target.
        process: The process that it is for, 0 for any.
        thread: The thread that it is for, 0 for any.
        processor: The processor that it is for, None for any.
        condition: Expression that must not be zero.
        commands: What runs when it stops the target.
    """

    id: int
    enabled: bool
    address: Address | None
    symbol: str
    deferred: bool = False
    access: str = ""
    size: int = 1
    hits: int = 0
    left: int = 1
    passes: int = 1
    once: bool = False
    process: Address = 0
    thread: Address = 0
    processor: int | None = None
    condition: str = ""
    commands: str = ""


class BreakpointList(Record, frozen=True):
    """``bl``."""

    breakpoints: list[BreakpointRow]


class FilterRow(Record, frozen=True):
    """What becomes of an event.

    Attributes:
        alias: Its short name.
        name: What it is.
        code: The exception code, None for other events.
        mode: ``break``, ``second`` (second chance only), ``notify`` or ``ignore``.
        handled: Whether an exception counts as handled when the target goes on.
        module: Pattern of modules, for module events.
        commands: What runs when it stops the target.
    """

    alias: str
    name: str
    code: Address | None
    mode: str
    handled: bool
    module: str = ""
    commands: str = ""


class FilterList(Record, frozen=True):
    """``sx``."""

    filters: list[FilterRow]


class TraceRow(Record, frozen=True):
    """A call that ``wt`` has followed: instructions of its own, and of what it called."""

    depth: int
    symbol: str
    instructions: int
    called: int


class TraceReport(Record, frozen=True):
    """``wt``.

    Attributes:
        calls: The calls, in order.
        instructions: All instructions.
        stop: Where the target stands.
    """

    calls: list[TraceRow]
    instructions: int
    stop: StopReport
