"""Cutting command lines: where one command ends and the next begins."""

from __future__ import annotations

_OPEN = {"{": "}", "(": ")", "[": "]"}


def split_first(line: str) -> tuple[str, str]:
    """Split off the first command of a line; ``;`` inside quotes, braces or parentheses does not end it.

    Returns:
        The command, and what stands behind its ``;``.
    """
    closers: list[str] = []
    quote = ""
    index = 0
    while index < len(line):
        char = line[index]
        if quote:
            if char == "\\" and quote == '"':
                index += 1
            elif char == quote:
                quote = ""
        elif char == '"':
            quote = char
        elif char in _OPEN:
            closers.append(_OPEN[char])
        elif closers and char == closers[-1]:
            closers.pop()
        elif char in "\n;" and not closers:
            return line[:index], line[index + 1 :]
        index += 1
    return line, ""


def split_commands(line: str) -> list[str]:
    """Split a line into all its commands, without empty ones."""
    commands: list[str] = []
    rest = line
    while rest:
        command, rest = split_first(rest)
        if command.strip():
            commands.append(command.strip())
    return commands


def matching(text: str, start: int) -> int:
    """Return the index of the bracket that closes the one at ``start``, or -1. Quotes hide brackets."""
    opener = text[start]
    closer = _OPEN[opener]
    depth = 0
    quoted = False
    index = start
    while index < len(text):
        char = text[index]
        if quoted and char == "\\":
            index += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted and char == opener:
            depth += 1
        elif not quoted and char == closer:
            depth -= 1
            if not depth:
                return index
        index += 1
    return -1
