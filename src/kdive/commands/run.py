"""Going on, stepping, restarting: commands that run a live target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.dispatch import GoOn
from kdive.commands.results.run import StopReport, TraceReport, TraceRow
from kdive.commands.spec import Group, command
from kdive.errors import CancelledError, CommandError, KdiveError
from kdive.session.resolving import resolve
from kdive.targets.base import Capability
from kdive.targets.live import Disposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.commands.context import CommandContext
    from kdive.commands.spec import CommandSpec
    from kdive.session.run import RunControl, Stop
    from kdive.session.stepping import Stepper, Until

_WAIT = 0.2
_STOP_WAIT = 5.0
_MAX_STEPS = 100000
_TRACE_LIMIT = 10000
_TEXTS = {
    "break": "Break instruction exception - code 80000003",
    "step": "",
    "prompt": "The target asks",
    "lost": "The link to the target is lost",
}


def run_control(context: CommandContext) -> RunControl:
    """The session's run control.

    Raises:
        CommandError: The target is not live.
    """
    run = context.session.run
    if run is None:
        raise CommandError("this target cannot run")
    return run


def report(context: CommandContext, stop: Stop) -> StopReport:
    """Describe a stop with the registers that go with it."""
    session = context.session
    run = run_control(context)
    output = run.collect_prints()
    notes = list(run.notes)
    run.notes.clear()
    text = _TEXTS.get(stop.kind, stop.note)
    if stop.kind == "breakpoint" and stop.breakpoint is not None:
        text = f"Breakpoint {stop.breakpoint.id} hit" if not stop.breakpoint.temporary else ""
        if stop.note:
            text += f"; its condition cannot be evaluated: {stop.note}"
    elif stop.kind == "watchpoint" and stop.breakpoint is not None:
        text = f"Breakpoint {stop.breakpoint.id} hit"
    elif stop.kind == "exception":
        code = getattr(stop.event, "code", 0)
        chance = "first" if getattr(stop.event, "first_chance", True) else "second"
        text = f"{run.filters.exception(code).name} - code {code:08x} ({chance} chance)"
    elif stop.note and text != stop.note:
        text = f"{text}: {stop.note}"
    registers = None
    symbol = ""
    if stop.ip is not None and run.target.halted:
        from kdive.commands.stack import registers_of

        try:
            registers = registers_of(session, session.context())
        except KdiveError as error:
            text = f"{text} (registers: {error.what})"
        symbol = session.engine.name_of(stop.ip) or ""
    number = stop.breakpoint.id if stop.breakpoint is not None and not stop.breakpoint.temporary else None
    return StopReport(stop.kind, text, stop.ip, symbol, number, registers, output, notes)


def wait_for_stop(context: CommandContext) -> StopReport:
    """Wait until the target stops; Ctrl+C asks it to, and shows where it then stands.

    Raises:
        CancelledError: It was asked to stop and did not.
    """
    run = run_control(context)
    try:
        while (stop := run.wait(_WAIT, context.cancel)) is None:
            show_output(context)
    except CancelledError:
        run.interrupt()
        stop = run.wait(_STOP_WAIT)
        if stop is None:
            raise
    return report(context, stop)


def show_output(context: CommandContext) -> None:
    """Show what the target has printed, and what happened without stopping it."""
    run = run_control(context)
    for line in "".join(run.collect_prints()).splitlines():
        context.write(f"[dbgprint] {line}")
    while run.notes:
        context.write(run.notes.popleft())


def stepping(context: CommandContext) -> Stepper:
    """What steps through the target's code."""
    from kdive.session.stepping import Stepper

    run = run_control(context)
    if run.in_action:
        raise CommandError("commands of a breakpoint do not step", hint="g and gc go on")
    return Stepper(context.session, run)


def stepped(context: CommandContext, step: Callable[[], Stop]) -> StopReport:
    """Take a step; Ctrl+C asks a target that is running for it to stop, and shows where it then stands.

    Raises:
        CancelledError: It was asked to stop and did not.
    """
    try:
        stop = step()
    except CancelledError:
        run = run_control(context)
        if run.target.halted:
            raise
        run.interrupt()
        stop = run.wait(_STOP_WAIT)
        if stop is None:
            raise
    return report(context, stop)


def _go(context: CommandContext, arguments: str, disposition: Disposition | None) -> StopReport:
    run = run_control(context)
    if run.in_action:
        raise GoOn
    if arguments.startswith("="):
        raise context.usage_error("set rip first: r rip = <address>")
    if arguments:
        address = resolve(context.session, arguments)
        return stepped(context, lambda: run.run_to(address, context.cancel))
    run.resume(disposition)
    return wait_for_stop(context)


@command(
    "g",
    syntax="[<address>]",
    group=Group.RUN,
    summary="let the target run until it stops, or until an address is reached",
    details="Ctrl+C stops the target.",
    examples=("g", "g nt!NtCreateFile"),
    needs=(Capability.EXECUTION,),
)
def g(context: CommandContext, arguments: str) -> StopReport:
    """Go."""
    return _go(context, arguments, None)


@command("gh", group=Group.RUN, summary="go on, the exception being handled", needs=(Capability.EXECUTION,))
def gh(context: CommandContext, arguments: str) -> StopReport:
    """Go, handled."""
    return _go(context, arguments, Disposition.HANDLED)


@command("gn", group=Group.RUN, summary="go on, leaving the exception to the target", needs=(Capability.EXECUTION,))
def gn(context: CommandContext, arguments: str) -> StopReport:
    """Go, not handled."""
    return _go(context, arguments, Disposition.NOT_HANDLED)


@command(
    "gc",
    group=Group.RUN,
    summary="in the commands of a breakpoint: go on as if it had not been hit",
    needs=(Capability.EXECUTION,),
)
def gc(context: CommandContext, arguments: str) -> None:
    """Go from a conditional breakpoint."""
    del arguments
    if not run_control(context).in_action:
        raise CommandError("gc belongs into the commands of a breakpoint", hint="g goes on")
    raise GoOn


def _count(context: CommandContext, arguments: str) -> int:
    count = context.evaluate(arguments) if arguments else 1
    if not 0 < count <= _MAX_STEPS:
        raise context.usage_error(f"a count from 1 to {_MAX_STEPS:#x}")
    return count


def _repeat(context: CommandContext, arguments: str, step: Callable[[], Stop]) -> StopReport:
    def several() -> Stop:
        stop = step()
        for _ in range(count - 1):
            if stop.kind != "step":
                break
            context.cancel.check()
            stop = step()
        return stop

    count = _count(context, arguments)
    return stepped(context, several)


@command(
    "t",
    "si",
    syntax="[<count>]",
    group=Group.RUN,
    summary="run one instruction, into calls",
    needs=(Capability.EXECUTION,),
)
def t(context: CommandContext, arguments: str) -> StopReport:
    """Trace."""
    return _repeat(context, arguments, stepping(context).into)


@command(
    "p",
    "ni",
    syntax="[<count>]",
    group=Group.RUN,
    summary="run one instruction, over calls",
    details="A step over a call ends in the thread and the frame that it began in.",
    needs=(Capability.EXECUTION,),
)
def p(context: CommandContext, arguments: str) -> StopReport:
    """Step."""
    return _repeat(context, arguments, stepping(context).over)


@command(
    "gu",
    "finish",
    group=Group.RUN,
    summary="run until the current function returns",
    needs=(Capability.EXECUTION,),
)
def gu(context: CommandContext, arguments: str) -> StopReport:
    """Go up."""
    del arguments
    return stepped(context, stepping(context).out)


def _until(context: CommandContext, arguments: str, until: Until, *, over: bool) -> StopReport:
    address = None
    if until == "address":
        if not arguments:
            raise context.usage_error("an address is needed")
        address = resolve(context.session, arguments)
    elif arguments:
        raise context.usage_error("it takes no argument")
    stepper = stepping(context)
    return stepped(context, lambda: stepper.until(until, over=over, address=address, limit=_MAX_STEPS))


_UNTIL: tuple[tuple[str, Until, bool, str], ...] = (
    ("pa", "address", True, "step over calls until an address is reached"),
    ("pc", "call", True, "step over calls until the next call"),
    ("pt", "return", True, "step over calls until the next return"),
    ("ph", "branch", True, "step over calls until the next branch of any kind"),
    ("ta", "address", False, "step into calls until an address is reached"),
    ("tc", "call", False, "step into calls until the next call"),
    ("tt", "return", False, "step into calls until the next return"),
    ("th", "branch", False, "step into calls until the next branch of any kind"),
)


def _declare_until(name: str, until: Until, over: bool, summary: str) -> CommandSpec:
    @command(
        name,
        syntax="<address>" if until == "address" else "",
        group=Group.RUN,
        summary=summary,
        needs=(Capability.EXECUTION,),
    )
    def handler(context: CommandContext, arguments: str) -> StopReport:
        return _until(context, arguments, until, over=over)

    return handler


pa, pc, pt, ph, ta, tc, tt, th = (_declare_until(*row) for row in _UNTIL)


@command(
    "wt",
    syntax="[<limit>]",
    group=Group.RUN,
    summary="run the current function to its return, and count instructions by call",
    details="At most 10,000 instructions, unless a limit is given.",
    needs=(Capability.EXECUTION,),
)
def wt(context: CommandContext, arguments: str) -> TraceReport:
    """Watch and trace."""
    limit = context.evaluate(arguments) if arguments else _TRACE_LIMIT
    calls, stop = stepping(context).watch(limit)
    rows = [TraceRow(call.depth, call.symbol, call.instructions, call.called) for call in calls]
    return TraceReport(rows, sum(call.instructions for call in calls), report(context, stop))


@command(".reboot", group=Group.RUN, summary="restart the target", needs=(Capability.EXECUTION,))
def reboot(context: CommandContext, arguments: str) -> str:
    """Reboot."""
    del arguments
    run = run_control(context)
    run.interrupt()
    run.target.reboot()
    return "the target restarts; g waits for its first stop"


@command(".crash", group=Group.RUN, summary="make the target bugcheck", needs=(Capability.EXECUTION,))
def crash(context: CommandContext, arguments: str) -> StopReport:
    """Crash."""
    del arguments
    run_control(context).target.crash()
    return wait_for_stop(context)


@command(
    "break",
    group=Group.RUN,
    summary="stop the target",
    details="In the prompt Ctrl+C does the same while g waits.",
    needs=(Capability.EXECUTION,),
)
def break_(context: CommandContext, arguments: str) -> StopReport | str:
    """Break in."""
    del arguments
    run = run_control(context)
    if run.interrupt():
        return "the target stands still already"
    stop = run.wait(_STOP_WAIT, context.cancel)
    if stop is None:
        raise CommandError(f"the target did not stop within {_STOP_WAIT:g} s")
    return report(context, stop)
