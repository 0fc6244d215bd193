"""The verdict on a crash: what happened, where, and whose fault it likely is.

Every conclusion carries the evidence for it. Nothing here needs symbols; with symbols the answers get names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kdive.errors import KdiveError
from kdive.nt.bugchecks import (
    LARGEST_SUBCODE,
    Bugcheck,
    Role,
    base_code,
    bugcheck,
    has_subcodes,
    parameter,
    parameter_number,
)
from kdive.nt.naming import module_name
from kdive.record import Record, field
from kdive.session.crash import crash_exception, exception_context, recorded_bugcheck
from kdive.session.findings import findings

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.formats.kernel_dump.header import ExceptionRecord
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame
    from kdive.symbols.images import Module

Confidence = Literal["high", "medium", "low", "none"]
_RANK: dict[Confidence, int] = {"high": 3, "medium": 2, "low": 1, "none": 0}
_KERNEL = frozenset({"nt", "hal"})
_FRAMEWORKS = frozenset(
    {
        "wdf01000",
        "fltmgr",
        "ndis",
        "storport",
        "classpnp",
        "portcls",
        "ks",
        "usbhub",
        "usbxhci",
        "ucx01000",
        "hidclass",
        "hidparse",
        "acpi",
        "pci",
        "ntfs",
        "refs",
        "tcpip",
        "netio",
        "fwpkclnt",
        "watchdog",
        "dxgkrnl",
        "dxgmms2",
        "win32k",
        "win32kbase",
        "win32kfull",
        "ci",
        "cng",
        "clfs",
        "mup",
        "rdbss",
        "wpprecorder",
        "verifierext",
    }
)
"""Microsoft's frameworks: they call drivers, so a frame of theirs says little while a driver's is near."""
_FRAME_KINDS = {
    "unwind": "found by unwinding",
    "chain": "found by the frame pointer chain",
    "context": "innermost",
    "scan": "found by scanning",
}
_ACCESS_VIOLATION = 0xC0000005
_STACK_FRAMES = 64
_STARTED_BY_HAND = frozenset({0xE2, 0x161, 0x1C8, 0x11C8, 0xDEADDEAD})


class Evidence(Record, frozen=True):
    """A reason to suspect a module."""

    module: str
    image: str
    confidence: Confidence
    reason: str


class Analysis(Record, frozen=True):
    """What :func:`analyze` found.

    Attributes:
        bugcheck: The code and its meaning; None if the target did not crash.
        parameters: The four parameters.
        parameter_symbols: A symbol for each parameter that is an address inside a module.
        exception: The exception record behind the crash.
        context: Registers at the exception, or of the processor.
        context_how: Where they came from.
        frames: The stack from there.
        fault_address: The faulting instruction; None if none is recorded, as in crashes that a check found.
        place: The address to blame: the faulting instruction, else the culprit's innermost frame.
        touched: The address that it touched.
        process_name: Process that was running.
        pid: Its identifier.
        thread: Address of the thread that was running.
        evidence: Reasons, strongest first.
        culprit: The module to blame, its image name, and how sure that is.
        bucket: A name for this kind of failure, in WinDbg's pattern.
        signature: The same for machines: ``bugcheck:000000d1|symbol:module!function``.
        findings: More that was noticed.
    """

    bugcheck: Bugcheck | None
    parameters: tuple[int, ...]
    parameter_symbols: tuple[str, ...]
    exception: ExceptionRecord | None
    context: RegisterContext | None
    context_how: str
    frames: list[StackFrame]
    fault_address: int | None
    place: int | None
    touched: int | None
    process_name: str
    pid: int | None
    thread: int | None
    evidence: list[Evidence]
    culprit: str
    culprit_image: str
    confidence: Confidence
    bucket: str
    signature: str = ""
    findings: list[str] = field(default_factory=list[str])


def analyze(session: Session) -> Analysis:
    """Work out what happened."""
    code, parameters = recorded_bugcheck(session)
    exception = crash_exception(session)
    context, how, frames = _stack(session)
    fault = _fault_address(session, code, parameters, exception, context if how else None)
    touched = _touched(code, parameters, exception)
    evidence = _evidence(session, code, parameters, exception, fault, frames)
    culprit, image, confidence = _culprit(evidence)
    place = _place(session, fault, culprit, frames)
    thread = session.thread
    process = session.current_process
    name, pid = "", None
    if process is not None:
        try:
            name, pid = process.name, process.pid
        except KdiveError:
            name = ""
    return Analysis(
        bugcheck(code, parameters) if code else None,
        parameters,
        tuple(_symbol(session, value) for value in parameters),
        exception,
        context,
        how,
        frames,
        fault,
        place,
        touched,
        name,
        pid,
        thread.address if thread is not None else session.kernel.triage_thread,
        evidence,
        culprit,
        image,
        confidence,
        _bucket(session, code, parameters, exception, place, culprit),
        _signature(session, code, exception, place, culprit),
        findings(session, code, parameters, exception, touched, fault, frames),
    )


def _symbol(session: Session, value: int) -> str:
    return (session.engine.name_of(value) or "") if value >> 47 else ""


def _stack(session: Session) -> tuple[RegisterContext | None, str, list[StackFrame]]:
    found = exception_context(session)
    if found is not None:
        return found[0], found[1], session.walk_stack(found[0], _STACK_FRAMES)
    try:
        context = session.base_context()
    except KdiveError:
        return None, "", []
    return context, "", session.walk_stack(context, _STACK_FRAMES)


def _fault_address(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    context: RegisterContext | None,
) -> int | None:
    candidates = [
        parameter(Role.IP, code, parameters),
        exception.address if exception is not None else None,
        context.ip if context is not None else None,
    ]
    known = [value for value in candidates if value]
    inside = next((value for value in known if session.engine.module_at(value) is not None), None)
    return inside if inside is not None else next(iter(known), None)


def _noticed(session: Session, frames: list[StackFrame]) -> StackFrame | None:
    """The first frame behind the bugcheck's own: where a check found the problem.

    A function's cold part has no symbol of its own, so that the nearest one may be a string literal's (```string'``): a
    frame with a name is taken before one without.
    """
    nameless: StackFrame | None = None
    for frame in frames:
        name = session.engine.name_of(frame.ip) or ""
        if frame.how == "context" or name.startswith(("nt!KeBugCheck", "nt!KiBugCheck")):
            continue
        if "!`string'" not in name:
            return frame
        nameless = nameless or frame
    return nameless


def _place(session: Session, fault: int | None, culprit: str, frames: list[StackFrame]) -> int | None:
    def inside(address: int) -> bool:
        module = session.engine.module_at(address)
        return module is not None and module.name == culprit

    if fault is not None and (not culprit or inside(fault)):
        return fault
    noticed = _noticed(session, frames)
    ordered = [noticed, *frames] if noticed is not None and inside(noticed.ip) else frames
    frame = next((entry for entry in ordered if inside(entry.ip)), None)
    return frame.ip if frame is not None else fault


def _touched(code: int, parameters: tuple[int, ...], exception: ExceptionRecord | None) -> int | None:
    if exception is not None and exception.code == _ACCESS_VIOLATION and len(exception.parameters) >= 2:
        return exception.parameters[1]
    return parameter(Role.TOUCHED, code, parameters)


def _evidence(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    fault: int | None,
    frames: list[StackFrame],
) -> list[Evidence]:
    found: list[Evidence] = []

    def blame(address: int | None, confidence: Confidence, reason: str) -> None:
        module = session.engine.module_at(address) if address else None
        if module is not None:
            _add(found, module, confidence, f"{reason}: {session.engine.name_of(address or 0)}")

    triage = session.kernel.triage
    if triage is not None and triage.broken_driver:
        name = triage.broken_driver
        found.append(Evidence(module_name(name), name, "high", "the kernel recorded it as the broken driver"))
    number = parameter_number(Role.IP, code)
    if number is not None:
        blame(parameter(Role.IP, code, parameters), "high", f"bugcheck parameter {number} points into it")
    if exception is not None:
        blame(exception.address, "medium", "the exception was raised in it")
    blame(fault, "medium", "the faulting instruction lies in it")
    by_hand = base_code(code) in _STARTED_BY_HAND
    for wanted, label in _FRAME_KINDS.items():
        frame = _first_driver_frame(session, frames, wanted)
        if frame is not None:
            # What stood on the stack when a person stopped the system did nothing wrong by that.
            confidence: Confidence = "medium" if wanted in ("unwind", "chain") and not by_hand else "low"
            blame(frame.ip, confidence, f"first driver frame on the stack, {label}")
    if not found:
        noticed = _noticed(session, frames)
        if noticed is not None:
            blame(noticed.ip, "low", "the problem was noticed in it")
        elif frames:
            blame(frames[0].ip, "low", "the processor stood in it")
    return sorted(found, key=lambda entry: -_RANK[entry.confidence])


def _add(found: list[Evidence], module: Module, confidence: Confidence, reason: str) -> None:
    name = module.name.lower()
    if name in _KERNEL:
        confidence = "none"
    elif name in _FRAMEWORKS:
        confidence = "medium" if confidence == "high" else "low"
    found.append(Evidence(module.name, module.image_name, confidence, reason))


def _first_driver_frame(session: Session, frames: list[StackFrame], how: str) -> StackFrame | None:
    framework: StackFrame | None = None
    for frame in frames:
        if frame.how != how:
            continue
        module = session.engine.module_at(frame.ip)
        if module is None or module.name.lower() in _KERNEL:
            continue
        if module.name.lower() not in _FRAMEWORKS:
            return frame
        framework = framework or frame
    return framework


def _culprit(evidence: list[Evidence]) -> tuple[str, str, Confidence]:
    """The module with the strongest evidence; more of it breaks ties. The kernel only if nothing else is left."""
    if not evidence:
        return "", "", "none"
    scores: dict[str, tuple[int, int]] = {}
    images: dict[str, str] = {}
    for entry in evidence:
        best, count = scores.get(entry.module, (0, 0))
        scores[entry.module] = (max(best, _RANK[entry.confidence]), count + 1)
        images[entry.module] = entry.image
    # max keeps the first of equals, and evidence is in order of strength and nearness.
    name = max(scores, key=lambda module: scores[module])
    levels: dict[int, Confidence] = {rank: level for level, rank in _RANK.items()}
    # A verdict that falls back on the kernel is weak, but it is one.
    confidence = levels[max(scores[name][0], _RANK["low"])]
    return name, images[name], confidence


def _kind(code: int, parameters: tuple[int, ...], exception: ExceptionRecord | None) -> str:
    base = base_code(code)
    if exception is not None and (not code or parameter_number(Role.CODE, code)):
        return "AV" if exception.code == _ACCESS_VIOLATION else f"0x{exception.code:X}"
    if parameters and parameters[0] <= LARGEST_SUBCODE and has_subcodes(code):
        return f"0x{base:X}_{parameters[0]:x}"
    return f"0x{base:X}"


def _bucket(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    place: int | None,
    culprit: str,
) -> str:
    """WinDbg's pattern: what happened, then where: ``AV_amdppm!WriteIoMemRawEx``."""
    kind = _kind(code, parameters, exception)
    nearest = session.engine.nearest(place) if place is not None else None
    if nearest is None:
        return f"{kind}_{culprit or 'unknown_module'}"
    if nearest.symbol is None:
        return f"{kind}_{nearest.module.name}+{nearest.displacement:#x}"
    return f"{kind}_{nearest.module.name}!{nearest.symbol.name}"


def _signature(session: Session, code: int, exception: ExceptionRecord | None, place: int | None, culprit: str) -> str:
    if code:
        kind = f"bugcheck:{code:08x}"
    elif exception is not None:
        kind = f"exception:{exception.code:08x}"
    else:
        return ""
    nearest = session.engine.nearest(place) if place is not None else None
    if nearest is not None and nearest.symbol is not None:
        return f"{kind}|symbol:{nearest.module.name}!{nearest.symbol.name}"
    module = nearest.module.name if nearest is not None else culprit
    return f"{kind}|module:{module}" if module else kind
