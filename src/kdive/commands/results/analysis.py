"""Results of crash analysis commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kdive.commands.results import address_field

if TYPE_CHECKING:
    import datetime

    from kdive.commands.results.stack import ExceptionInfo, Stack


@dataclass(frozen=True)
class BugcheckParameter:
    """A bugcheck parameter: its value, what it means, and the symbol that it points at."""

    value: int = address_field()
    meaning: str = ""
    symbol: str = ""


@dataclass(frozen=True)
class BugcheckInfo:
    """``.bugcheck``, and the decoded form of ``!analyze -show``."""

    code: int = address_field()
    name: str = ""
    meaning: str = ""
    parameters: list[BugcheckParameter] = field(default_factory=list[BugcheckParameter])
    explained: bool = False


@dataclass(frozen=True)
class Suspect:
    """A reason to suspect a module."""

    module: str
    image: str
    confidence: str
    reason: str


@dataclass(frozen=True)
class Verdict:
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
    fault_address: int | None = address_field()
    fault_symbol: str = ""
    fault_instruction: str = ""
    touched: int | None = address_field(default=None)
    process_name: str = ""
    pid: int | None = None
    thread: int | None = address_field(default=None)
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


@dataclass(frozen=True)
class CodeName:
    """``!error``: names of a code in each table that has it."""

    code: int = address_field()
    names: dict[str, str] = field(default_factory=dict[str, str])
    severity: str = ""
    facility: int = 0
    customer: bool = False


@dataclass(frozen=True)
class LastEvent:
    """``.lastevent``."""

    text: str
    address: int | None = address_field(default=None)
    time: datetime.datetime | None = None


@dataclass(frozen=True)
class TagBlock:
    """A block of tagged secondary data."""

    guid: str
    size: int
    writer: str
    preview: bytes
    truncated: bool


@dataclass(frozen=True)
class TagList:
    """``.enumtag``; ``whole`` if one block was asked for."""

    blocks: list[TagBlock]
    whole: bool = False
