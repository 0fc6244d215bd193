"""What clients may read without calling a tool: help pages, the module list, kept results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from kdive.commands.registry import Registry
from kdive.errors import KdiveError
from kdive.record import Record
from kdive.render.text import TextRenderer

if TYPE_CHECKING:
    from kdive.frontends.mcp.toolbox import Toolbox

_HELP = "kdive://help"
_MODULES = "kdive://session/modules"
_OUTPUT = "kdive://output/"
TEXT, JSON = "text/plain", "application/json"


class ResourceError(Exception):
    """There is no such resource, or not now."""


class Resource(Record, frozen=True):
    """A resource, or (with ``{…}`` in its address) a family of resources."""

    uri: str
    name: str
    title: str
    description: str
    mime: str = TEXT


FIXED = (
    Resource(_HELP, "help", "Command reference", "All commands with a line each."),
    Resource(_MODULES, "modules", "Modules", "The modules of the open session.", JSON),
)
TEMPLATES = (
    Resource(f"{_HELP}/{{command}}", "help-page", "Help on a command", "What a command does and takes."),
    Resource(f"{_OUTPUT}{{id}}", "output", "Long result", "A whole result that was too long for one page."),
)


def listed(box: Toolbox) -> list[Resource]:
    """The resources that can be read now."""
    kept = [
        Resource(f"{_OUTPUT}{number}", f"output-{number}", f"Result {number}", "A long result.")
        for number in box.outputs.ids()
    ]
    return [*FIXED, *kept]


def help_uri(command: str) -> str:
    """Address of a command's help page."""
    return f"{_HELP}/{quote(command, safe='')}"


async def read(box: Toolbox, uri: str) -> tuple[str, str]:
    """Read a resource.

    Returns:
        Its MIME type and text.

    Raises:
        ResourceError: There is no such resource, or not now.
    """
    try:
        if uri.rstrip("/") == _HELP:
            return TEXT, help_text(None)
        if uri.startswith(f"{_HELP}/"):
            return TEXT, help_text(unquote(uri[len(_HELP) + 1 :]))
        if uri == _MODULES:
            from kdive.render.json import dumps

            shown = await box.slot.run(lambda desk: dumps(desk.result_of("lm")), _MODULES)
            return JSON, box.cleaner.text(shown)
        if re.fullmatch(re.escape(_OUTPUT) + r"\d{1,15}", uri):
            return TEXT, box.outputs.whole(int(uri[len(_OUTPUT) :]))
    except KdiveError as error:
        raise ResourceError(box.cleaner.text(str(error))) from error
    raise ResourceError(f"no resource {uri[:200]!r}")


def help_text(name: str | None) -> str:
    """A help page; the list of all commands without a name.

    Raises:
        ResourceError: There is no such command.
    """
    from kdive.commands.help import describe
    from kdive.commands.results.help import HelpIndex

    registry = Registry()
    if name is not None:
        spec = registry.find(name)
        if spec is None:
            raise ResourceError(f"no command {name[:100]!r}")
        return TextRenderer().plain(describe(spec))
    index: dict[str, list[object]] = {}
    for spec in registry.all():
        index.setdefault(spec.group.value, []).append(describe(spec))
    return TextRenderer().plain(HelpIndex(index))  # pyright: ignore[reportArgumentType]
