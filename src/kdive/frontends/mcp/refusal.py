"""Commands that this front end does not run: those that would block the session, and those that its options forbid.

A line is looked through before any of it runs, so that nothing happens when a part of it is refused. What only running
the line can tell (a command that a loop variable spells) is caught when the command is about to run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.errors import CommandError, KdiveError
from kdive.expr.commandline import next_start
from kdive.expr.statements import Block, Command, For, ForEach, If, Jump, While, parse_statement
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.commands.dispatch import Dispatcher
    from kdive.frontends.mcp.policy import Policy

RUN_CONTROL = frozenset(
    ["g", "gh", "gn", "p", "pa", "pc", "pt", "ph", "ta", "tc", "tt", "th", "gu", "wt", ".reboot", ".crash"]
)
"""They resume the target until its next stop."""
WRITES = frozenset(
    (
        Capability.MEMORY_WRITE,
        Capability.REGISTER_WRITE,
        Capability.IO_PORTS,
        Capability.BREAKPOINTS,
        Capability.WATCHPOINTS,
    )
)
"""What a target must let commands do that change it."""
SHELL = frozenset((".shell",))
_MAX_DEPTH = 48
# `~0 g` and `~*g` run a command for processors; `g` may have its address glued on, after a `=`.
_WORD = re.compile(r"(?:~[0-9a-fA-F.#*]*\s*)?([.!]?[A-Za-z]\w*)")


def command_word(command: str) -> str:
    """The word that names a command, in lower case where case means nothing."""
    match = _WORD.match(command.strip())
    word = match[1] if match else ""
    return word.lower() if word[:1] in ".!" else word


def refuse_line(line: str, dispatcher: Dispatcher) -> None:
    """Look through a whole line: blocks, branches, loops, alias texts, commands in quotes.

    Raises:
        CommandError: A command in it is refused.
    """
    for command in _commands(line, dispatcher, 0):
        refuse_command(command)


def refuse_command(command: str) -> None:
    """Refuse a command that this front end never runs.

    Raises:
        CommandError: It is one.
    """
    word = command_word(command)
    if word.rstrip("0123456789") in RUN_CONTROL:
        raise CommandError(
            f"{word} is refused: it would run the target and block the session until the next stop",
            hint="call the resume tool, then wait_for_stop; t executes one instruction; a dump cannot run",
        )
    if word in SHELL:
        raise CommandError(f"{word} is refused: this server runs no programs on the host")


def refuse_by_policy(command: str, dispatcher: Dispatcher, policy: Policy) -> None:
    """Refuse a command that the server's options forbid.

    Raises:
        CommandError: They do.
    """
    refuse_command(command)
    word = command_word(command)
    if word in (".sympath", ".sympath+", ".symfix"):
        policy.check_symbol_path(command)
    if not policy.read_only:
        return
    try:
        spec, name, _ = dispatcher.resolve(command)
    except KdiveError:
        return
    if spec.needs & WRITES:
        raise CommandError(f"{name} is refused: it changes the target, and the server was started with --read-only")


def _commands(text: str, dispatcher: Dispatcher, depth: int) -> Iterator[str]:
    """The commands that a text may run, as far as can be told without running it."""
    if depth > _MAX_DEPTH:
        return
    position = 0
    while (position := next_start(text, position)) < len(text):
        try:
            statement, end = parse_statement(text, position)
        except CommandError:
            # Running it will say what is wrong; what stands in it is not looked at, since it cannot run.
            return
        position = max(end, position + 1)
        for inner in _bodies(statement):
            yield from _commands(inner, dispatcher, depth + 1)
        if isinstance(statement, Command):
            yield from _plain(statement.text, dispatcher, depth)


def _plain(command: str, dispatcher: Dispatcher, depth: int) -> Iterator[str]:
    yield command
    try:
        expanded = dispatcher.aliases.expand_aliases(command)
    except KdiveError:
        expanded = command
    if expanded != command:
        yield from _commands(expanded, dispatcher, depth + 1)
        return
    # Commands inside a command: !for_each_module "…", !list -x "…", bp address "…", as name g.
    word = command_word(command)
    if word.startswith("!for_each") or word in ("!list", "bp", "bu", "bm", "ba", "~"):
        for quoted in re.findall(r'"([^"]*)"', command):
            yield from _commands(quoted, dispatcher, depth + 1)


def _bodies(statement: object) -> list[str]:
    match statement:
        case If():
            return [body for _, body in statement.branches]
        case While() | Block():
            return [statement.body]
        case For():
            return [statement.first, statement.step, statement.body]
        case ForEach():
            return [statement.source, statement.body] if statement.kind == "commands" else [statement.body]
        case Jump():
            return _jump_parts(statement.text)
        case _:
            return []


def _jump_parts(text: str) -> list[str]:
    """The commands of ``j``: what stands in quotes, and every part behind a semicolon or the condition."""
    parts = re.findall(r"'([^']*)'", text)
    bare = re.sub(r"'[^']*'", " ", text)
    first, *others = bare.split(";")
    # Where the condition ends only evaluation can tell: any word of it might begin the command.
    words = first.split()
    return [*parts, *others, *(" ".join(words[index:]) for index in range(1, len(words)))]
