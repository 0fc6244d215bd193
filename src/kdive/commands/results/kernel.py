"""Results of process, thread and processor commands."""

from __future__ import annotations

import datetime

from kdive.commands.results import Address
from kdive.commands.results.stack import Stack
from kdive.record import Record, field


class ThreadCard(Record, frozen=True):
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

    address: Address
    tid: int = 0
    pid: int = 0
    teb: Address = 0
    state: str = ""
    wait_reason: str = ""
    start_address: Address = 0
    start_symbol: str = ""
    process: Address = 0
    process_name: str = ""
    attached: Address | None = None
    stack_base: Address = 0
    stack_limit: Address = 0
    priority: int = 0
    base_priority: int = 0
    processor: int | None = None
    irps: list[Address] = field(default_factory=list[int])
    stack: Stack | None = None
    notice: str = ""


class ProcessCard(Record, frozen=True):
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
        handles: Number of open handles, None if not readable, or not read in a list over a slow link.
        create_time: When it was created.
        vad_root: Root of its address-space tree.
        token: Address of its token.
        threads: Its threads, if asked for.
        details: More facts, label and text.
        thread_count: How many threads it has.
    """

    address: Address
    pid: int = 0
    parent_pid: int = 0
    name: str = ""
    peb: Address = 0
    directory_table_base: Address = 0
    session: int | None = None
    object_table: Address = 0
    handles: int | None = None
    create_time: datetime.datetime | None = None
    vad_root: Address = 0
    token: Address = 0
    threads: list[ThreadCard] = field(default_factory=list[ThreadCard])
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    thread_count: int = 0


class ProcessList(Record, frozen=True):
    """Processes; ``brief`` shows two lines each."""

    processes: list[ProcessCard]
    brief: bool = True
    notice: str = ""


class ScopeChanged(Record, frozen=True):
    """``.process`` or ``.thread`` without more to show."""

    text: str
    address: Address | None = None


class ProcessorRow(Record, frozen=True):
    """A processor."""

    number: int
    current: bool
    ip: Address | None = None
    symbol: str = ""
    thread: Address | None = None
    next_thread: Address | None = None
    idle_thread: Address | None = None
    note: str = ""
    stack: Stack | None = None


class ProcessorList(Record, frozen=True):
    """``~`` and ``!running``."""

    processors: list[ProcessorRow]
    running: bool = False


class FactSheet(Record, frozen=True):
    """A structure's essentials: a title, and rows of label and text.

    Attributes:
        title: What it is.
        address: Where it lies.
        facts: Label and text.
        values: The numbers behind the texts, by label.
    """

    title: str
    address: Address | None = None
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class CpuInfo(Record, frozen=True):
    """``!cpuinfo``: one row a processor."""

    rows: list[CpuRow]


class CpuRow(Record, frozen=True):
    """What a control block says of its processor."""

    number: int
    family: int
    model: int
    stepping: int
    mhz: int
    vendor: str
    features: Address = 0
    note: str = ""
