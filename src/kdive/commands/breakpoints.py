"""Breakpoints of a live target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.run import BreakpointList, BreakpointRow
from kdive.commands.run import run_control
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.breakpoints import Breakpoint

_USER_SPACE_END = 1 << 47


@command(
    "bp",
    syntax='<address> [<passes>] ["<commands>"]',
    group=Group.RUN,
    summary="set a breakpoint in kernel space",
    details="It takes effect when the target goes on. Commands run when it is hit.",
    examples=("bp nt!NtCreateFile", 'bp mydriver!Dispatch 3 "k; g"'),
    needs=(Capability.BREAKPOINTS,),
)
def bp(context: CommandContext, arguments: str) -> BreakpointList:
    """Set a breakpoint."""
    run = run_control(context)
    commands = ""
    rest = arguments.strip()
    match = re.search(r'"((?:[^"\\]|\\.)*)"\s*$', rest)
    if match:
        commands, rest = match[1].replace('\\"', '"'), rest[: match.start()].strip()
    if not rest:
        raise context.usage_error("an address is needed")
    from kdive.expr.evaluator import evaluate_prefix

    value, passes_text = evaluate_prefix(rest, context.scope)
    passes = context.evaluate(passes_text) if passes_text else 1
    if value.number < _USER_SPACE_END:
        raise CommandError(f"{value.number:#x} is in user space", hint="breakpoints are set in kernel space")
    context.session.memory.read(value.number, 1)
    added = run.breakpoints.add(value.number, passes=max(passes, 1), commands=commands)
    return BreakpointList([_row(context, added)])


def _row(context: CommandContext, entry: Breakpoint) -> BreakpointRow:
    symbol = context.session.engine.name_of(entry.address) or ""
    return BreakpointRow(entry.id, entry.enabled, entry.address, symbol, entry.hits, entry.passes, entry.commands)


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
        run.breakpoints.disarm_removed(run.target)


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
