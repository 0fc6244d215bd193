"""Small commands that scripts are made of: text, waiting, logs, aliases."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from kdive.commands.results.control import AliasList
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.expr.printf import format_printf

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_MAX_SLEEP = 24 * 3600 * 1000


@command(".echo", syntax="[<text>]", group=Group.CONTROL, summary="show a text")
def echo(context: CommandContext, arguments: str) -> str:
    """Show a text."""
    del context
    quoted = len(arguments) > 1 and arguments[0] == '"' == arguments[-1]
    return arguments[1:-1] if quoted else arguments


@command(".echotime", group=Group.CONTROL, summary="show the debugger's own time")
def echotime(context: CommandContext, arguments: str) -> str:
    """Show the time."""
    del context, arguments
    return f"Debugger (not debuggee) time: {datetime.datetime.now(datetime.UTC):%a %b %d %H:%M:%S.%f %Y} (UTC)"


@command(
    ".printf",
    syntax='"<format>"[, <argument>…]',
    group=Group.CONTROL,
    summary="show formatted text: C's conversions, %p %N addresses, %y symbols, %ma %mu %msu strings in memory",
    examples=('.printf "%p is %y\\n", @rip, @rip',),
)
def printf(context: CommandContext, arguments: str) -> str:
    """Show formatted text."""
    return format_printf(arguments, context.scope).removesuffix("\n")


@command(".sleep", syntax="<milliseconds>", group=Group.CONTROL, summary="wait; Ctrl+C ends it")
def sleep(context: CommandContext, arguments: str) -> None:
    """Wait."""
    milliseconds = context.evaluate(arguments)
    if milliseconds > _MAX_SLEEP:
        raise context.usage_error("at most a day")
    context.cancel.wait(milliseconds / 1000)


@command(".logopen", syntax="<file>", group=Group.SESSION, summary="write a transcript to a new file")
def logopen(context: CommandContext, arguments: str) -> str:
    """Open a log."""
    return _log(context, arguments, append=False)


@command(".logappend", syntax="<file>", group=Group.SESSION, summary="add a transcript to a file")
def logappend(context: CommandContext, arguments: str) -> str:
    """Append to a log."""
    return _log(context, arguments, append=True)


def _log(context: CommandContext, arguments: str, *, append: bool) -> str:
    name = arguments.strip().strip('"')
    if not name:
        raise context.usage_error("a file is needed")
    path = context.session.host_files.path(name)
    context.dispatcher.transcript.open(path, append=append)
    return f"Opened log file '{path}'"


@command(".logclose", group=Group.SESSION, summary="end the transcript")
def logclose(context: CommandContext, arguments: str) -> str:
    """Close the log."""
    del arguments
    path = context.dispatcher.transcript.close()
    if path is None:
        raise CommandError("no log is open")
    return f"Closing open log file {path}"


@command(
    "as",
    syntax="<name> <text>",
    group=Group.CONTROL,
    summary="define an alias: its name stands for the text in later lines, also as ${name}",
    examples=("as who !process -1 0",),
    raw=True,
)
def alias(context: CommandContext, arguments: str) -> None:
    """Define an alias."""
    name, _, text = arguments.strip().partition(" ")
    if not text.strip():
        raise context.usage_error("a name and a text are needed")
    context.session.aliases.set(name, text.strip())


@command("al", group=Group.CONTROL, summary="list the aliases")
def alias_list(context: CommandContext, arguments: str) -> AliasList:
    """List aliases."""
    del arguments
    return AliasList(dict(context.session.aliases.items()))


@command("ad", syntax="<name> | *", group=Group.CONTROL, summary="remove an alias, or all")
def alias_delete(context: CommandContext, arguments: str) -> None:
    """Remove an alias."""
    name = arguments.replace("/q", "").strip()
    if not name:
        raise context.usage_error("a name is needed")
    try:
        context.session.aliases.delete(name)
    except CommandError:
        if "/q" not in arguments:
            raise
