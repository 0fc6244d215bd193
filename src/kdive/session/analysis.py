"""The verdict on a crash: what happened, where, and whose fault it likely is.

Every conclusion carries the evidence for it. Nothing here needs symbols; with symbols the answers get names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kdive.errors import KdiveError
from kdive.nt.bugchecks import Bugcheck, Role, base_code, bugcheck, parameter, parameter_number
from kdive.nt.naming import module_name
from kdive.nt.status import FAST_FAIL_CODES, status_name
from kdive.session.crash import crash_exception, exception_context

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
_STACK_FRAMES = 64
_LOW_ADDRESS = 0x10000


@dataclass(frozen=True)
class Evidence:
    """A reason to suspect a module."""

    module: str
    image: str
    confidence: Confidence
    reason: str


@dataclass(frozen=True)
class Analysis:
    """What :func:`analyze` found.

    Attributes:
        bugcheck: The code and its meaning; None if the target did not crash.
        parameters: The four parameters.
        parameter_symbols: A symbol for each parameter that is an address inside a module.
        exception: The exception record behind the crash.
        context: Registers at the exception, or of the processor.
        context_how: Where they came from.
        frames: The stack from there.
        fault_address: The faulting instruction.
        touched: The address that it touched.
        process_name: Process that was running.
        pid: Its identifier.
        thread: Address of the thread that was running.
        evidence: Reasons, strongest first.
        culprit: The module to blame, its image name, and how sure that is.
        bucket: A name for this kind of failure.
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
    touched: int | None
    process_name: str
    pid: int | None
    thread: int | None
    evidence: list[Evidence]
    culprit: str
    culprit_image: str
    confidence: Confidence
    bucket: str
    findings: list[str] = field(default_factory=list[str])


def analyze(session: Session) -> Analysis:
    """Work out what happened."""
    dump = session.dump
    header = dump.dump.header if dump is not None else None
    code = header.bugcheck_code if header is not None else 0
    parameters = header.bugcheck_parameters if header is not None else ()
    exception = crash_exception(session)
    context, how, frames = _stack(session)
    fault = _fault_address(session, code, parameters, exception, context if how else None, frames)
    touched = _touched(code, parameters, exception)
    evidence = _evidence(session, code, parameters, exception, fault, frames)
    culprit, image, confidence = _culprit(evidence)
    thread = session.thread
    process = session.current_process
    name, pid = "", None
    if process is not None:
        try:
            name, pid = process.name, process.pid
        except KdiveError:
            name = ""
    return Analysis(
        bugcheck(code) if code else None,
        parameters,
        tuple(_symbol(session, value) for value in parameters),
        exception,
        context,
        how,
        frames,
        fault,
        touched,
        name,
        pid,
        thread.address if thread is not None else session.kernel.triage_thread,
        evidence,
        culprit,
        image,
        confidence,
        _bucket(session, code, exception, fault, culprit, frames),
        _findings(session, code, parameters, exception, touched, fault, frames),
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
    frames: list[StackFrame],
) -> int | None:
    candidates = [
        parameter(Role.IP, code, parameters) if parameters else None,
        exception.address if exception is not None else None,
        context.ip if context is not None else None,
    ]
    known = [value for value in candidates if value]
    inside = next((value for value in known if session.engine.module_at(value) is not None), None)
    if inside is None and not known:
        # No address is recorded: the first frame behind the bugcheck's own is where it was noticed.
        return next((frame.ip for frame in frames if not _is_bugcheck_frame(session, frame)), None)
    return inside if inside is not None else known[0]


def _is_bugcheck_frame(session: Session, frame: StackFrame) -> bool:
    name = session.engine.name_of(frame.ip) or ""
    return frame.how == "context" or name.startswith(("nt!KeBugCheck", "nt!KiBugCheck"))


def _touched(code: int, parameters: tuple[int, ...], exception: ExceptionRecord | None) -> int | None:
    if exception is not None and exception.code == 0xC0000005 and len(exception.parameters) >= 2:
        return exception.parameters[1]
    return parameter(Role.TOUCHED, code, parameters) if parameters else None


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
    if parameters:
        number = parameter_number(Role.IP, code)
        blame(parameter(Role.IP, code, parameters), "high", f"bugcheck parameter {number} points into it")
    if exception is not None:
        blame(exception.address, "medium", "the exception was raised in it")
    blame(fault, "medium", "the faulting instruction lies in it")
    for wanted, confidence in (("unwind", "medium"), ("chain", "medium"), ("context", "low"), ("scan", "low")):
        frame = _first_driver_frame(session, frames, wanted)
        if frame is not None:
            how = {
                "unwind": "found by unwinding",
                "chain": "found by the frame pointer chain",
                "scan": "found by scanning",
            }.get(wanted, "innermost")
            blame(frame.ip, "medium" if confidence == "medium" else "low", f"first driver frame on the stack, {how}")
    if not found and frames:
        blame(frames[0].ip, "low", "the processor stood in it")
    return sorted(found, key=lambda entry: -_RANK[entry.confidence])


def _add(found: list[Evidence], module: Module, confidence: Confidence, reason: str) -> None:
    name = module.name.lower()
    if name in _KERNEL:
        confidence = "none"
    elif name in _FRAMEWORKS and confidence != "high":
        confidence = "low"
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
    confidence = levels[scores[name][0]]
    return name, images[name], confidence


def _bucket(
    session: Session,
    code: int,
    exception: ExceptionRecord | None,
    fault: int | None,
    culprit: str,
    frames: list[StackFrame],
) -> str:
    """WinDbg's pattern: what happened, then where: ``AV_amdppm!WriteIoMemRawEx``."""
    base = base_code(code)
    kind = f"0x{base:X}"
    exception_code = exception.code if exception is not None else 0
    if parameter_number(Role.CODE, code) and exception_code:
        kind = "AV" if exception_code == 0xC0000005 else f"0x{exception_code:X}"
    place = fault
    module = session.engine.module_at(place) if place else None
    if module is None or (culprit and module.name != culprit):
        frame = next(
            (entry for entry in frames if (found := session.engine.module_at(entry.ip)) and found.name == culprit), None
        )
        place = frame.ip if frame is not None else place
    nearest = session.engine.nearest(place) if place else None
    if nearest is None:
        return f"{kind}_{culprit or 'unknown_module'}"
    if nearest.symbol is None:
        return f"{kind}_{nearest.module.name}+{nearest.displacement:#x}"
    return f"{kind}_{nearest.module.name}!{nearest.symbol.name}"


def _findings(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    touched: int | None,
    fault: int | None,
    frames: list[StackFrame],
) -> list[str]:
    base = base_code(code)
    notes: list[str] = []
    if touched is not None:
        if touched < _LOW_ADDRESS:
            notes.append(f"the address touched ({touched:#x}) is near zero: a null pointer was followed")
        elif 0x0000_7FFF_FFFF_FFFF < touched < 0xFFFF_8000_0000_0000:
            notes.append(f"the address touched ({touched:#x}) is not canonical: the pointer is garbage")
        elif exception is not None and touched == 0xFFFF_FFFF_FFFF_FFFF:
            notes.append("the processor did not give the address: likely a pointer that is not canonical")
    irql = parameter(Role.IRQL, code, parameters) if parameters else None
    if irql is not None and irql >= 2:
        notes.append(f"the access was made at IRQL {irql}, where page faults cannot be served")
    if base == 0x139 and parameters:
        notes.append(f"subcode: {FAST_FAIL_CODES.get(parameters[0], 'not known')}")
    if base == 0x124:
        notes.append("the hardware reported this: the drivers on the stack are likely not at fault")
    if base in (0x19, 0xC2, 0xC5, 0x13A):
        notes.append("pool is damaged: the module found here may be the victim; Driver Verifier finds the writer")
    if base in (0x1A, 0x4E, 0x12B):
        notes.append("memory management structures are damaged: bad memory modules and stray writes both do this")
    if base in (0x7A, 0x77, 0xF4) and len(parameters) > 1:
        status = status_name(parameters[0 if base == 0x77 else 1])
        if status:
            notes.append(f"the read from disk failed with {status}: check the storage device")
    if base in (0xE2, 0x1C8):
        notes.append("a person started this crash: look at what hung, not at the code that crashed")
    for address in (*parameters, fault or 0):
        notes.extend(
            f"{address:#x} lies where the unloaded driver {entry.name} was"
            for entry in session.kernel.unloaded_modules
            if entry.start <= address < entry.end
        )
    if frames and any(frame.how == "scan" for frame in frames):
        notes.append("frames marked [scan] are guesses: the image that would tell is not at hand")
    dump = session.dump
    if dump is not None:
        notes.extend(f"the dump is incomplete: it lacks {part}" for part in dump.dump.missing)
        if dump.dump.secondary:
            notes.append(f"{len(dump.dump.secondary)} blocks of tagged data are in the dump (.enumtag lists them)")
    return list(dict.fromkeys(notes))
