"""What the target is and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.target import Capabilities, Status, TargetTime, TargetVersion
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.nt.bugchecks import bugcheck_name
from kdive.nt.version import product_text, system_name
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.nt.processes import Process
    from kdive.session.session import Session

MACHINE_NAMES = {"amd64": "x64", "arm64": "ARM64"}


def build_lab(session: Session) -> str:
    """The text of ``nt!NtBuildLab``, empty if the target does not hold it."""
    try:
        text = session.memory.cstring(session.kernel.symbol("NtBuildLab"), 128)
    except KdiveError:
        return ""
    return text if text.isprintable() else ""


def target_version(session: Session) -> TargetVersion:
    """Gather what is known of the target."""
    kernel, dump = session.kernel, session.dump
    header = dump.dump.header if dump is not None else None
    details: list[tuple[str, str]] = []
    if dump is not None and header is not None:
        details = [
            ("Dump type", dump.dump.type_name),
            ("Dump size", f"{len(dump.dump.buffer):#x} bytes"),
            ("Directory base", f"{header.directory_table_base:#x}"),
        ]
        if header.comment:
            details.append(("Comment", header.comment))
        if header.kd_debugger_data_block:
            state = "found" if kernel.debugger_data is not None else "not readable"
            details.append(("KDBG", f"{header.kd_debugger_data_block:#x} ({state})"))
        if dump.dump.triage is not None and dump.dump.triage.overflowed:
            details.append(("Triage", "the writer ran out of room"))
    module_list = header.ps_loaded_module_list if header is not None else None
    if kernel.hints is not None:
        module_list = kernel.hints.module_list or None
    clock = session.clock
    return TargetVersion(
        system_name(kernel.build, header.product_type if header is not None else None),
        MACHINE_NAMES.get(session.target.machine, session.target.machine),
        session.target.processors,
        header is None or not header.checked_build,
        product_text(header.product_type, header.suite_mask) if header is not None else "",
        build_lab(session),
        kernel.base,
        module_list,
        clock.time,
        clock.uptime,
        session.target.description,
        details,
        session.notices(),
    )


@command(
    "vertarget",
    "version",
    group=Group.SESSION,
    summary="show the target's Windows version, kernel, times and dump facts",
)
def vertarget(context: CommandContext, arguments: str) -> TargetVersion:
    """Show the target's version."""
    del arguments
    return target_version(context.session)


@command(".time", group=Group.SESSION, summary="show the target's clock and uptime")
def time(context: CommandContext, arguments: str) -> TargetTime:
    """Show times."""
    del arguments
    clock = context.session.clock
    return TargetTime(clock.time, clock.uptime)


@command("capabilities", group=Group.SESSION, summary="show what the target can do")
def capabilities(context: CommandContext, arguments: str) -> Capabilities:
    """Show capabilities."""
    del arguments
    able = context.session.target.capabilities
    return Capabilities({capability.value: capability in able for capability in Capability})


def process_text(process: Process | None) -> str | None:
    """``System (4)``."""
    if process is None:
        return None
    try:
        return f"{process.name} ({process.pid})"
    except KdiveError:
        return None


def stop_reason(session: Session) -> str:
    """Why the target stopped, in a line."""
    dump = session.dump
    if dump is None or not dump.dump.header.bugcheck_code:
        return ""
    code = dump.dump.header.bugcheck_code
    return f"bugcheck {code:#x} {bugcheck_name(code)}"


@command("status", group=Group.SESSION, summary="show where the target stands")
def status(context: CommandContext, arguments: str) -> Status:
    """Show the state."""
    del arguments
    session = context.session
    try:
        ip = session.context().ip
    except KdiveError:
        ip = None
    thread = session.thread
    return Status(
        running=False,
        rip=ip,
        symbol=session.engine.name_of(ip) if ip is not None else None,
        current_thread=thread.address if thread is not None else session.kernel.triage_thread,
        attached_process=process_text(session.scope.process),
        stopped_process=process_text(session.current_process),
        processor=session.scope.processor,
        kernel_base=session.kernel.base,
        reason=stop_reason(session),
    )


@command(".effmach", syntax="[amd64 | arm64 | .]", group=Group.SYMBOLS, summary="show the effective machine")
def effmach(context: CommandContext, arguments: str) -> str:
    """Show the machine."""
    machine = context.session.target.machine
    names = {"amd64": "x64 (AMD64)", "arm64": "ARM 64-bit (AArch64)"}
    wanted = arguments.strip().lower()
    if wanted and wanted not in (".", "#", machine):
        raise CommandError(f"code of this target is {names.get(machine, machine)}; {wanted} code cannot be shown")
    return f"Effective machine: {names.get(machine, machine)}"
