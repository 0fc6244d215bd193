"""Results of session and target commands."""

from __future__ import annotations

import datetime

from kdive.commands.results import Address
from kdive.record import Record, field


class TargetVersion(Record, frozen=True):
    """``vertarget``.

    Attributes:
        system: Windows version in words (``Windows 10 Kernel Version 19041``).
        machine: ``x64`` or ``ARM64``.
        processors: Number of processors.
        free: Free (retail) build.
        product: Product type and suites in words.
        build_lab: ``NtBuildLab`` text, if the target holds it.
        kernel_base: Load address of the kernel.
        module_list: Address of ``PsLoadedModuleList``.
        time: When the system stopped.
        uptime: How long it had run.
        target: What was opened.
        details: More facts of the dump header, label and text.
        notices: What the user should know.
    """

    system: str
    machine: str
    processors: int
    free: bool
    product: str
    build_lab: str
    kernel_base: Address | None
    module_list: Address | None
    time: datetime.datetime | None = None
    uptime: datetime.timedelta | None = None
    target: str = ""
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    notices: list[str] = field(default_factory=list[str])


class TargetTime(Record, frozen=True):
    """``.time``."""

    time: datetime.datetime | None
    uptime: datetime.timedelta | None


class Capabilities(Record, frozen=True):
    """``capabilities``: every capability and whether the target has it."""

    capabilities: dict[str, bool]


class Status(Record, frozen=True):
    """``status``.

    Attributes:
        running: Whether the target runs; a dump never does.
        rip: Instruction pointer of the present context.
        symbol: Symbol there.
        current_thread: Address of the thread in scope.
        attached_process: Process chosen with ``.process``.
        stopped_process: Process that the stopped processor ran in.
        processor: Processor in scope.
        kernel_base: Load address of the kernel.
        reason: Why the target stopped.
    """

    running: bool
    rip: Address | None
    symbol: str | None = None
    current_thread: Address | None = None
    attached_process: str | None = None
    stopped_process: str | None = None
    processor: int = 0
    kernel_base: Address | None = None
    reason: str = ""
