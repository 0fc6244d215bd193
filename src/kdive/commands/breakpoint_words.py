"""The arguments of breakpoint commands: options, a target, a pass count, a condition, commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.errors import KdiveError
from kdive.nt.processes import find_process, find_thread
from kdive.record import Record
from kdive.session.resolving import SOURCE

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPTION = re.compile(r"/([1aptcw])(?=\s|\d|\"|$|@)\s*")
_COMMANDS = re.compile(r'(?:\bdo\s+)?"((?:[^"\\]|\\.)*)"\s*$')
_ACCESS = re.compile(r"([A-Za-z])\s*(\d)\s+")
_CONDITION = re.compile(r"\s+if\s+(.+)$", re.DOTALL)


class BreakpointWords(Record):
    """What a breakpoint command was given.

    Attributes:
        target: The address, symbol, pattern or source line, as typed.
        once: ``/1``.
        unchecked: ``/a``.
        process: Address of the ``_EPROCESS`` of ``/p``, 0 for any.
        thread: Address of the ``_ETHREAD`` of ``/t``, 0 for any.
        processor: The processor of ``/c``, None for any.
        condition: ``/w`` or ``if``.
        passes: At which hit it stops the target.
        commands: What runs then.
        access: What a debug register watches for, as typed.
        size: Bytes that it watches.
    """

    target: str = ""
    once: bool = False
    unchecked: bool = False
    process: int = 0
    thread: int = 0
    processor: int | None = None
    condition: str = ""
    passes: int = 1
    commands: str = ""
    access: str = ""
    size: int = 1


def parse_words(context: CommandContext, text: str, *, access: bool = False) -> BreakpointWords:
    """Parse the arguments of a breakpoint command.

    Args:
        context: The command.
        text: Its arguments.
        access: Whether access and size stand before the target.

    Raises:
        KdiveError: They are not what the command takes.
    """
    words = BreakpointWords()
    rest = _options(context, text.strip(), words)
    if access:
        match = _ACCESS.match(rest)
        if match is None:
            raise context.usage_error("access and size are needed, as in w8 nt!KeTickCount")
        words.access, words.size, rest = match[1].lower(), int(match[2]), rest[match.end() :]
    commands = _COMMANDS.search(rest)
    if commands is not None:
        words.commands, rest = commands[1].replace('\\"', '"'), rest[: commands.start()].strip()
    condition = _CONDITION.search(rest)
    if condition is not None:
        words.condition, rest = condition[1].strip(), rest[: condition.start()]
    words.target, passes = _target(context, rest.strip())
    if not words.target:
        raise context.usage_error("an address is needed")
    if passes:
        words.passes = max(context.evaluate(passes), 1)
    return words


def _target(context: CommandContext, text: str) -> tuple[str, str]:
    """Cut a target from the pass count behind it."""
    first, _, rest = text.partition(" ")
    if SOURCE.match(first) or "*" in first or "?" in first:
        return first, rest.strip()
    try:
        _, rest = context.take(text)
    except KdiveError:
        # A name that is not known yet: it is the first word.
        return first, rest.strip()
    return text[: len(text) - len(rest)].strip() if rest else text, rest


def _options(context: CommandContext, text: str, words: BreakpointWords) -> str:
    while (option := _OPTION.match(text)) is not None:
        letter, text = option[1], text[option.end() :]
        if letter == "1":
            words.once = True
        elif letter == "a":
            words.unchecked = True
        elif letter == "w":
            quoted = _QUOTED.match(text)
            if quoted is None:
                raise context.usage_error('/w takes a condition in quotes, as in /w "@rcx == 4"')
            words.condition, text = quoted[1].replace('\\"', '"'), text[quoted.end() :].strip()
        else:
            word, _, text = text.partition(" ")
            _restrict(context, words, letter, word)
            text = text.strip()
    return text


def _restrict(context: CommandContext, words: BreakpointWords, letter: str, word: str) -> None:
    if not word:
        raise context.usage_error(f"/{letter} takes a value")
    number = context.evaluate(word)
    if letter == "c":
        if not 0 <= number < context.session.target.processors:
            raise context.usage_error(f"no processor {number}: the target has {context.session.target.processors}")
        words.processor = number
    elif letter == "p":
        words.process = find_process(context.session.kernel, number).address
    else:
        words.thread = find_thread(context.session.kernel, number).address
