"""Help as text."""

from __future__ import annotations

import textwrap

from kdive.commands.results.help import CommandHelp, HelpIndex
from kdive.render.styled import Style, StyledText


def command_help(result: CommandHelp) -> StyledText:
    """One command."""
    text = StyledText()
    text.add(result.usage, Style.HEADER).line()
    text.line(f"  {result.summary}")
    if result.details:
        for line in textwrap.wrap(result.details, 100):
            text.line(f"  {line}")
    if len(result.names) > 1:
        text.line(f"  names: {' '.join(result.names)}")
    if result.needs:
        text.line(f"  needs: {', '.join(result.needs)}")
    for example in result.examples:
        text.line(f"  example: {example}", Style.NOTE)
    return text


def index(result: HelpIndex) -> StyledText:
    """All commands."""
    text = StyledText()
    for group, commands in result.groups.items():
        text.line(group, Style.HEADER)
        for entry in commands:
            names = " ".join(entry.names[:6]) + (" …" if len(entry.names) > 6 else "")
            text.line(f"  {names:<34} {entry.summary}")
    text.line("help <command> explains one.", Style.NOTE)
    return text


RENDERERS = {CommandHelp: command_help, HelpIndex: index}
