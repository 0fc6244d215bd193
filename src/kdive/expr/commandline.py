"""How a line is cut into commands, and a command's text into arguments."""

from __future__ import annotations

import re

from kdive.errors import UsageError
from kdive.record import Record

_INTERESTING = re.compile(r'["{}();\n]')
_COMMENT = re.compile(r"\s*(?:(\$\$)(?!>?<|>a<)|\*)")
_LOOP_HEAD = re.compile(r"\.(?:for|foreach)(?!\w)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s;]*")
_BLANK = re.compile(r"\s*")


class Argument(Record, frozen=True):
    """One argument of a command.

    Attributes:
        text: Its text, without the quotes.
        quoted: Whether it was written in double quotes.
        start: Column of its first character (of the quote).
        end: Column behind it.
    """

    text: str
    quoted: bool
    start: int
    end: int


def quoted_end(text: str, position: int) -> int:
    r"""Return the position behind the double-quoted string that opens at ``position``.

    ``\"`` and ``\\`` do not end it. An unterminated string ends with its line.
    """
    index = position + 1
    while index < len(text):
        char = text[index]
        if char == "\\" and index + 1 < len(text) and text[index + 1] != "\n":
            index += 2
            continue
        if char == "\n":
            return index
        index += 1
        if char == '"':
            return index
    return len(text)


def comment_end(text: str, position: int) -> int | None:
    """Return the end of the comment at a command's start, or None if there is none.

    ``*`` comments out the rest of its line, ``$$`` the text up to the next semicolon.
    """
    match = _COMMENT.match(text, position)
    if match is None:
        return None
    newline = text.find("\n", match.end())
    newline = len(text) if newline < 0 else newline
    if match[1] is None:
        return newline
    semicolon = text.find(";", match.end())
    return newline if semicolon < 0 else min(semicolon, newline)


def closing(text: str, position: int) -> int | None:
    """Return the position of the bracket that closes the ``{`` or ``(`` at ``position``, or None if there is none.

    Brackets in double quotes and, inside braces, in comments do not count.
    """
    pairs = {"{": "}", "(": ")"}
    expected = [pairs[text[position]]]
    index = position + 1
    if text[position] == "{" and (end := comment_end(text, index)) is not None:
        index = end
    while (match := _INTERESTING.search(text, index)) is not None:
        char = match[0]
        index = match.end()
        if char == '"':
            index = quoted_end(text, match.start())
        elif char in pairs:
            # Parentheses inside braces belong to commands, which may have them unbalanced in free text.
            if char == "{" or expected[-1] == ")":
                expected.append(pairs[char])
        elif char in "})":
            if char != expected[-1]:
                if char == "}" and expected[-1] == ")":
                    return None
                continue
            expected.pop()
            if not expected:
                return match.start()
        if char in "{;\n" and expected[-1] == "}" and (end := comment_end(text, index)) is not None:
            index = end
    return None


def command_end(text: str, position: int) -> int:
    """Return where the command that starts at ``position`` ends: at a ``;`` or line break outside quotes and braces.

    In a ``.for`` or ``.foreach`` head, parentheses protect too.
    """
    head = _LOOP_HEAD.match(text, _skip(text, position)) is not None
    index = position
    while (match := _INTERESTING.search(text, index)) is not None:
        char = match[0]
        index = match.end()
        if char == '"':
            index = quoted_end(text, match.start())
        elif char == "{" or (char == "(" and head):
            end = closing(text, match.start())
            # An opening bracket that nothing closes is ordinary text.
            index = index if end is None else end + 1
        elif char in ";\n":
            return match.start()
    return len(text)


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def next_start(text: str, position: int) -> int:
    """Step over blanks, line breaks and semicolons to the next command."""
    match = _SEPARATORS.match(text, position)
    return match.end() if match else position


def split_commands(line: str) -> list[str]:
    """Cut a line at its semicolons into commands, without the comments and empty commands."""
    commands: list[str] = []
    position = 0
    while (position := next_start(line, position)) < len(line):
        end = comment_end(line, position)
        if end is None:
            end = command_end(line, position)
            commands.append(line[position:end].rstrip())
        position = end
    return commands


def split_arguments(text: str) -> list[Argument]:
    r"""Cut a command's text into arguments at blanks; double quotes keep blanks, and ``\"`` in them is a quote.

    A backslash before any other character is kept, since Windows paths are written with it.

    Raises:
        UsageError: A quote is not closed.
    """
    arguments: list[Argument] = []
    position = 0
    while (position := _skip(text, position)) < len(text):
        if text[position] == '"':
            end = quoted_end(text, position)
            if end - position < 2 or text[end - 1] != '"':
                raise UsageError('a quote (") is not closed', where=f"column {position}")
            body = text[position + 1 : end - 1].replace('\\"', '"')
            arguments.append(Argument(body, True, position, end))
        else:
            end = position
            while end < len(text) and not text[end].isspace():
                end = quoted_end(text, end) if text[end] == '"' else end + 1
            arguments.append(Argument(text[position:end], False, position, end))
        position = end
    return arguments
