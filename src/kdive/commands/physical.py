"""Displays of physical memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.memory import FORMATS, read_rows
from kdive.commands.results.memory import MemoryDisplay
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext


@command(
    "!db",
    "!dw",
    "!dd",
    "!dc",
    "!dq",
    syntax="<physical-address> [L<count> | <end>]",
    group=Group.MEMORY,
    summary="display physical memory as bytes, words, dwords or qwords",
    examples=("!dq @$dtb L4",),
    needs=(Capability.PHYSICAL_MEMORY,),
)
def db(context: CommandContext, arguments: str) -> MemoryDisplay:
    """Display physical memory."""
    physical = context.session.target.physical
    if physical is None:
        raise CommandError("the target has no physical memory")
    if not arguments:
        raise context.usage_error("a physical address is needed")
    form = FORMATS[context.name[2:].lower()]
    found = context.range(arguments, form.size, form.default)
    rows = read_rows(physical, found.start, found.count, form, context.cancel)
    return MemoryDisplay(form.element, form.size, rows, form.per_row, physical=True)
