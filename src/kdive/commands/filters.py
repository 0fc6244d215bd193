"""What becomes of exceptions and module events: the ``sx`` commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.run import FilterList, FilterRow
from kdive.commands.run import run_control
from kdive.commands.spec import Group, command
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.commands.spec import CommandSpec
    from kdive.session.filters import Filter, Mode

_WORDS = re.compile(r'-c\s*2?\s+"((?:[^"\\]|\\.)*)"|-h|-f\s+(break|gh|gn)\b|(\S+)')


def _row(found: Filter) -> FilterRow:
    return FilterRow(found.alias, found.name, found.code, found.mode, found.handled, found.module, found.commands)


@command(
    "sx",
    "sxl",
    group=Group.RUN,
    summary="show what becomes of exceptions and module events",
    needs=(Capability.EXECUTION,),
)
def sx(context: CommandContext, arguments: str) -> FilterList:
    """Show the filters."""
    del arguments
    return FilterList([_row(found) for found in run_control(context).filters])


@command("sxr", group=Group.RUN, summary="go back to the default event filters", needs=(Capability.EXECUTION,))
def sxr(context: CommandContext, arguments: str) -> None:
    """Reset the filters."""
    del arguments
    run_control(context).filters.reset()


def _set(context: CommandContext, arguments: str, mode: Mode) -> FilterList:
    commands, handled, event = None, None, ""
    for match in _WORDS.finditer(arguments):
        if match[0].startswith("-c"):
            commands = match[1].replace('\\"', '"')
        elif match[0] == "-h":
            handled = True
        elif match[2]:
            handled = {"gh": True, "gn": False}.get(match[2])
        else:
            event = match[3]
    if not event:
        raise context.usage_error("which event?")
    return FilterList([_row(run_control(context).filters.set(event, mode, handled=handled, commands=commands))])


_MODES: tuple[tuple[str, Mode, str], ...] = (
    ("sxe", "break", "stop at an event"),
    ("sxd", "second", "stop at an exception at its second chance only"),
    ("sxn", "notify", "say that an event happened, and go on"),
    ("sxi", "ignore", "go on at an event"),
)


def _declare(name: str, mode: Mode, summary: str) -> CommandSpec:
    @command(
        name,
        syntax='[-c "<commands>"] [-h | -f <break|gh|gn>] <code or alias> | ld[:<module>] | ud[:<module>]',
        group=Group.RUN,
        summary=summary,
        details="-h and -f gh let the exception count as handled when the target goes on, -f gn as not handled. "
        "-c gives commands that run when the event stops the target.",
        examples=(f"{name} av", f"{name} ld:mydriver"),
        needs=(Capability.EXECUTION,),
    )
    def handler(context: CommandContext, arguments: str) -> FilterList:
        return _set(context, arguments, mode)

    return handler


sxe, sxd, sxn, sxi = (_declare(*row) for row in _MODES)
