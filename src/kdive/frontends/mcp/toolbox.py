"""The tools on their session: calls are checked, made, and their errors sorted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kdive.errors import KdiveError, MemoryAccessError
from kdive.frontends.mcp.console import CONSOLE_TOOLS
from kdive.frontends.mcp.control import CONTROL_TOOLS
from kdive.frontends.mcp.output import OutputStore
from kdive.frontends.mcp.policy import Policy
from kdive.frontends.mcp.queries import QUERIES
from kdive.frontends.mcp.schema import check_arguments
from kdive.frontends.mcp.slot import DEADLINE, Slot, SlotError
from kdive.frontends.mcp.tool import ArgumentError, Call, Tool, ToolResult
from kdive.frontends.opening import SymbolRequest
from kdive.render.console import error_text

if TYPE_CHECKING:
    from kdive.frontends.mcp.slot import Progress
    from kdive.frontends.mcp.text import Cleaner

_log = logging.getLogger("kdive.mcp")
TOOLS: tuple[Tool, ...] = (*CONTROL_TOOLS, *CONSOLE_TOOLS, *(query.tool for query in QUERIES))


class MemoryFaultError(Exception):
    """Memory of the target could not be read or written, and that ended a structured tool."""


class InternalError(Exception):
    """A defect of kdive ended a call."""


class Toolbox:
    """What all clients of a server share.

    Args:
        symbols: Where symbols come from, for every session that is opened.
        policy: What clients may do.
        deadline: Seconds that a call may take.
    """

    def __init__(
        self, symbols: SymbolRequest | None = None, policy: Policy | None = None, deadline: float = DEADLINE
    ) -> None:
        self.symbols = symbols or SymbolRequest()
        self.policy = policy or Policy()
        self.slot = Slot(deadline)
        self.outputs = OutputStore()
        self._tools = {tool.name: tool for tool in TOOLS}

    @property
    def cleaner(self) -> Cleaner:
        """Cleans what leaves the server."""
        return self.policy.cleaner

    def failure(self, error: KdiveError) -> ToolResult:
        """An error that the caller can mend."""
        plain = str(error) if isinstance(error, SlotError) else error_text(error).plain()
        return ToolResult(self.cleaner.body(plain), is_error=True)

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress | None = None) -> ToolResult:
        """Call a tool.

        Args:
            name: The tool.
            arguments: Its arguments, not checked yet.
            progress: Where progress is told, if anybody asked for it.

        Raises:
            ArgumentError: The arguments do not fit, or there is no such tool.
            MemoryFaultError: The target's memory ended a structured tool.
            InternalError: kdive has a defect; the session and the server live on.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ArgumentError(f"no tool {name!r}; tools: {', '.join(self._tools)}")
        checked = check_arguments(tool, arguments)
        try:
            return await tool.handler(Call(self, checked, progress))
        except ArgumentError:
            raise
        except MemoryAccessError as error:
            if tool.output is None:
                return self.failure(error)
            raise MemoryFaultError(self.cleaner.text(error_text(error).plain())) from error
        except KdiveError as error:
            return self.failure(error)
        except Exception as error:
            _log.warning("internal error in %s", name, exc_info=True)
            described = self.cleaner.text(f"internal error: {type(error).__name__}: {error}")
            raise InternalError(described) from error
