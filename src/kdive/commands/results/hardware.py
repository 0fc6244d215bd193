"""Results of commands that look at the machine below the system."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class RegisterValue(Record, frozen=True):
    """``rdmsr``, ``wrmsr``: a model-specific or system register.

    Attributes:
        register: Its number.
        value: What it holds.
        processor: Whose it is.
        name: Its name, if it was asked for by name.
        written: Whether the value was written.
    """

    register: Address
    value: Address
    processor: int
    name: str = ""
    written: bool = False


class PortValue(Record, frozen=True):
    """``ib``, ``ob`` and the like: an I/O port.

    Attributes:
        port: Its number.
        size: Bytes that were moved.
        value: What was read or written.
        written: Whether it was written.
    """

    port: Address
    size: int
    value: Address
    written: bool = False


class BaseRegister(Record, frozen=True):
    """A base address register of a PCI function.

    Attributes:
        index: Its number, 0 to 5.
        space: ``io``, ``memory`` or ``memory64``.
        address: Where it decodes.
        prefetchable: Whether memory there may be read ahead.
    """

    index: int
    space: str
    address: Address
    prefetchable: bool = False


class PciFunctionRow(Record, frozen=True):
    """A PCI function.

    Attributes:
        bus: Bus.
        device: Device.
        function: Function.
        vendor_id: Vendor.
        device_id: Device of the vendor.
        revision: Revision.
        command: Command register.
        status: Status register.
        class_code: Class, subclass and programming interface.
        class_name: The class in words.
        subsystem: Subsystem vendor and device, if it has them.
        secondary_bus: The bus behind a bridge.
        bars: Its base address registers, if they were asked for.
        raw: Configuration space, if it was asked for.
    """

    bus: int
    device: int
    function: int
    vendor_id: int
    device_id: int
    revision: int
    command: int
    status: int
    class_code: int
    class_name: str
    subsystem: tuple[int, int] | None = None
    secondary_bus: int | None = None
    bars: list[BaseRegister] = field(default_factory=list[BaseRegister])
    raw: bytes = b""


class PciBuses(Record, frozen=True):
    """``!pci``.

    Attributes:
        buses: The buses that were scanned, ascending.
        functions: What is on them.
        raw_size: Bytes a cell of the raw display holds.
        requests: How many requests it took.
    """

    buses: list[int]
    functions: list[PciFunctionRow]
    raw_size: int = 1
    requests: int = 0


class GateRow(Record, frozen=True):
    """A gate of the interrupt descriptor table.

    Attributes:
        vector: Its number.
        handler: Where it leads.
        symbol: Symbol there.
        selector: Code segment.
        type: ``Interrupt`` or ``Trap`` gate, or a number.
        dpl: Privilege that may use it.
        present: Whether it is in force.
        stack: Stack that it switches to, if it does.
        interrupt: Address of the connected ``_KINTERRUPT``.
        service: Its service routine.
        service_symbol: Symbol there.
        note: What is unusual.
    """

    vector: int
    handler: Address
    symbol: str
    selector: int
    type: str
    dpl: int
    present: bool
    stack: Address | None = None
    interrupt: Address | None = None
    service: Address | None = None
    service_symbol: str = ""
    note: str = ""


class InterruptTable(Record, frozen=True):
    """``!idt``."""

    processor: int
    base: Address
    gates: list[GateRow]
    hidden: int = 0


class SegmentRow(Record, frozen=True):
    """A descriptor: ``dg``, ``!gdt``.

    Attributes:
        selector: The selector that chooses it.
        base: Start of the segment.
        limit: Its last byte.
        type: Type in WinDbg's words.
        dpl: Privilege level.
        wide: Whether it is a segment of 32 bits.
        page_granular: Whether the limit counts pages.
        present: Whether it is in force.
        long: Whether it is a segment of 64-bit code.
        flags: The raw attribute bits.
        note: Why there is nothing to show.
    """

    selector: int
    base: Address
    limit: Address
    type: str
    dpl: int = 0
    wide: bool = False
    page_granular: bool = False
    present: bool = False
    long: bool = False
    flags: int = 0
    note: str = ""


class SegmentTable(Record, frozen=True):
    """Descriptors, with the table that they are in."""

    processor: int
    base: Address
    limit: int | None
    rows: list[SegmentRow]


class LocalVector(Record, frozen=True):
    """An entry of the local vector table."""

    name: str
    value: int
    vector: int
    delivery: str
    level: bool
    low: bool
    masked: bool
    mode: str = ""


class LocalApic(Record, frozen=True):
    """``!apic``.

    Attributes:
        processor: Whose it is.
        base: Physical address of its page.
        x2apic: Whether it is reached through model-specific registers.
        enabled: Whether it is switched on.
        id: Its number.
        version: Version register.
        logical: Logical destination register.
        format: Destination format register, None in x2APIC mode.
        task_priority: Task priority.
        processor_priority: Processor priority, what the IRQL comes of.
        timer_initial: Initial count of the timer.
        timer_current: Current count of the timer.
        timer_divide: Divide configuration.
        spurious: Spurious vector register.
        error: Error status register.
        command: Interrupt command register.
        vectors: Local vector table.
        in_service: Vectors in service.
        trigger_mode: Vectors that are level triggered.
        requested: Vectors that wait.
    """

    processor: int
    base: Address
    x2apic: bool
    enabled: bool
    id: int
    version: int
    logical: int
    format: int | None
    task_priority: int
    processor_priority: int
    timer_initial: int
    timer_current: int
    timer_divide: int
    spurious: int
    error: int
    command: Address
    vectors: list[LocalVector]
    in_service: list[int]
    trigger_mode: list[int]
    requested: list[int]
