"""Help, and leaving."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from kdive.commands.dispatch import QuitRequest
from kdive.commands.results.help import CommandHelp, HelpIndex
from kdive.commands.spec import Group, command
from kdive.errors import CommandError

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.commands.spec import CommandSpec


def describe(spec: CommandSpec) -> CommandHelp:
    """Describe one command."""
    return CommandHelp(
        list(spec.names),
        spec.usage,
        spec.group.value,
        spec.summary,
        spec.details,
        list(spec.examples),
        sorted(need.value for need in spec.needs),
    )


@command(
    "help",
    ".hh",
    syntax="[<command>]",
    group=Group.SESSION,
    summary="list the commands, or explain one",
    examples=("help k", ".hh !process"),
)
def help_(context: CommandContext, arguments: str) -> CommandHelp | HelpIndex:
    """Show help."""
    registry = context.dispatcher.registry
    name = arguments.strip()
    if name:
        spec = registry.find(name)
        if spec is None:
            near = difflib.get_close_matches(name, registry.names(), n=4, cutoff=0.5)
            raise CommandError(f"no command {name!r}", hint=f"near: {', '.join(near)}" if near else None)
        return describe(spec)
    index: dict[str, list[CommandHelp]] = {}
    for spec in registry.all():
        index.setdefault(spec.group.value, []).append(describe(spec))
    return HelpIndex(index)


@command("q", "qd", group=Group.SESSION, summary="leave; the target stays as it is")
def quit_(context: CommandContext, arguments: str) -> None:
    """Leave."""
    del context, arguments
    raise QuitRequest
