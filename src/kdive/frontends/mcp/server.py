"""The tools on the official MCP SDK."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from kdive.frontends.mcp.tools import INSTRUCTIONS, TOOLS, ArgumentError, Toolbox

if TYPE_CHECKING:
    from kdive.frontends.opening import OpenRequest, SymbolRequest


def make_server(toolbox: Toolbox) -> Any:
    """Put the tools behind an SDK server."""
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server

    from kdive.version import __version__

    async def list_tools(context: Any, parameters: Any) -> Any:
        del context, parameters
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.schema,
                    output_schema=tool.output,
                    annotations=types.ToolAnnotations(
                        title=tool.title,
                        read_only_hint=tool.read_only,
                        destructive_hint=tool.name == "command",
                        idempotent_hint=tool.read_only,
                        open_world_hint=False,
                    ),
                )
                for tool in TOOLS
            ]
        )

    async def call_tool(context: Any, parameters: Any) -> Any:
        del context
        try:
            result = await toolbox.call(parameters.name, dict(parameters.arguments or {}))
        except ArgumentError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        structured = result.data if not result.is_error and _declares(parameters.name) else None
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=structured,
            is_error=result.is_error,
        )

    return Server(
        "kdive",
        version=__version__,
        title="kdive",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _declares(name: str) -> bool:
    return any(tool.name == name and tool.output is not None for tool in TOOLS)


def serve_stdio(request: OpenRequest | None, symbols: SymbolRequest) -> int:
    """Serve on standard input and output until the client leaves; return the exit status.

    Args:
        request: A target to open at the start.
        symbols: Where symbols come from, for every session that is opened.
    """
    import anyio

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    toolbox = Toolbox(symbols)

    async def run() -> int:
        from mcp.server.stdio import stdio_server

        if request is not None:
            named = {"backend": request.backend, "connect": request.connect, "key": request.key}
            try:
                opened = await toolbox.call("open", {name: value for name, value in named.items() if value is not None})
            except ArgumentError as error:
                sys.stderr.write(f"error: {error}\n")
                return 2
            if opened.is_error:
                sys.stderr.write(opened.text + "\n")
                return 1
        server = make_server(toolbox)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return 0

    try:
        return anyio.run(run)
    finally:
        toolbox.shutdown()
