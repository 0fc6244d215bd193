"""Going on, stepping, restarting: commands that run a live target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.run import StopReport
from kdive.commands.spec import Group, command
from kdive.errors import CancelledError, CommandError, KdiveError
from kdive.targets.base import Capability
from kdive.targets.live import Disposition

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.run import RunControl, Stop

_WAIT = 0.5
_STOP_WAIT = 5.0
_MAX_STEPS = 100000
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
    output = run_control(context).target.take_output()
    text = _TEXTS.get(stop.kind, stop.note)
    if stop.kind == "breakpoint" and stop.breakpoint is not None:
        text = f"Breakpoint {stop.breakpoint.id} hit" if not stop.breakpoint.temporary else ""
    elif stop.kind == "exception":
        code = getattr(stop.event, "code", 0)
        chance = "first" if getattr(stop.event, "first_chance", True) else "second"
        text = f"Exception {code:08x} ({chance} chance)"
    elif stop.note and text != stop.note:
        text = f"{text}: {stop.note}"
    registers = None
    symbol = ""
    if stop.ip is not None and run_control(context).target.halted:
        from kdive.commands.stack import registers_of

        try:
            registers = registers_of(session, session.context())
        except KdiveError as error:
            text = f"{text} (registers: {error.what})"
        symbol = session.engine.name_of(stop.ip) or ""
    number = stop.breakpoint.id if stop.breakpoint is not None and not stop.breakpoint.temporary else None
    return StopReport(stop.kind, text, stop.ip, symbol, number, registers, output)


def wait_for_stop(context: CommandContext) -> StopReport:
    """Wait until the target stops; Ctrl+C asks it to, and shows where it then stands.

    Raises:
        CancelledError: It was asked to stop and did not.
    """
    run = run_control(context)
    try:
        while (stop := run.wait(_WAIT, context.cancel)) is None:
            for text in run.target.take_output():
                context.write("".join(f"[dbgprint] {line}" for line in text.splitlines()))
    except CancelledError:
        run.interrupt()
        stop = run.wait(_STOP_WAIT)
        if stop is None:
            raise
    if stop.kind == "breakpoint" and stop.breakpoint is not None and stop.breakpoint.commands:
        context.dispatcher.run_nested(stop.breakpoint.commands)
    return report(context, stop)


def _go(context: CommandContext, arguments: str, disposition: Disposition | None) -> StopReport:
    run = run_control(context)
    if arguments.startswith("="):
        raise context.usage_error("set rip first: r rip = <address>")
    if arguments:
        return report(context, run.run_to(context.evaluate(arguments), context.cancel))
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


def _count(context: CommandContext, arguments: str) -> int:
    count = context.evaluate(arguments) if arguments else 1
    if not 0 < count <= _MAX_STEPS:
        raise context.usage_error(f"a count from 1 to {_MAX_STEPS:#x}")
    return count


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
    run = run_control(context)
    stop = None
    for _ in range(_count(context, arguments)):
        context.cancel.check()
        stop = run.step()
        if stop.kind != "step":
            break
    if stop is None:
        raise CommandError("nothing was run")
    return report(context, stop)


@command(
    "p",
    "ni",
    syntax="[<count>]",
    group=Group.RUN,
    summary="run one instruction, over calls",
    needs=(Capability.EXECUTION,),
)
def p(context: CommandContext, arguments: str) -> StopReport:
    """Step."""
    from kdive.session.disassembly import disassemble

    run = run_control(context)
    stop = None
    for _ in range(_count(context, arguments)):
        context.cancel.check()
        here = context.session.base_context().ip
        code = disassemble(context.session, here, 1)
        if code and code[0].flow == "call":
            stop = run.run_to(code[0].end, context.cancel)
            if stop.kind != "breakpoint" or stop.ip != code[0].end:
                break
        else:
            stop = run.step()
            if stop.kind != "step":
                break
    if stop is None:
        raise CommandError("nothing was run")
    return report(context, stop)


@command("gu", group=Group.RUN, summary="run until the current function returns", needs=(Capability.EXECUTION,))
def gu(context: CommandContext, arguments: str) -> StopReport:
    """Go up."""
    del arguments
    frames = context.session.stack(3)
    caller = next((frame for frame in frames if frame.child_sp != frames[0].child_sp), None)
    if caller is None:
        raise CommandError("the caller is not known", hint="k shows what can be unwound")
    return report(context, run_control(context).run_to(caller.ip, context.cancel))


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
