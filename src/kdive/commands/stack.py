"""Stacks, registers and the contexts that they start from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.stack import (
    ContextSelected,
    ExceptionInfo,
    FrameInfo,
    FrameSelected,
    Registers,
    Stack,
)
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.formats.buffer import Buffer
from kdive.formats.kernel_dump.header import EXCEPTION_SIZE, ExceptionRecord, parse_exception
from kdive.nt.status import describe_exception, status_name
from kdive.session.crash import context_record, crash_exception, exception_context, trap_frame_context
from kdive.session.frames import frame_place
from kdive.targets.base import Capability
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.commands.context import CommandContext
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame

DEFAULT_FRAMES = 0x14
_AMD64_DEFAULT = (
    "rax rbx rcx rdx rsi rdi rip rsp rbp r8 r9 r10 r11 r12 r13 r14 r15 cs ss ds es fs gs efl".split()  # noqa: SIM905
)


def frame_info(session: Session, index: int, frames: list[StackFrame], *, arguments: bool = False) -> FrameInfo:
    """Describe a walked frame with its symbol and source line."""
    frame = frames[index]
    place = frame_place(session, frame)
    source = f"{place.source.file} @ {place.source.line}" if place.source is not None else None
    slots: tuple[int | None, ...] = ()
    if arguments and frame.context.machine == "amd64" and frame.how != "inline":
        # The caller leaves room for four register arguments above the return address: at the bottom of its own frame.
        above = frames[index + 1] if index + 1 < len(frames) else None
        called = above is not None and not above.note.startswith("machine")
        runs = session.memory.read_prefix(above.child_sp, 32) if above is not None and called else b""
        values = [int.from_bytes(runs[at : at + 8], "little") for at in range(0, len(runs) - 7, 8)]
        slots = tuple(values[place] if place < len(values) else None for place in range(4))
    following = frames[index + 1].ip if index + 1 < len(frames) and frame.how != "inline" else None
    chained = frame.how == "chain"
    how = "scan" if chained else frame.how
    return FrameInfo(
        index, frame.child_sp, following, frame.ip, place.symbol, place.module, source, how, frame.note, slots, chained
    )


def module_base(session: Session, address: int) -> int:
    """Base of the module around an address, 0 outside every module."""
    module = session.engine.module_at(address)
    return 0 if module is None else module.base


def stack_of(session: Session, limit: int, style: str = "k") -> Stack:
    """Walk and describe the present stack."""
    frames = session.stack(limit + 1)
    shown = min(limit, len(frames))
    arguments = bool(set(style) & set("bv"))
    infos = [frame_info(session, index, frames, arguments=arguments) for index in range(shown)]
    return Stack(infos, style, len(frames) > limit, session.scope.context_how)


@command(
    "k",
    "kb",
    "kn",
    "kp",
    "kP",
    "kv",
    "kf",
    "kL",
    syntax="[=<stack-pointer> <instruction-pointer>] [<count>]",
    group=Group.STACK,
    summary="show the call stack",
    details=(
        "kn numbers the frames, kb adds the first stack arguments, kf the frame sizes, kv how each frame was found. "
        "Frames found without unwind data say so: [chain] by the frame pointers that ARM64 code keeps, "
        "[scan] by looking for return addresses on the stack."
    ),
    examples=("k", "kn 5", "kv"),
    needs=(Capability.REGISTERS,),
    glued="bnpPvfL0123456789=",
)
def k(context: CommandContext, arguments: str) -> Stack:
    """Show the call stack."""
    style = context.name
    match = re.match(r"([a-zA-Z]+)(?=\s|$|=)", arguments) if arguments[:1].isalpha() and len(style) >= 1 else None
    if match and set(match.group(1)) <= set("bnpPvfL") and not arguments.startswith("f "):
        style += match.group(1)
        arguments = arguments[match.end() :].strip()
    session = context.session
    limit = DEFAULT_FRAMES
    if arguments.startswith("="):
        words = arguments[1:].split()
        if len(words) < 2:
            raise context.usage_error("k = needs a stack pointer and an instruction pointer")
        start = session.base_context().copy()
        names = ("rsp", "rip") if start.machine == "amd64" else ("sp", "pc")
        for name, word in zip(names, words, strict=False):
            start.values[name] = context.evaluate(word)
        if len(words) > 2:
            limit = context.evaluate(words[2])
        frames = session.walk_stack(start, limit + 1)
        infos = [frame_info(session, index, frames) for index in range(min(limit, len(frames)))]
        return Stack(infos, style, len(frames) > limit)
    if arguments:
        limit = context.evaluate(arguments)
        if not 0 < limit <= 0xFFFF:
            raise context.usage_error(f"a stack of {limit} frames?")
    return stack_of(session, limit, style)


def registers_of(session: Session, registers: RegisterContext) -> Registers:
    """Describe a context as ``r`` shows it."""
    if registers.machine == "arm64":
        from kdive.arch.arm64.context import flags_text

        names = [f"x{index}" for index in range(29)] + ["fp", "lr", "sp", "pc", "cpsr"]
        flags = flags_text(registers.values.get("cpsr", 0))
    else:
        from kdive.arch.amd64.context import flags_text

        names = _AMD64_DEFAULT
        flags = flags_text(registers.values.get("efl", 0))
    values = {name: registers.values[name] for name in names if name in registers.values}
    from kdive.session.disassembly import instruction_line

    return Registers(
        registers.machine,
        values,
        flags,
        session.engine.name_of(registers.ip) or "",
        instruction_line(session, registers.ip),
        context=session.scope.context_how,
    )


@command(
    "r",
    syntax="[<register>[, <register>…]]",
    group=Group.STACK,
    summary="show registers of the present context",
    details="On a dump registers cannot be changed; r $t0 = <expression> sets a pseudo-register.",
    examples=("r", "r rip, rsp", "r $t0 = poi(rsp)"),
    needs=(Capability.REGISTERS,),
)
def r(context: CommandContext, arguments: str) -> Registers | None:
    """Show registers."""
    session = context.session
    if not arguments:
        return registers_of(session, session.context())
    assignment = re.match(r"@?\$?\.?([A-Za-z]\w*)\s*=(?!=)\s*(.+)$", arguments)
    if assignment:
        name, expression = assignment.groups()
        name = name.lower()
        if name[0] == "t" and name[1:].isdigit() and int(name[1:]) < 20:
            session.variables[name] = context.value(expression)
            return None
        target = session.target
        if not isinstance(target, LiveTarget):
            raise CommandError(
                f"cannot set {name}: registers of a dump are fixed",
                hint="$t0 to $t19 can be set; set <$name> makes a variable of any name",
            )
        if session.scope.context is not None or session.scope.frame:
            raise CommandError(
                f"cannot set {name} here", hint=".cxr and .frame 0 go back to the processor's own registers"
            )
        target.write_registers(session.scope.processor, {name: context.evaluate(expression)})
        session.scope.drop_stack()
        return None
    values: dict[str, int] = {}
    for word in re.split(r"[,\s]+", arguments.strip()):
        if not word:
            continue
        if word.startswith(("$", "@$")):
            found = context.scope.pseudo(word.lstrip("@$"))
            number = None if found is None else found.number
        else:
            number = context.scope.register(word.lstrip("@").lower())
        if number is None:
            raise CommandError(f"no register {word!r} in this context")
        values[word.lstrip("@").lower()] = number
    return Registers(session.target.machine, values, selected=True)


@command(
    ".frame",
    syntax="[/r] [<number>]",
    group=Group.STACK,
    summary="select a stack frame, or show which one is selected",
    details="The registers of the frame are then what r and expressions see. /r shows them.",
    examples=(".frame 8", ".frame /r 2"),
    needs=(Capability.REGISTERS,),
)
def frame(context: CommandContext, arguments: str) -> FrameSelected:
    """Select a frame."""
    session = context.session
    show = False
    for flag in ("/r", "/c"):
        if arguments.startswith(flag):
            show = flag == "/r"
            arguments = arguments[2:].strip()
    number = context.evaluate(arguments) if arguments else session.scope.frame
    frames = session.stack(max(number + 2, DEFAULT_FRAMES))
    if number >= len(frames):
        raise CommandError(f"no frame {number:#x}: the stack has {len(frames)} frames")
    session.scope.frame = number
    registers = registers_of(session, session.context()) if show else None
    return FrameSelected(frame_info(session, number, frames), registers)


@command(
    ".cxr",
    syntax="[<address>]",
    group=Group.STACK,
    summary="take the registers from a CONTEXT record; without an address go back to the processor's own",
    examples=(".cxr ffff8504`29891720",),
    needs=(Capability.REGISTERS,),
)
def cxr(context: CommandContext, arguments: str) -> ContextSelected:
    """Select a context record."""
    session = context.session
    address = context.evaluate(arguments) if arguments else 0
    if not address:
        session.set_context(None, "")
        return ContextSelected("Resetting default scope")
    session.set_context(context_record(session, address), f".cxr {address:#x}")
    return ContextSelected(session.scope.context_how, registers_of(session, session.context()))


@command(
    ".trap",
    syntax="[<address>]",
    group=Group.STACK,
    summary="take the registers from a trap frame; without an address go back to the processor's own",
    needs=(Capability.REGISTERS,),
)
def trap(context: CommandContext, arguments: str) -> ContextSelected:
    """Select a trap frame."""
    session = context.session
    address = context.evaluate(arguments) if arguments else 0
    if not address:
        session.set_context(None, "")
        return ContextSelected("Resetting default scope")
    session.set_context(trap_frame_context(session, address), f".trap {address:#x}")
    return ContextSelected(session.scope.context_how, registers_of(session, session.context()))


@command(
    ".ecxr",
    group=Group.STACK,
    summary="take the registers from the exception behind the crash",
    needs=(Capability.REGISTERS,),
)
def ecxr(context: CommandContext, arguments: str) -> ContextSelected:
    """Select the exception's context."""
    del arguments
    session = context.session
    found = exception_context(session)
    if found is None:
        raise CommandError(
            "this target records no exception context", hint=".cxr <address> and .trap <address> select one"
        )
    session.set_context(*found)
    return ContextSelected(session.scope.context_how, registers_of(session, session.context()))


def exception_info(session: Session, record: ExceptionRecord) -> ExceptionInfo:
    """Describe an exception record."""
    return ExceptionInfo(
        record.address,
        session.engine.name_of(record.address) or "",
        record.code,
        status_name(record.code) or "",
        record.flags,
        record.parameters,
        describe_exception(record.code, record.parameters),
    )


@command(
    ".exr",
    syntax="<address> | -1",
    group=Group.STACK,
    summary="show an exception record; -1 is the one behind the crash",
    examples=(".exr -1",),
)
def exr(context: CommandContext, arguments: str) -> ExceptionInfo:
    """Show an exception record."""
    session = context.session
    if arguments.strip() in ("-1", ""):
        record = crash_exception(session)
        if record is None:
            raise CommandError("this target records no exception")
        return exception_info(session, record)
    address = context.evaluate(arguments)
    raw = session.memory.read(address, EXCEPTION_SIZE)
    return exception_info(session, parse_exception(Buffer(raw, "exception record", address), 0))
