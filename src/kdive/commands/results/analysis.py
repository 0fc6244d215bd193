"""Results of crash analysis commands."""

from __future__ import annotations

import datetime

from kdive.commands.results import Address
from kdive.commands.results.stack import ExceptionInfo, Stack
from kdive.record import Record, field


class BugcheckParameter(Record, frozen=True):
    """A bugcheck parameter: its value, what it means, and the symbol that it points at."""

    value: Address
    meaning: str = ""
    symbol: str = ""


class BugcheckInfo(Record, frozen=True):
    """``.bugcheck``, and the decoded form of ``!analyze -show``."""

    code: Address
    name: str = ""
    meaning: str = ""
    parameters: list[BugcheckParameter] = field(default_factory=list[BugcheckParameter])
    explained: bool = False


class Suspect(Record, frozen=True):
    """A reason to suspect a module."""

    module: str
    image: str
    confidence: str
    reason: str


class Verdict(Record, frozen=True):
    """``!analyze``.

    Attributes:
        bugcheck: The bugcheck; None if the target did not crash.
        exception: The exception behind it.
        context: Where the registers came from.
        fault_address: The faulting instruction.
        fault_symbol: Symbol there.
        fault_instruction: The instruction.
        touched: The address that it touched.
        process_name: Process that was running.
        pid: Its identifier.
        thread: Thread that was running.
        stack: The stack from the exception.
        blackboxes: Commands that show the blackbox records of the dump.
        symbol_name: Symbol to blame.
        module_name: Module to blame.
        image_name: Its file.
        confidence: ``high``, ``medium`` or ``low``; ``none`` if nothing points anywhere.
        evidence: The reasons, strongest first.
        bucket: Name of this kind of failure.
        signature: The same for machines.
        findings: More that was noticed.
        system: Windows version.
        time: When it crashed.
        uptime: How long it had run.
        verbose: Show everything.
    """

    bugcheck: BugcheckInfo | None
    exception: ExceptionInfo | None
    context: str
    fault_address: Address | None
    fault_symbol: str = ""
    fault_instruction: str = ""
    touched: Address | None = None
    process_name: str = ""
    pid: int | None = None
    thread: Address | None = None
    stack: Stack | None = None
    blackboxes: list[str] = field(default_factory=list[str])
    symbol_name: str = ""
    module_name: str = ""
    image_name: str = ""
    confidence: str = "none"
    evidence: list[Suspect] = field(default_factory=list[Suspect])
    bucket: str = ""
    signature: str = ""
    findings: list[str] = field(default_factory=list[str])
    system: str = ""
    time: datetime.datetime | None = None
    uptime: datetime.timedelta | None = None
    verbose: bool = False


class CodeName(Record, frozen=True):
    """``!error``: names of a code in each table that has it."""

    code: Address
    names: dict[str, str] = field(default_factory=dict[str, str])
    severity: str = ""
    facility: int = 0
    customer: bool = False


class LastEvent(Record, frozen=True):
    """``.lastevent``."""

    text: str
    address: Address | None = None
    time: datetime.datetime | None = None


class TagBlock(Record, frozen=True):
    """A block of tagged secondary data."""

    guid: str
    size: int
    writer: str
    preview: bytes
    truncated: bool


class TagList(Record, frozen=True):
    """``.enumtag``; ``whole`` if one block was asked for."""

    blocks: list[TagBlock]
    whole: bool = False
