"""How a command is declared.

A command is a plain function with a :class:`CommandSpec` attached by :func:`command`. Help, completion, the refusal
when a target lacks something and the pages of the manual are all derived from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kdive.record import Record

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.targets.base import Capability

Handler = Callable[["CommandContext", str], Any]


class Group(StrEnum):
    """Chapters of the command reference."""

    SESSION = "session and target"
    ANALYSIS = "crash analysis"
    RUN = "running the target"
    STACK = "registers and stack"
    MEMORY = "memory"
    CODE = "disassembly"
    SYMBOLS = "symbols and types"
    EXPRESSIONS = "expressions and variables"
    KERNEL = "processes, threads, processors"
    MM = "paging and address space"
    CONTROL = "scripts and control flow"


class CommandSpec(Record, frozen=True):
    """A command's declaration.

    Attributes:
        names: The name, then its aliases.
        syntax: Arguments as the manual shows them, without the name.
        group: Chapter of the reference.
        summary: One line.
        details: More, if there is more to say.
        examples: Lines that a user can type.
        needs: What the target must be able to do.
        raw: The argument may hold semicolons: it ends with the line, or where a blank and another command follow one.
        glued: The characters that may follow the name without a space (``lmvm nt``, ``k5``, ``~2s``).
        handler: ``(context, arguments) -> result``; the result is data for the renderers, or None.
    """

    names: tuple[str, ...]
    syntax: str
    group: Group
    summary: str
    handler: Handler
    details: str = ""
    examples: tuple[str, ...] = ()
    needs: frozenset[Capability] = frozenset()
    raw: bool = False
    glued: str = ""

    @property
    def name(self) -> str:
        """The main name."""
        return self.names[0]

    @property
    def usage(self) -> str:
        """Name and arguments."""
        return f"{self.name} {self.syntax}".rstrip()


def command(
    *names: str,
    group: Group,
    summary: str,
    syntax: str = "",
    details: str = "",
    examples: tuple[str, ...] = (),
    needs: tuple[Capability, ...] = (),
    raw: bool = False,
    glued: str = "",
) -> Callable[[Handler], CommandSpec]:
    """Turn a function into a command; the arguments are the fields of :class:`CommandSpec`."""

    def declare(handler: Handler) -> CommandSpec:
        return CommandSpec(names, syntax, group, summary, handler, details, examples, frozenset(needs), raw, glued)

    return declare
