"""How a tool is declared, and what a call to it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kdive.frontends.mcp.slot import Progress
    from kdive.frontends.mcp.toolbox import Toolbox


class ArgumentError(Exception):
    """The arguments of a call are wrong; becomes the protocol's *invalid params*."""


class ToolResult(Record, frozen=True):
    """What a call gives.

    Attributes:
        text: For a person or a model; complete by itself.
        is_error: The call failed in a way that the caller can mend.
        data: The same for a program, from tools that declare what it looks like.
    """

    text: str
    is_error: bool = False
    data: dict[str, Any] | None = None


class Call(Record, frozen=True):
    """A call: the tools' common state, the arguments, and where progress is told if anybody asked."""

    box: Toolbox
    arguments: dict[str, Any]
    progress: Progress | None = None


class Hints(Record, frozen=True):
    """What a client may tell its user before a call.

    Attributes:
        read_only: Nothing changes.
        destructive: It may overwrite or destroy something.
        idempotent: Calling again with the same arguments changes nothing more.
        open_world: It reaches beyond the debugger: files, networks, a running machine.
    """

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


LOOKS = Hints(read_only=True, idempotent=True)


class Tool(Record, frozen=True):
    """A tool's declaration.

    Attributes:
        name: Its name.
        title: For people.
        description: For models.
        handler: What it does.
        properties: JSON schemas of the arguments.
        required: Arguments that must be given.
        hints: Annotations.
        output: JSON schema of the data, if it gives data.
    """

    name: str
    title: str
    description: str
    handler: Callable[[Call], Awaitable[ToolResult]]
    properties: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    required: tuple[str, ...] = ()
    hints: Hints = LOOKS
    output: dict[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the whole argument object."""
        schema: dict[str, Any] = {"type": "object", "properties": self.properties, "additionalProperties": False}
        return schema | {"required": list(self.required)} if self.required else schema


def expression(description: str) -> dict[str, Any]:
    """Schema of an argument that is a debugger expression."""
    return {"type": "string", "minLength": 1, "maxLength": 1000, "description": description}


def text(description: str, maximum: int = 1000) -> dict[str, Any]:
    """Schema of a text argument."""
    return {"type": "string", "maxLength": maximum, "description": description}


def integer(description: str, minimum: int, maximum: int, default: int | None = None) -> dict[str, Any]:
    """Schema of a whole number."""
    schema: dict[str, Any] = {"type": "integer", "minimum": minimum, "maximum": maximum, "description": description}
    return schema if default is None else schema | {"default": default}


def choice(description: str, values: tuple[str, ...], default: str | None = None) -> dict[str, Any]:
    """Schema of one of several words."""
    schema: dict[str, Any] = {"type": "string", "enum": list(values), "description": description}
    return schema if default is None else schema | {"default": default}
