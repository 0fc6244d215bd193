"""Results of process, thread and processor commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kdive.commands.results import address_field

if TYPE_CHECKING:
    import datetime

    from kdive.commands.results.stack import Stack


@dataclass(frozen=True)
class ThreadCard:
    """A thread.

    Attributes:
        address: Address of its ``_ETHREAD``.
        tid: Thread identifier.
        pid: Identifier of its process.
        teb: Address of its TEB.
        state: Scheduler state.
        wait_reason: Why it waits.
        start_address: Where it began.
        start_symbol: Symbol there.
        process: Address of its ``_EPROCESS``.
        process_name: Name of its process.
        attached: Address of the process that it is attached to, if another.
        stack_base: End of its kernel stack.
        stack_limit: Lowest address of its kernel stack.
        priority: Current priority.
        base_priority: Base priority.
        processor: Processor that it runs on, None if it does not run.
        irps: Addresses of its pending IRPs.
        stack: Its call stack, if asked for.
        notice: What could not be read.
    """

    address: int = address_field()
    tid: int = 0
    pid: int = 0
    teb: int = address_field(default=0)
    state: str = ""
    wait_reason: str = ""
    start_address: int = address_field(default=0)
    start_symbol: str = ""
    process: int = address_field(default=0)
    process_name: str = ""
    attached: int | None = address_field(default=None)
    stack_base: int = address_field(default=0)
    stack_limit: int = address_field(default=0)
    priority: int = 0
    base_priority: int = 0
    processor: int | None = None
    irps: list[int] = address_field(default_factory=list)
    stack: Stack | None = None
    notice: str = ""


@dataclass(frozen=True)
class ProcessCard:
    """A process.

    Attributes:
        address: Address of its ``_EPROCESS``.
        pid: Process identifier.
        parent_pid: Identifier of its creator.
        name: Image name.
        peb: Address of its PEB.
        directory_table_base: Root page table.
        session: Session number.
        object_table: Address of its handle table.
        handles: Number of open handles, None if not readable.
        create_time: When it was created.
        vad_root: Root of its address-space tree.
        token: Address of its token.
        threads: Its threads, if asked for.
        details: More facts, label and text.
        thread_count: How many threads it has.
    """

    address: int = address_field()
    pid: int = 0
    parent_pid: int = 0
    name: str = ""
    peb: int = address_field(default=0)
    directory_table_base: int = address_field(default=0)
    session: int | None = None
    object_table: int = address_field(default=0)
    handles: int | None = None
    create_time: datetime.datetime | None = None
    vad_root: int = address_field(default=0)
    token: int = address_field(default=0)
    threads: list[ThreadCard] = field(default_factory=list[ThreadCard])
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    thread_count: int = 0


@dataclass(frozen=True)
class ProcessList:
    """Processes; ``brief`` shows two lines each."""

    processes: list[ProcessCard]
    brief: bool = True
    notice: str = ""


@dataclass(frozen=True)
class ScopeChanged:
    """``.process`` or ``.thread`` without more to show."""

    text: str
    address: int | None = address_field(default=None)


@dataclass(frozen=True)
class ProcessorRow:
    """A processor."""

    number: int
    current: bool
    ip: int | None = address_field(default=None)
    symbol: str = ""
    thread: int | None = address_field(default=None)
    next_thread: int | None = address_field(default=None)
    idle_thread: int | None = address_field(default=None)
    note: str = ""
    stack: Stack | None = None


@dataclass(frozen=True)
class ProcessorList:
    """``~`` and ``!running``."""

    processors: list[ProcessorRow]
    running: bool = False


@dataclass(frozen=True)
class FactSheet:
    """A structure's essentials: a title, and rows of label and text.

    Attributes:
        title: What it is.
        address: Where it lies.
        facts: Label and text.
        values: The numbers behind the texts, by label.
    """

    title: str
    address: int | None = address_field(default=None)
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True)
class CpuInfo:
    """``!cpuinfo``: one row a processor."""

    rows: list[CpuRow]


@dataclass(frozen=True)
class CpuRow:
    """What a control block says of its processor."""

    number: int
    family: int
    model: int
    stepping: int
    mhz: int
    vendor: str
    features: int = address_field(default=0)
    note: str = ""
