"""What crashed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.analysis import (
    BugcheckInfo,
    BugcheckParameter,
    CodeName,
    LastEvent,
    Suspect,
    TagBlock,
    TagList,
    Verdict,
)
from kdive.commands.results.stack import Stack
from kdive.commands.spec import Group, command
from kdive.commands.stack import exception_info, frame_info
from kdive.commands.target import MACHINE_NAMES
from kdive.errors import CommandError
from kdive.nt.blackbox import BLACKBOXES
from kdive.nt.bugchecks import bugcheck
from kdive.nt.secondary import writer_of
from kdive.nt.status import names
from kdive.nt.version import system_name
from kdive.session.analysis import analyze
from kdive.session.crash import recorded_bugcheck
from kdive.session.disassembly import instruction_line
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.session import Session

_BRIEF_FRAMES = 20
_VERBOSE_FRAMES = 64
_PREVIEW = 64
_WIN32_HRESULT = 0x8007
"""Upper half of an HRESULT that wraps a Win32 code."""
_SEVERITIES = ("success", "informational", "warning", "error")


def bugcheck_info(session: Session, code: int, parameters: tuple[int, ...], *, explained: bool) -> BugcheckInfo:
    """Describe a bugcheck."""
    known = bugcheck(code, parameters)
    rows = [
        BugcheckParameter(value, meaning, (session.engine.name_of(value) or "") if value >> 47 else "")
        for value, meaning in zip(parameters, known.parameters, strict=False)
    ]
    return BugcheckInfo(code, known.name, known.meaning, rows, explained)


def verdict_of(session: Session, *, verbose: bool) -> Verdict:
    """Analyse the target and describe the outcome."""
    analysis = analyze(session)
    limit = _VERBOSE_FRAMES if verbose else _BRIEF_FRAMES
    frames = analysis.frames
    infos = [frame_info(session, index, frames) for index in range(min(limit, len(frames)))]
    stack = Stack(infos, "k", len(frames) > limit) if infos else None
    info = None
    if analysis.bugcheck is not None:
        info = bugcheck_info(session, analysis.bugcheck.code, analysis.parameters, explained=True)
    fault = analysis.fault_address
    fault_symbol = (session.engine.name_of(fault) or f"{fault:#x}") if fault is not None else ""
    place = analysis.place
    symbol = analysis.culprit if place is None else session.engine.name_of(place) or f"{place:#x}"
    blocks = session.dump.dump.secondary if session.dump is not None else []
    present = {block.guid for block in blocks if block.size}
    dump = session.dump
    header = dump.dump.header if dump is not None else None
    machine = MACHINE_NAMES.get(session.target.machine, session.target.machine)
    clock = session.clock
    product = header.product_type if header is not None else None
    return Verdict(
        info,
        exception_info(session, analysis.exception) if analysis.exception is not None else None,
        analysis.context_how,
        fault,
        fault_symbol,
        instruction_line(session, fault) if fault is not None else "",
        analysis.touched,
        analysis.process_name,
        analysis.pid,
        analysis.thread,
        stack,
        [box.command for box in BLACKBOXES if box.guid in present],
        symbol,
        analysis.culprit,
        analysis.culprit_image,
        analysis.confidence,
        [Suspect(entry.module, entry.image, entry.confidence, entry.reason) for entry in analysis.evidence],
        analysis.bucket,
        analysis.signature,
        analysis.findings,
        f"{system_name(session.kernel.build, product)} {machine}",
        clock.time,
        clock.uptime,
        verbose,
    )


@command(
    "!analyze",
    syntax="[-v] | -show <code> [<p1> [<p2> [<p3> [<p4>]]]]",
    group=Group.ANALYSIS,
    summary="say what crashed, where, and which driver is likely at fault; -show explains a bugcheck code",
    examples=("!analyze", "!analyze -v", "!analyze -show d1"),
)
def analyze_(context: CommandContext, arguments: str) -> Verdict | BugcheckInfo:
    """Analyse."""
    words = arguments.split()
    if words and words[0].lower() == "-show":
        if len(words) < 2:
            raise context.usage_error("-show needs a bugcheck code")
        numbers = [context.evaluate(word) for word in words[1:6]]
        parameters = tuple([*numbers[1:], 0, 0, 0, 0][:4])
        return bugcheck_info(context.session, numbers[0] & 0xFFFFFFFF, parameters, explained=True)
    unknown = [word for word in words if word.lower() not in ("-v", "-f", "-nodb")]
    if unknown:
        raise context.usage_error(f"unknown argument {unknown[0]!r}")
    return verdict_of(context.session, verbose="-v" in words)


@command(".bugcheck", group=Group.ANALYSIS, summary="show the bugcheck code and its parameters")
def show_bugcheck(context: CommandContext, arguments: str) -> BugcheckInfo:
    """Show the bugcheck."""
    del arguments
    code, parameters = recorded_bugcheck(context.session)
    if not code and context.session.dump is None:
        raise CommandError("the target records no bugcheck")
    return bugcheck_info(context.session, code, parameters, explained=False)


@command(
    "!error",
    syntax="<code> [1]",
    group=Group.ANALYSIS,
    summary="name an NTSTATUS, Win32 or HRESULT code; 1 means NTSTATUS only",
    examples=("!error c0000005", "!error 5"),
)
def error(context: CommandContext, arguments: str) -> CodeName:
    """Name a code."""
    if not arguments:
        raise context.usage_error("a code is needed")
    value, rest = context.take(arguments)
    code = value & 0xFFFFFFFF
    found: dict[str, str] = {}
    ntstatus = names("ntstatus").get(code)
    if ntstatus:
        found["NTSTATUS"] = ntstatus
    if rest.strip() != "1":
        if code in names("win32"):
            found["Win32"] = names("win32")[code]
        wrapped = names("win32").get(code & 0xFFFF) if code >> 16 == _WIN32_HRESULT else None
        hresults = [names("hresult").get(code), f"HRESULT_FROM_WIN32({wrapped})" if wrapped else None]
        known = [name for name in hresults if name]
        if known:
            found["HRESULT"] = ", ".join(known)
    if "HRESULT" in found and not ntstatus:
        # An HRESULT has one bit of severity where an NTSTATUS has two, and a facility of eleven bits.
        severity = "failure" if code >> 31 else "success"
        return CodeName(code, found, severity, code >> 16 & 0x7FF, bool(code >> 29 & 1))
    severity = _SEVERITIES[code >> 30] if ntstatus or code >> 30 else ""
    return CodeName(code, found, severity, code >> 16 & 0xFFF, bool(code >> 29 & 1))


@command(".lastevent", group=Group.ANALYSIS, summary="show the event that stopped the target")
def lastevent(context: CommandContext, arguments: str) -> LastEvent:
    """Show the last event."""
    del arguments
    session = context.session
    dump = session.dump
    if dump is None:
        stop = session.run.last if session.run is not None else None
        return (
            LastEvent(f"{stop.kind}: {stop.note}".rstrip(": "), stop.ip)
            if stop is not None
            else LastEvent("none recorded")
        )
    header = dump.dump.header
    if not header.bugcheck_code:
        return LastEvent("the dump was taken from a running system", time=header.time)
    name = bugcheck(header.bugcheck_code).name
    address = header.exception.address if header.exception is not None else None
    where = f", exception {header.exception.code:#x}" if header.exception is not None else ""
    return LastEvent(f"bugcheck {header.bugcheck_code:#x} ({name}){where}", address, header.time)


@command(
    ".enumtag",
    syntax="[{<guid>}]",
    group=Group.ANALYSIS,
    summary="list the tagged data blocks of a dump, or show one whole",
    needs=(Capability.SECONDARY_DATA,),
)
def enumtag(context: CommandContext, arguments: str) -> TagList:
    """List tagged data."""
    dump = context.session.dump
    if dump is None:
        raise CommandError("only dumps hold tagged data")
    blocks = dump.dump.secondary
    wanted = arguments.strip().strip("{}").upper()
    if wanted:
        blocks = [block for block in blocks if block.guid == wanted]
        if not blocks:
            raise CommandError(f"no block {{{wanted}}} in this dump", hint=".enumtag lists them")
    limit = 1 << 20 if wanted else _PREVIEW
    rows = [
        TagBlock(
            block.guid,
            block.size,
            writer_of(block.guid),
            dump.dump.buffer.bytes(block.offset, min(block.size, limit)),
            block.truncated,
        )
        for block in blocks
    ]
    return TagList(rows, whole=bool(wanted))
