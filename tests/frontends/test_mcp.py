"""The MCP server, through the official SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from kdive.frontends.mcp import tools
from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.tools import INSTRUCTIONS, TOOLS, ArgumentError, Toolbox
from kdive.frontends.opening import OpenRequest, SymbolRequest, open_session
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kdive.session.session import Session

DUMP = str(SAMPLE / "crash.dmp")
SYMBOLS = SymbolRequest(path="", isf=(str(SAMPLE / "isf"),), offline=True)
pytestmark = pytest.mark.filterwarnings("default")


def with_client(work: Callable[[Any], Awaitable[None]], deadline: float = 60.0) -> None:
    """Run a client against a server in memory."""
    from mcp import Client

    toolbox = Toolbox(SYMBOLS, deadline)

    async def run() -> None:
        with anyio.fail_after(60):
            async with Client(make_server(toolbox)) as client:
                await work(client)

    try:
        anyio.run(run)
    finally:
        toolbox.shutdown()


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def test_tools_are_listed_with_schemas_and_hints() -> None:
    async def work(client: Any) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["command", "status", "open", "close"]
        for tool in listed:
            assert tool.input_schema["additionalProperties"] is False
            assert tool.annotations is not None
            assert len(tool.description or "") < 2048

    with_client(work)
    assert len(INSTRUCTIONS) < 2048


def test_a_session_from_open_to_close() -> None:
    async def work(client: Any) -> None:
        nothing = await client.call_tool("command", {"line": "k"})
        assert nothing.is_error
        assert "no debugger session is active; call open to attach" in text(nothing)
        assert (await client.call_tool("close", {})).is_error
        opened = await client.call_tool("open", {"backend": "dump", "connect": DUMP})
        assert not opened.is_error
        assert json.loads(text(opened).splitlines()[0]) == {
            "status": "connected",
            "backend": "dump",
            "connect": DUMP,
            "processors": 2,
        }
        again = await client.call_tool("open", {"backend": "dump", "connect": DUMP})
        assert again.is_error
        assert "already active or opening" in text(again)
        stack = await client.call_tool("command", {"line": "k"})
        assert not stack.is_error
        assert "faulty!ReadDeviceRegister" in text(stack)
        assert (
            text(stack).splitlines()[-1].startswith("[target halted @ 0 0xfffff80000201030 nt!KeBugCheckEx | process")
        )
        status = await client.call_tool("status", {})
        assert status.structured_content["running"] is False
        assert status.structured_content["coherent"] is True
        assert status.structured_content["stopped_process"]["name"] == "System"
        assert json.loads(text(status)) == status.structured_content
        closed = await client.call_tool("close", {})
        assert json.loads(text(closed)) == {"status": "closed"}
        assert not (await client.call_tool("open", {"backend": "dump", "connect": DUMP})).is_error

    with_client(work)


def test_state_persists_between_calls_and_errors_keep_what_was_printed() -> None:
    async def work(client: Any) -> None:
        await client.call_tool("open", {"backend": "dump", "connect": DUMP})
        await client.call_tool("command", {"line": "r $t1 = 7"})
        kept = await client.call_tool("command", {"line": "? @$t1"})
        assert "00000000`00000007" in text(kept)
        failed = await client.call_tool("command", {"line": ".echo before; nope; .echo after"})
        assert failed.is_error
        assert text(failed).startswith("before\nerror: unknown command 'nope'")
        assert "not run after that error: .echo after" in text(failed)

    with_client(work)


@pytest.mark.parametrize(
    "line", ["g", "p", "gu", ".echo x; g", "~0 g" if False else "wt", ".reboot", ".crash", "gh; k"]
)
def test_commands_that_run_the_target_are_refused(line: str) -> None:
    async def work(client: Any) -> None:
        await client.call_tool("open", {"backend": "dump", "connect": DUMP})
        refused = await client.call_tool("command", {"line": line})
        assert refused.is_error
        assert "resume and wait_for_stop" in text(refused)

    with_client(work)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("command", {}),
        ("command", {"line": 5}),
        ("command", {"line": "k", "extra": "x"}),
        ("open", {"backend": "dump"}),
        ("open", {"backend": "nonsense"}),
        ("open", {"backend": "dump", "connect": DUMP, "key": "1.2.3.4"}),
        ("open", {"backend": "kdnet"}),
        ("open", {"backend": "memory", "connect": "x"}),
        ("nonsense", {}),
    ],
)
def test_wrong_arguments_are_invalid_params(tool: str, arguments: dict[str, Any]) -> None:
    from mcp import MCPError

    async def work(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(tool, arguments)
        assert caught.value.error.code == -32602

    with_client(work)


def test_a_failed_open_frees_the_slot() -> None:
    async def work(client: Any) -> None:
        failed = await client.call_tool("open", {"backend": "dump", "connect": "/nothing"})
        assert failed.is_error
        assert "no such file" in text(failed)
        assert not (await client.call_tool("open", {"backend": "dump", "connect": DUMP})).is_error

    with_client(work)


def test_a_command_that_takes_too_long_is_cancelled_and_the_server_lives() -> None:
    async def work(client: Any) -> None:
        await client.call_tool("open", {"backend": "dump", "connect": DUMP})
        slow = await client.call_tool("command", {"line": ".sleep 0n3600000"})
        assert slow.is_error
        assert "timed out" in text(slow) or "did not end" in text(slow)
        endless = await client.call_tool("command", {"line": ".while (1) { r $t0 = @$t0 + 1 }"})
        assert endless.is_error
        assert not (await client.call_tool("command", {"line": ".echo alive"})).is_error

    with_client(work, deadline=0.3)


def test_a_cancelled_call_cancels_its_job() -> None:
    async def run() -> None:
        toolbox = Toolbox(SYMBOLS)
        try:
            await toolbox.call("open", {"backend": "dump", "connect": DUMP})
            call = asyncio.ensure_future(toolbox.call("command", {"line": ".sleep 0n3600000"}))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            result = await asyncio.wait_for(toolbox.call("command", {"line": ".echo alive"}), 30)
            assert "alive" in result.text
        finally:
            toolbox.shutdown()

    asyncio.run(run())


def test_close_during_open_frees_the_slot_even_if_the_target_opens_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(request: OpenRequest) -> Session:
        begun.set()
        go_on.wait(30)
        return open_session(request)

    async def run() -> None:
        toolbox = Toolbox(SYMBOLS)
        arguments = {"backend": "dump", "connect": DUMP}
        monkeypatch.setattr(tools, "open_session", slow)
        pending = asyncio.ensure_future(toolbox.call("open", arguments))
        await asyncio.to_thread(begun.wait, 30)
        assert "still opening" in (await toolbox.call("status", {})).text
        assert "already active or opening" in (await toolbox.call("open", arguments)).text
        closed = await toolbox.call("close", {})
        assert closed.data is not None
        assert closed.data["note"]
        go_on.set()
        assert (await pending).is_error
        assert "no debugger session is active" in (await toolbox.call("status", {})).text
        assert not (await toolbox.call("open", arguments)).is_error
        assert not (await toolbox.call("close", {})).is_error

    asyncio.run(run())


def test_symbol_options_hold_for_a_session_that_a_client_opens() -> None:
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        with anyio.fail_after(60):
            arguments = ["-m", "kdive", "mcp", "--sympath", "", "--isf", str(SAMPLE / "isf"), "--offline"]
            server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
            async with Client(server) as client:
                assert not (await client.call_tool("open", {"backend": "dump", "connect": DUMP})).is_error
                shown = text(await client.call_tool("command", {"line": ".sympath; lmv"}))
                assert "offline" in shown
                assert "isf symbols" in shown

    anyio.run(run)


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["--dump", "nothing.dmp"], 1, "error: no such file"),
        (["-b", "gdb", "--connect", "socket"], 1, "not in this release"),
        (["-b", "kdnet"], 2, "needs a key"),
    ],
)
def test_a_target_that_cannot_be_opened_at_the_start_ends_the_server(
    arguments: list[str], status: int, part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from kdive import cli

    assert cli.main(["mcp", *arguments]) == status
    captured = capfd.readouterr()
    assert part in captured.err
    assert captured.out == ""


def test_unknown_arguments_are_refused_before_the_slot_is_claimed() -> None:
    async def run() -> None:
        toolbox = Toolbox(SYMBOLS)
        with pytest.raises(ArgumentError, match="takes no argument"):
            await toolbox.call("open", {"backend": "dump", "connect": DUMP, "bogus": "1"})
        assert not (await toolbox.call("open", {"backend": "dump", "connect": DUMP})).is_error
        toolbox.shutdown()

    asyncio.run(run())


def test_every_tool_names_itself_plainly() -> None:
    assert all(tool.name.isidentifier() and tool.title and tool.description for tool in TOOLS)


def test_the_server_speaks_over_standard_input_and_output() -> None:
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        with anyio.fail_after(60):
            arguments = ["-m", "kdive", "mcp", "--dump", DUMP, "--isf", str(SAMPLE / "isf"), "--offline"]
            async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
                result = await client.call_tool("command", {"line": "!analyze"})
                assert "IMAGE_NAME:  faulty.sys" in text(result)

    anyio.run(run)
