"""The tools, resources and prompts on the official MCP SDK; the same handlers serve both eras of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server

from kdive.frontends.mcp import prompts, resources
from kdive.frontends.mcp.instructions import INSTRUCTIONS
from kdive.frontends.mcp.tool import ArgumentError, Tool
from kdive.frontends.mcp.toolbox import TOOLS, InternalError, MemoryFaultError
from kdive.version import __version__

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from kdive.frontends.mcp.slot import Progress
    from kdive.frontends.mcp.toolbox import Toolbox

    Context = ServerRequestContext[Any, Any]

_DAY_MS = 86_400_000


def _listed(tool: Tool) -> types.Tool:
    hints = tool.hints
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=tool.output,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
    )


def _resource(entry: resources.Resource) -> types.Resource:
    return types.Resource(
        uri=entry.uri, name=entry.name, title=entry.title, description=entry.description, mime_type=entry.mime
    )


def _template(entry: resources.Resource) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=entry.uri, name=entry.name, title=entry.title, description=entry.description, mime_type=entry.mime
    )


def _prompt(entry: prompts.Prompt) -> types.Prompt:
    return types.Prompt(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        arguments=[
            types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
            for argument in entry.arguments
        ],
    )


def _progress(context: Context) -> Progress | None:
    """Where to tell progress, if the client has asked for it."""
    if not context.meta or "progress_token" not in context.meta:
        return None

    async def tell(done: float, text: str) -> None:
        await context.session.report_progress(done, None, text)

    return tell


def make_server(box: Toolbox) -> Server[Any]:
    """Put the tools behind an SDK server."""
    tools = types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS])
    templates = types.ListResourceTemplatesResult(resource_templates=[_template(item) for item in resources.TEMPLATES])
    listed_prompts = types.ListPromptsResult(prompts=[_prompt(item) for item in prompts.PROMPTS])

    async def list_tools(context: Context, parameters: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del context, parameters
        return tools

    async def call_tool(context: Context, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await box.call(parameters.name, dict(parameters.arguments or {}), _progress(context))
        except ArgumentError as error:
            raise MCPError(types.INVALID_PARAMS, box.cleaner.text(str(error))) from error
        except MemoryFaultError as error:
            raise MCPError(types.INVALID_REQUEST, str(error), {"kind": "memory_access"}) from error
        except InternalError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=result.data,
            is_error=result.is_error,
        )

    async def list_resources(
        context: Context, parameters: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del context, parameters
        return types.ListResourcesResult(resources=[_resource(entry) for entry in resources.listed(box)])

    async def list_templates(
        context: Context, parameters: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del context, parameters
        return templates

    async def read_resource(context: Context, parameters: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        del context
        uri = str(parameters.uri)
        try:
            mime, text = await resources.read(box, uri)
        except resources.ResourceError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)])

    async def list_prompts(
        context: Context, parameters: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        del context, parameters
        return listed_prompts

    async def get_prompt(context: Context, parameters: types.GetPromptRequestParams) -> types.GetPromptResult:
        del context
        try:
            prompt, text = prompts.render(parameters.name, dict(parameters.arguments or {}))
        except ArgumentError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def complete(context: Context, parameters: types.CompleteRequestParams) -> types.CompleteResult:
        del context
        reference = parameters.ref
        if isinstance(reference, types.PromptReference):
            kind, name = "prompt", reference.name
        else:
            kind, name = "resource", reference.uri
        argument = parameters.argument
        values = await prompts.complete(box, kind, name, argument.name, argument.value)
        shown = values[: prompts.MAX_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
        )

    fixed = CacheHint(ttl_ms=_DAY_MS, scope="public")
    server = Server[Any](
        "kdive",
        version=__version__,
        title="kdive",
        description="Windows kernel debugger",
        instructions=INSTRUCTIONS,
        cache_hints={
            "server/discover": fixed,
            "tools/list": fixed,
            "prompts/list": fixed,
            "resources/templates/list": fixed,
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    # Tracing, which nobody collects, would cost a part of every call.
    server.middleware.clear()
    return server
