"""Breakpoints of a live target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.breakpoint_words import BreakpointWords, parse_words
from kdive.commands.results.run import BreakpointList, BreakpointRow
from kdive.commands.run import run_control
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.session.breakpoints import Breakpoint
from kdive.session.resolving import SOURCE, resolve
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.arch.watchpoint import Access
    from kdive.commands.context import CommandContext

OPTIONS = '[/1] [/a] [/p <process>] [/t <thread>] [/c <processor>] [/w "<condition>"]'
TAIL = '[<passes>] [if <condition>] ["<commands>"]'
_MAX_PATTERN = 256
_ACCESS: dict[str, Access] = {"e": "e", "r": "r", "w": "w", "i": "i"}


@command(
    "bp",
    syntax=f"{OPTIONS} <address> {TAIL}",
    group=Group.RUN,
    summary="set a breakpoint",
    details="The address may be a source line, as in `file.c:123`. /1 lets it stop the target once; /p, /t and /c bind "
    "it to a process, a thread or a processor; /w and if give a condition; the number is the hit that it stops at. "
    "/a skips the check that the address starts an instruction. An address in user space is one of the present "
    "process. It takes effect when the target goes on. Commands run when it is hit; g or gc among them goes on.",
    examples=("bp nt!NtCreateFile", 'bp /p @$proc mydriver!Dispatch 3 "k; g"', 'bp /w "@rcx == 4" nt!NtClose'),
    needs=(Capability.BREAKPOINTS,),
)
def bp(context: CommandContext, arguments: str) -> BreakpointList:
    """Set a breakpoint."""
    words = parse_words(context, arguments)
    source = SOURCE.match(words.target) is not None
    new = _new(context, words, resolve(context.session, words.target))
    if not words.unchecked and not source:
        _check_boundary(context, new.address or 0)
    return _add(context, new)


@command(
    "bu",
    syntax=f"{OPTIONS} <symbol> {TAIL}",
    group=Group.RUN,
    summary="set a breakpoint that waits for its module, also over restarts",
    details="It is found anew whenever modules come or go: one of a driver is in place before DriverEntry runs.",
    examples=("bu faulty!DriverEntry",),
    needs=(Capability.BREAKPOINTS,),
)
def bu(context: CommandContext, arguments: str) -> BreakpointList:
    """Set a breakpoint by name."""
    words = parse_words(context, arguments)
    if not re.search(r"[A-Za-z_]", words.target):
        raise context.usage_error("a symbol or a source line is needed")
    address = None
    try:
        address = resolve(context.session, words.target)
    except KdiveError:
        if "!" not in words.target and SOURCE.match(words.target) is None:
            raise
    new = _new(context, words, address)
    new.text = words.target
    if address is not None and not words.unchecked and SOURCE.match(words.target) is None:
        _check_boundary(context, address)
    return _add(context, new)


@command(
    "bm",
    syntax=f"{OPTIONS} <pattern> {TAIL}",
    group=Group.RUN,
    summary="set a breakpoint at every function that matches a pattern",
    examples=("bm nt!Nt*File",),
    needs=(Capability.BREAKPOINTS,),
)
def bm(context: CommandContext, arguments: str) -> BreakpointList:
    """Set breakpoints by pattern."""
    words = parse_words(context, arguments)
    found = {
        module.base + symbol.rva: f"{module.name}!{symbol.name}"
        for module, symbol in context.session.engine.search(words.target)
        if symbol.kind == "function"
    }
    if not found:
        raise CommandError(f"no function matches {words.target}", hint="x shows what a pattern matches")
    if len(found) > _MAX_PATTERN:
        raise CommandError(f"{len(found)} functions match, at most {_MAX_PATTERN} are allowed")
    rows: list[BreakpointRow] = []
    for address, name in found.items():
        new = _new(context, words, address)
        new.text = name
        rows += _add(context, new).breakpoints
    return BreakpointList(rows)


@command(
    "ba",
    syntax=f"{OPTIONS} <access><size> <address> {TAIL}",
    group=Group.RUN,
    summary="watch an address by a debug register",
    details="Access is e (execution), w (write), r (read or write) or i (port); size is 1, 2, 4 or 8 bytes, 1 for "
    "execution. There are four debug registers, which watch on every processor.",
    examples=("ba w8 nt!KeTickCount", "ba e1 nt!NtCreateFile", "ba r4 /p @$proc 7ff7`10002000"),
    needs=(Capability.WATCHPOINTS,),
)
def ba(context: CommandContext, arguments: str) -> BreakpointList:
    """Break on access."""
    words = parse_words(context, arguments, access=True)
    access, size = _ACCESS.get(words.access), words.size
    if access is None:
        raise context.usage_error(f"access {words.access!r}: e, r, w or i")
    if size not in (1, 2, 4, 8) or (access == "e" and size != 1):
        raise context.usage_error(f"size {size}: 1, 2, 4 or 8, and 1 for execution")
    address = resolve(context.session, words.target)
    if address % size:
        raise CommandError(f"{address:#x} is not aligned to {size} bytes", hint="the processor watches aligned places")
    new = _new(context, words, address)
    new.access, new.size = access, size
    return _add(context, new)


def _new(context: CommandContext, words: BreakpointWords, address: int | None) -> Breakpoint:
    process = words.process
    if not process and address is not None and Breakpoint(0, address).in_user_space and context.session.process:
        process = context.session.process.address
    return Breakpoint(
        0,
        address,
        once=words.once,
        process=process,
        thread=words.thread,
        processor=words.processor,
        condition=words.condition,
        passes=words.passes,
        left=words.passes,
        commands=words.commands,
    )


def _add(context: CommandContext, new: Breakpoint) -> BreakpointList:
    run = run_control(context)
    if new.address is not None:
        if new.access != "i" and not new.in_user_space:
            context.session.memory.read(new.address, 1)
        if run.target.halted:
            run.placing.check(new)
    return BreakpointList([_row(context, run.breakpoints.add(new))])


def _check_boundary(context: CommandContext, address: int) -> None:
    """Refuse an address in the middle of an instruction, as far as that can be told."""
    from kdive.session.disassembly import code_bytes, decode
    from kdive.session.functions import function_extents

    session = context.session
    part = next((part for part in function_extents(session, address) if part[0] <= address < part[1]), None)
    if part is None or part[0] == address:
        return
    data = code_bytes(session, part[0], address - part[0] + 16)
    for instruction in decode(session, data, part[0], len(data)):
        if instruction.address >= address:
            return
        if instruction.end > address:
            raise CommandError(
                f"{address:#x} is in the middle of the instruction at {instruction.address:#x}",
                hint="u shows the code; bp /a sets it nevertheless",
            )


def _row(context: CommandContext, entry: Breakpoint) -> BreakpointRow:
    symbol = entry.text
    if entry.address is not None:
        symbol = context.session.engine.name_of(entry.address) or entry.text
    return BreakpointRow(
        entry.id,
        entry.enabled,
        entry.address,
        symbol,
        bool(entry.text),
        entry.access or "",
        entry.size,
        entry.hits,
        entry.left,
        entry.passes,
        entry.once,
        entry.process,
        entry.thread,
        entry.processor,
        entry.condition,
        entry.commands,
    )


@command("bl", group=Group.RUN, summary="list breakpoints", needs=(Capability.BREAKPOINTS,))
def bl(context: CommandContext, arguments: str) -> BreakpointList:
    """List breakpoints."""
    del arguments
    return BreakpointList([_row(context, entry) for entry in run_control(context).breakpoints])


def _selected(context: CommandContext, arguments: str) -> list[Breakpoint]:
    table = run_control(context).breakpoints
    if arguments.strip() == "*":
        return list(table)
    numbers: list[int] = []
    for word in arguments.replace(",", " ").split():
        low, _, high = word.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            raise context.usage_error("numbers, ranges, or *")
        numbers += range(int(low), int(high or low) + 1)
    if not numbers:
        raise context.usage_error("which breakpoints?")
    return [table.find(number) for number in numbers]


@command("bc", syntax="<numbers> | *", group=Group.RUN, summary="clear breakpoints", needs=(Capability.BREAKPOINTS,))
def bc(context: CommandContext, arguments: str) -> None:
    """Clear breakpoints."""
    run = run_control(context)
    for entry in _selected(context, arguments):
        run.breakpoints.remove(entry.id)
    if run.target.halted:
        run.placing.disarm_removed()


@command("bd", syntax="<numbers> | *", group=Group.RUN, summary="disable breakpoints", needs=(Capability.BREAKPOINTS,))
def bd(context: CommandContext, arguments: str) -> None:
    """Disable breakpoints."""
    for entry in _selected(context, arguments):
        entry.enabled = False


@command("be", syntax="<numbers> | *", group=Group.RUN, summary="enable breakpoints", needs=(Capability.BREAKPOINTS,))
def be(context: CommandContext, arguments: str) -> None:
    """Enable breakpoints."""
    for entry in _selected(context, arguments):
        entry.enabled = True


def _one(context: CommandContext, arguments: str) -> tuple[Breakpoint, str]:
    """The breakpoint that the first word names, and the rest."""
    number, _, rest = arguments.strip().partition(" ")
    if not number.isdigit():
        raise context.usage_error("which breakpoint?")
    return run_control(context).breakpoints.find(int(number)), rest.strip()


@command(
    "br", syntax="<number> <new>", group=Group.RUN, summary="renumber a breakpoint", needs=(Capability.BREAKPOINTS,)
)
def br(context: CommandContext, arguments: str) -> None:
    """Renumber a breakpoint."""
    entry, new = _one(context, arguments)
    if not new.isdigit():
        raise context.usage_error("a new number is needed")
    run_control(context).breakpoints.renumber(entry.id, int(new))


def _unquoted(text: str) -> str:
    return text[1:-1].replace('\\"', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


@command(
    "bs",
    "bpa",
    syntax='<number> ["<commands>"]',
    group=Group.RUN,
    summary="change what runs when a breakpoint is hit; nothing without commands",
    needs=(Capability.BREAKPOINTS,),
)
def bs(context: CommandContext, arguments: str) -> None:
    """Set a breakpoint's commands."""
    entry, rest = _one(context, arguments)
    entry.commands = "" if rest == "clear" else _unquoted(rest)


@command(
    "bsc",
    syntax='<number> <condition> ["<commands>"]',
    group=Group.RUN,
    summary="change a breakpoint's condition and what runs when it is hit",
    needs=(Capability.BREAKPOINTS,),
)
def bsc(context: CommandContext, arguments: str) -> None:
    """Set a breakpoint's condition and commands."""
    entry, rest = _one(context, arguments)
    match = re.match(r'(.*?)\s*("(?:[^"\\]|\\.)*")?$', rest)
    condition, commands = match.groups() if match is not None else (rest, None)
    if not condition:
        raise context.usage_error("a condition is needed")
    entry.condition, entry.commands = condition, _unquoted(commands or "")


@command(
    "bpc",
    syntax="<number> <condition> | clear",
    group=Group.RUN,
    summary="change a breakpoint's condition",
    needs=(Capability.BREAKPOINTS,),
)
def bpc(context: CommandContext, arguments: str) -> None:
    """Set a breakpoint's condition."""
    entry, rest = _one(context, arguments)
    if not rest:
        raise context.usage_error("a condition is needed")
    entry.condition = "" if rest == "clear" else _unquoted(rest)


@command(
    "bpp",
    syntax="<number> <passes>",
    group=Group.RUN,
    summary="change at which hit a breakpoint stops the target, counted from now",
    needs=(Capability.BREAKPOINTS,),
)
def bpp(context: CommandContext, arguments: str) -> None:
    """Set a breakpoint's pass count."""
    entry, rest = _one(context, arguments)
    entry.passes = entry.left = max(context.evaluate(rest), 1)


@command(
    ".bpcmds",
    group=Group.RUN,
    summary="show the commands that would set the present breakpoints again",
    needs=(Capability.BREAKPOINTS,),
)
def bpcmds(context: CommandContext, arguments: str) -> str:
    """Show breakpoints as commands."""
    del arguments
    lines: list[str] = []
    for entry in run_control(context).breakpoints:
        words = [f"ba {entry.access}{entry.size}" if entry.access else "bu" if entry.text else "bp"]
        words += ["/1"] if entry.once else []
        words += [f"/p {entry.process:#x}"] if entry.process else []
        words += [f"/t {entry.thread:#x}"] if entry.thread else []
        words += [f"/c {entry.processor}"] if entry.processor is not None else []
        words += [f'/w "{entry.condition}"'] if entry.condition else []
        words.append(entry.text or f"{entry.address:#x}")
        words += [f"{entry.passes:#x}"] if entry.passes > 1 else []
        escaped = entry.commands.replace('"', '\\"')
        words += [f'"{escaped}"'] if escaped else []
        lines.append(" ".join(words) + ("" if entry.enabled else f"; bd {entry.id}"))
    return "\n".join(lines)
