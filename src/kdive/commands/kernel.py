"""Processes, threads and processors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.kernel import (
    CpuInfo,
    CpuRow,
    FactSheet,
    ProcessCard,
    ProcessList,
    ProcessorList,
    ProcessorRow,
    ScopeChanged,
    ThreadCard,
)
from kdive.commands.results.stack import Stack
from kdive.commands.spec import Group, command
from kdive.commands.stack import frame_info
from kdive.errors import CommandError, KdiveError, MemoryAccessError
from kdive.formats.kernel_dump.header import filetime
from kdive.nt.processes import Process, Thread, find_process, find_thread, processes, threads
from kdive.nt.processors import prcb, processor_context
from kdive.nt.saved_context import thread_context
from kdive.symbols.views import walk_list

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.session import Session

_STACK_FRAMES = 32
_MAX_PROCESSORS = 2048
_IRQL_NAMES = {
    "amd64": {
        0: "LOW_LEVEL",
        1: "APC_LEVEL",
        2: "DISPATCH_LEVEL",
        12: "SYNCH_LEVEL",
        13: "CLOCK_LEVEL",
        14: "IPI_LEVEL",
        15: "HIGH_LEVEL",
    },
    "arm64": {
        0: "LOW_LEVEL",
        1: "APC_LEVEL",
        2: "DISPATCH_LEVEL",
        12: "SYNCH_LEVEL",
        13: "CLOCK_LEVEL",
        14: "IPI_LEVEL",
        15: "HIGH_LEVEL",
    },
}


def _running_on(session: Session, address: int) -> int | None:
    for number in range(min(session.target.processors, _MAX_PROCESSORS)):
        try:
            if prcb(session.kernel, number)["CurrentThread"] == address:
                return number
        except KdiveError:
            continue
    return None


def thread_card(context: CommandContext, thread: Thread, *, stack: bool) -> ThreadCard:
    """Describe a thread."""
    session = context.session
    view = thread.view
    low, high = thread.stack_bounds
    start = thread.start_address
    attached = thread.attached_address
    owner = thread.process_address
    try:
        owner_name = Process(owner, session.kernel.struct("_EPROCESS", owner)).name
    except KdiveError:
        owner_name = "not in the target"
    running = _running_on(session, thread.address) if thread.state == "RUNNING" else None
    frames, notice = None, ""
    if stack:
        try:
            registers = thread_context(session.kernel, thread, running)
            walked = session.walk_stack(registers, _STACK_FRAMES + 1)
            infos = [frame_info(session, index, walked) for index in range(min(_STACK_FRAMES, len(walked)))]
            frames = Stack(infos, "k", len(walked) > _STACK_FRAMES)
        except KdiveError as error:
            notice = f"Stack not available: {error.what}"
    return ThreadCard(
        thread.address,
        thread.tid,
        thread.pid,
        thread.teb,
        thread.state,
        thread.wait_reason,
        start,
        context.name_of(start) or "",
        owner,
        owner_name,
        attached if attached != owner else None,
        high,
        low,
        view.get("Tcb.Priority"),
        view.get("Tcb.BasePriority"),
        running,
        _irps(session, thread),
        frames,
        notice,
    )


def _irps(session: Session, thread: Thread) -> list[int]:
    try:
        head = thread.view.address_of("IrpList")
        link = session.kernel.struct("_IRP", 0).offset_of("ThreadListEntry")
    except KdiveError:
        return []
    return [entry - link for entry in walk_list(session.memory, head, 64)]


def _handle_count(session: Session, process: Process, *, brief: bool) -> int | None:
    table = process.view.get("ObjectTable")
    # It lies apart from the process: a list would take twice as long over a serial line.
    if not table or (brief and session.memory.remote):
        return None
    try:
        view = session.kernel.struct("_HANDLE_TABLE", table)
        if "HandleCount" in view:
            return view["HandleCount"]
        # Since Windows 8 the count is kept per free list.
        free_list = view.address_of("FreeLists")
        entry = session.kernel.struct("_HANDLE_TABLE_FREE_LIST", free_list)
        return entry["HandleCount"]
    except KdiveError:
        return None


def process_card(context: CommandContext, process: Process, flags: int) -> ProcessCard:
    """Describe a process; flag 1 adds details, flag 2 threads, flag 4 their stacks."""
    session = context.session
    view = process.view
    details: list[tuple[str, str]] = []
    cards: list[ThreadCard] = []
    if flags & 1:
        for label, member in (
            ("ElapsedTime start", "CreateTime.QuadPart"),
            ("ExitStatus", "ExitStatus"),
            ("Priority class", "PriorityClass"),
            ("Active threads", "ActiveThreads"),
            ("Virtual size", "VirtualSize"),
            ("Peak virtual size", "PeakVirtualSize"),
            ("Commit charge (pages)", "CommitCharge"),
        ):
            if member in view:
                number = view[member]
                when = filetime(number) if member.startswith("CreateTime") else None
                details.append((label, f"{when:%Y-%m-%d %H:%M:%S} UTC" if when is not None else f"{number:#x}"))
    if flags & 2:
        for thread in threads(session.kernel, process):
            context.cancel.check()
            cards.append(thread_card(context, thread, stack=bool(flags & 4)))
    created = view.get("CreateTime.QuadPart")
    return ProcessCard(
        process.address,
        process.pid,
        process.parent_pid,
        process.name,
        process.peb,
        process.directory_table_base,
        process.session,
        view.get("ObjectTable"),
        _handle_count(session, process, brief=not flags & 1),
        filetime(created) if created else None,
        view.get("VadRoot.Root") if "VadRoot.Root" in view else view.get("VadRoot"),
        view.get("Token.Value") & ~0xF,
        cards,
        details,
        view.get("ActiveThreads"),
    )


@command(
    "!process",
    syntax="[<eprocess> | <pid> | 0 | -1] [<flags>] [<image-name>]",
    group=Group.KERNEL,
    summary="show processes: 0 lists all, -1 is the current one",
    details="Flags: 1 details, 2 threads, 4 their stacks (2 with 4). Numbers are hexadecimal; 0n4 is decimal.\n"
    "A list over KD leaves the handle counts out unless flag 1 asks for details.",
    examples=("!process 0 0", "!process -1 7", "!process 0 0 lsass.exe"),
)
def process(context: CommandContext, arguments: str) -> ProcessList:
    """Show processes."""
    session = context.session
    words = arguments.split()
    name = ""
    if words and not re.match(r"(0n|0x)?[0-9a-fA-F`]+$|[-@$(]", words[-1]):
        name = words.pop()
    selector = words.pop(0) if words else ("0" if name else "-1")
    flags = context.evaluate(words.pop(0)) if words else (0 if name else 3 if selector == "-1" else 0xFFFFFFFF)
    if selector == "0" or name:
        if flags == 0xFFFFFFFF:
            flags = 3
        cards: list[ProcessCard] = []
        for entry in processes(session.kernel):
            context.cancel.check()
            if not name or entry.name.lower().startswith(name.lower()[:14]):
                cards.append(process_card(context, entry, flags))
        notice = "(a triage dump holds the current process only)" if session.kernel.triage is not None else ""
        if name and not cards:
            raise CommandError(f"no process {name!r}", hint="!process 0 0 lists the processes that the target holds")
        return ProcessList(cards, not flags & 1, notice)
    if selector == "-1":
        current = session.process
        if current is None:
            # The types may be what is missing: asking for the layout says so better than we can.
            session.kernel.type("_EPROCESS")
            raise CommandError("the current process is not known")
        found = current
    else:
        found = find_process(session.kernel, context.evaluate(selector))
    if flags == 0xFFFFFFFF:
        flags = 3
    return ProcessList([process_card(context, found, flags)], not flags & 1)


@command(
    "!thread",
    syntax="[<ethread> | <tid>] [<flags>]",
    group=Group.KERNEL,
    summary="show a thread with its stack; without an argument the current one",
)
def thread(context: CommandContext, arguments: str) -> ThreadCard:
    """Show a thread."""
    session = context.session
    words = [word for word in arguments.split() if word not in ("-p", "-t")]
    if words and words[0] != "-1":
        found = find_thread(session.kernel, context.evaluate(words[0]))
    else:
        current = session.thread
        if current is None:
            session.kernel.type("_ETHREAD")
            raise CommandError("the current thread is not known")
        found = current
    flags = context.evaluate(words[1]) if len(words) > 1 else 6
    return thread_card(context, found, stack=bool(flags & 6))


@command(
    ".process",
    syntax="[/i] [/p] [/r] [<eprocess> | <pid>]",
    group=Group.KERNEL,
    summary="choose the process whose address space memory commands see; 0 goes back",
    examples=(".process /r /p ffffc08b`dce94180",),
)
def set_process(context: CommandContext, arguments: str) -> ScopeChanged:
    """Choose a process."""
    session = context.session
    words = [word for word in arguments.split() if not word.startswith("/")]
    if not words:
        current = session.process
        if current is None:
            session.kernel.type("_EPROCESS")
            raise CommandError("the current process is not known")
        return ScopeChanged(f"Implicit process is now {current.address:016x}", current.address)
    selector = context.evaluate(" ".join(words))
    if not selector:
        session.set_process(None)
        return ScopeChanged("Implicit process is the default one")
    found = find_process(session.kernel, selector)
    session.set_process(found)
    return ScopeChanged(f"Implicit process is now {found.address:016x} ({found.name}, {found.pid:#x})", found.address)


@command(
    ".thread",
    syntax="[/p] [/r] [<ethread> | <tid>]",
    group=Group.KERNEL,
    summary="take the registers that a thread saved when it stopped running; 0 goes back",
)
def set_thread(context: CommandContext, arguments: str) -> ScopeChanged:
    """Choose a thread."""
    session = context.session
    words = [word for word in arguments.split() if not word.startswith("/")]
    if not words:
        current = session.thread
        if current is None:
            session.kernel.type("_ETHREAD")
            raise CommandError("the current thread is not known")
        return ScopeChanged(f"Implicit thread is now {current.address:016x}", current.address)
    selector = context.evaluate(" ".join(words))
    if not selector:
        session.scope.thread = None
        session.set_context(None, "")
        return ScopeChanged("Implicit thread is the default one")
    found = find_thread(session.kernel, selector)
    running = _running_on(session, found.address) if found.state == "RUNNING" else None
    registers = thread_context(session.kernel, found, running)
    session.scope.thread = found
    session.set_context(registers, f".thread {found.address:#x}")
    return ScopeChanged(f"Implicit thread is now {found.address:016x}", found.address)


def _processor_row(context: CommandContext, number: int) -> ProcessorRow:
    session = context.session
    current = number == session.scope.processor
    try:
        registers = processor_context(session.kernel, number)
    except KdiveError as error:
        return ProcessorRow(number, current, note=error.what)
    return ProcessorRow(number, current, registers.ip, context.name_of(registers.ip) or "")


@command(
    "~",
    syntax="[<n>s]",
    group=Group.KERNEL,
    summary="list the processors, or choose one: ~1s",
    examples=("~", "~0s"),
    glued="0123456789abcdefs*",
)
def tilde(context: CommandContext, arguments: str) -> ProcessorList | ScopeChanged:
    """List or choose processors."""
    session = context.session
    match = re.fullmatch(r"\s*([0-9a-fA-F]+)\s*s\s*", arguments)
    if match:
        number = int(match.group(1), session.radix)
        if number >= session.target.processors:
            raise CommandError(f"no processor {number}: the target has {session.target.processors}")
        session.set_processor(number)
        registers = session.context()
        return ScopeChanged(f"processor {number} at {context.name_of(registers.ip) or hex(registers.ip)}", registers.ip)
    if arguments.strip() not in ("", "*"):
        raise context.usage_error(f"~{arguments} is not known; ~<n>s chooses a processor")
    rows: list[ProcessorRow] = []
    for number in range(min(session.target.processors, _MAX_PROCESSORS)):
        context.cancel.check()
        rows.append(_processor_row(context, number))
    return ProcessorList(rows)


@command(
    "!running",
    syntax="[-t] [-i]",
    group=Group.KERNEL,
    summary="show what each processor runs; -t with stacks, -i idle ones too",
)
def running(context: CommandContext, arguments: str) -> ProcessorList:
    """Show running threads."""
    session = context.session
    rows: list[ProcessorRow] = []
    for number in range(min(session.target.processors, _MAX_PROCESSORS)):
        context.cancel.check()
        try:
            view = prcb(session.kernel, number)
            current, following, idle = view["CurrentThread"], view["NextThread"], view["IdleThread"]
        except KdiveError as error:
            rows.append(ProcessorRow(number, number == session.scope.processor, note=error.what))
            continue
        if current == idle and "-i" not in arguments:
            continue
        stack = None
        if "-t" in arguments:
            try:
                walked = session.walk_stack(processor_context(session.kernel, number), 16)
                stack = Stack([frame_info(session, index, walked) for index in range(len(walked))])
            except KdiveError:
                stack = None
        rows.append(
            ProcessorRow(
                number,
                number == session.scope.processor,
                thread=current,
                next_thread=following or None,
                idle_thread=idle,
                stack=stack,
            )
        )
    return ProcessorList(rows, running=True)


def _processor(context: CommandContext, arguments: str) -> int:
    return context.evaluate(arguments) if arguments else context.session.scope.processor


@command("!prcb", syntax="[<processor>]", group=Group.KERNEL, summary="show the essentials of a _KPRCB")
def show_prcb(context: CommandContext, arguments: str) -> FactSheet:
    """Show a control block."""
    number = _processor(context, arguments)
    view = prcb(context.session.kernel, number)
    facts = [
        (label, f"{view[member]:016x}")
        for label, member in (
            ("Current Thread", "CurrentThread"),
            ("Next Thread", "NextThread"),
            ("Idle Thread", "IdleThread"),
            ("Context", "Context"),
        )
        if member in view
    ]
    facts += [
        (label, f"{view[member]:#x}")
        for label, member in (
            ("Number", "Number"),
            ("Build Type", "BuildType"),
            ("MHz", "MHz"),
            ("Interrupt Count", "InterruptCount"),
            ("Kernel Time", "KernelTime"),
            ("User Time", "UserTime"),
            ("DPC Time", "DpcTime"),
            ("Interrupt Time", "InterruptTime"),
        )
        if member in view
    ]
    return FactSheet(f"PRCB for Processor {number}", view.address, facts)


@command("!pcr", syntax="[<processor>]", group=Group.KERNEL, summary="show the essentials of a _KPCR")
def show_pcr(context: CommandContext, arguments: str) -> FactSheet:
    """Show a control region."""
    session = context.session
    number = _processor(context, arguments)
    block = prcb(session.kernel, number)
    layout = session.kernel.struct("_KPCR", 0)
    address = block.address - layout.offset_of("Prcb")
    facts = [("Prcb", f"{block.address:016x}"), ("CurrentThread", f"{block['CurrentThread']:016x}")]
    facts += [("NextThread", f"{block['NextThread']:016x}"), ("IdleThread", f"{block['IdleThread']:016x}")]
    view = session.kernel.struct("_KPCR", address)
    for label, member in (
        ("Self", "Self"),
        ("GdtBase", "GdtBase"),
        ("TssBase", "TssBase"),
        ("IdtBase", "IdtBase"),
        ("Irql", "Irql"),
        ("MajorVersion", "MajorVersion"),
        ("MinorVersion", "MinorVersion"),
    ):
        if member in view:
            try:
                facts.append((label, f"{view[member]:016x}"))
            except MemoryAccessError:
                facts.append((label, "not in the target"))
    return FactSheet(f"KPCR for Processor {number}", address, facts)


@command("!irql", syntax="[<processor>]", group=Group.KERNEL, summary="show the IRQL before the system stopped")
def irql(context: CommandContext, arguments: str) -> FactSheet:
    """Show the IRQL."""
    session = context.session
    number = _processor(context, arguments)
    view = prcb(session.kernel, number)
    member = next((name for name in ("DebuggerSavedIRQL", "SavedIrql") if name in view), None)
    if member is None:
        raise CommandError("this kernel does not record the saved IRQL")
    value = view[member]
    name = _IRQL_NAMES.get(session.target.machine, {}).get(value, "")
    return FactSheet(f"Debugger saved IRQL for processor {number:#x} -- {value} {f'({name})' if name else ''}".rstrip())


@command("!cpuinfo", syntax="[<processor>]", group=Group.KERNEL, summary="show the processors' models and speed")
def cpuinfo(context: CommandContext, arguments: str) -> CpuInfo:
    """Show processors."""
    session = context.session
    numbers = (
        [context.evaluate(arguments)] if arguments else list(range(min(session.target.processors, _MAX_PROCESSORS)))
    )
    rows: list[CpuRow] = []
    for number in numbers:
        try:
            view = prcb(session.kernel, number)
            stepping = view.get("CpuStep")
            rows.append(
                CpuRow(
                    number,
                    view.get("CpuType"),
                    view.get("CpuModel") if "CpuModel" in view else stepping >> 8,
                    view.get("CpuStepping") if "CpuStepping" in view else stepping & 0xFF,
                    view.get("MHz"),
                    view.text("VendorString") if "VendorString" in view else "",
                    view.get("FeatureBits"),
                )
            )
        except KdiveError as error:
            rows.append(CpuRow(number, 0, 0, 0, 0, "", note=error.what))
    if rows and all(row.note for row in rows):
        raise CommandError(f"no control block is readable: {rows[0].note}")
    return CpuInfo(rows)
