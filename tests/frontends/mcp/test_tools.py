"""The tools on a dump, from open to close."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from kdive.frontends.mcp.instructions import INSTRUCTIONS
from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.tool import ArgumentError
from kdive.frontends.mcp.toolbox import TOOLS, InternalError, Toolbox
from tests.frontends.mcp.support import DUMP, OPEN, SYMBOLS, text, with_client, with_toolbox

if TYPE_CHECKING:
    from kdive.frontends.mcp.desk import Desk

CONTROL = ["status", "open", "close", "resume", "wait_for_stop", "interrupt"]
QUERIES = ["analyze", "stack", "registers", "modules", "processes", "threads"]
QUERIES += ["read_memory", "disassemble", "symbols", "type_layout"]
NAMES = [*CONTROL, "command", "output", *QUERIES]


def test_the_tool_list_is_complete_small_and_honest_about_effects() -> None:
    async def work(client: Any) -> None:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == NAMES
        assert len(listed.tools) < 20
        assert len(listed.model_dump_json(by_alias=True, exclude_none=True).encode()) < 24_000
        for tool in listed.tools:
            hints = tool.annotations
            assert tool.input_schema["additionalProperties"] is False
            assert len((tool.description or "").encode()) < 2048
            assert hints.title == tool.title
            assert None not in (hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
            assert hints.read_only_hint == (tool.name not in ("command", "open", "close", "resume", "interrupt"))
            assert hints.destructive_hint == (tool.name in ("command", "resume"))
            assert (tool.output_schema is None) == (tool.name in ("command", "output"))

    with_client(work, opened=False)


def test_server_information_tells_a_client_how_to_begin() -> None:
    async def work(client: Any) -> None:
        assert client.server_info.name == "kdive"
        assert client.server_info.version
        assert client.server_capabilities.tools is not None
        assert client.instructions == INSTRUCTIONS

    with_client(work, opened=False, mode="legacy")
    assert len(INSTRUCTIONS.encode()) < 2048
    for part in ("Windows kernel debugger", "`help`", "ask the user", "runs freely", "need it halted", "no request"):
        assert part in INSTRUCTIONS
    for part in ("wait_for_stop until stop", "After a reboot", "0x… strings"):
        assert part in INSTRUCTIONS


def test_a_session_from_open_to_close() -> None:
    async def work(client: Any) -> None:
        opened = await client.call_tool("open", OPEN)
        assert not opened.is_error
        connected = {"status": "connected", "backend": "dump", "connect": DUMP, "processors": 2}
        assert opened.structured_content == connected
        assert json.loads(text(opened).splitlines()[0]) == connected
        again = await client.call_tool("open", OPEN)
        assert again.is_error
        assert text(again) == "a debugger session is already active or opening"
        stack = await client.call_tool("command", {"line": "k"})
        assert not stack.is_error
        assert "faulty!ReadDeviceRegister" in text(stack)
        last = text(stack).splitlines()[-1]
        assert last == "[target halted @ 0 0xfffff80000201030 nt!KeBugCheckEx | process System (4)]"
        closed = await client.call_tool("close", {})
        assert closed.structured_content == {"status": "closed"} == json.loads(text(closed))
        assert not (await client.call_tool("open", OPEN)).is_error

    with_client(work, opened=False)


def test_every_tool_without_a_session_says_to_open_one() -> None:
    arguments: dict[str, dict[str, Any]] = {
        "command": {"line": "k"},
        "read_memory": {"address": "0"},
        "disassemble": {"address": "0"},
        "symbols": {"pattern": "nt!*"},
        "type_layout": {"type": "nt!_KTHREAD"},
    }

    async def work(box: Toolbox) -> None:
        for name in NAMES:
            if name in ("open", "close", "output"):
                continue
            result = await box.call(name, arguments.get(name, {}))
            assert (result.text, result.is_error) == ("no debugger session is active; call open to attach", True)
        closed = await box.call("close", {})
        assert (closed.text, closed.is_error) == ("no debugger session is active", True)

    with_toolbox(work)


def test_status_has_every_field_of_the_contract() -> None:
    async def work(client: Any) -> None:
        status = await client.call_tool("status", {})
        assert status.structured_content == {
            "running": False,
            "current_thread": "0xffff800000010fb0",
            "rip": "0xfffff80000201030",
            "symbol": "nt!KeBugCheckEx",
            "attached_process": None,
            "stopped_process": {"pid": 4, "name": "System", "eprocess": "0xffff800000010ee0"},
            "stopped_thread": {"tid": 12, "pid": 4, "ethread": "0xffff800000010fb0"},
            "coherent": True,
            "kernel_base": "0xfffff80000200000",
            "busy": None,
        }
        assert json.loads(text(status)) == status.structured_content

    with_client(work)


def test_the_inspected_process_is_told_apart_from_the_stopped_one() -> None:
    async def work(client: Any) -> None:
        moved = await client.call_tool("command", {"line": ".process ffff800000011220"})
        assert text(moved).splitlines()[-1].endswith("| process System (4) | scope app.exe (2000)]")
        status = (await client.call_tool("status", {})).structured_content
        assert status["attached_process"]["name"] == "app.exe"
        assert status["stopped_process"]["name"] == "System"

    with_client(work)


def test_state_persists_between_calls() -> None:
    async def work(client: Any) -> None:
        await client.call_tool("command", {"line": "as greet .echo hello; n 10"})
        await client.call_tool("command", {"line": "r $t1 = 7; db rsp L10"})
        assert "00000000`00000007" in text(await client.call_tool("command", {"line": "? @$t1"}))
        assert text(await client.call_tool("command", {"line": "greet"})).startswith("hello\n")

    with_client(work)


def test_a_failing_command_ends_its_line_and_keeps_what_was_printed() -> None:
    async def work(client: Any) -> None:
        failed = await client.call_tool("command", {"line": ".echo before; nope; .echo after"})
        assert failed.is_error
        lines = text(failed).splitlines()
        assert lines[0] == "before"
        assert lines[1].startswith("error: unknown command 'nope'")
        assert "not run after that error: .echo after" in lines
        assert lines[-1].startswith("[target halted @ ")

    with_client(work)


def test_command_gives_data_when_asked() -> None:
    async def work(client: Any) -> None:
        result = await client.call_tool("command", {"line": "? 1; lm m nt; nope; k", "format": "json"})
        assert result.is_error
        assert result.structured_content is None
        data = json.loads(text(result))
        assert [entry["ok"] for entry in data["results"]] == [True, True, False]
        assert data["results"][1]["result"]["modules"][0]["start"] == "0xfffff80000200000"
        assert "unknown command" in data["results"][2]["error"]["what"]
        assert data["not_run"] == "k"
        assert data["status"]["rip"] == "0xfffff80000201030"

    with_client(work)


def test_run_control_tools_on_a_dump_tell_the_truth() -> None:
    async def work(client: Any) -> None:
        resumed = await client.call_tool("resume", {})
        assert resumed.is_error
        assert "a dump target cannot run" in text(resumed)
        stopped = (await client.call_tool("wait_for_stop", {})).structured_content
        assert stopped["stop"] == "halted"
        assert stopped["event"] is False
        assert set(stopped) == {
            *("stop", "event", "rip", "symbol", "coherent"),
            *("attached_process", "stopped_process", "stopped_thread"),
        }
        halted = (await client.call_tool("interrupt", {})).structured_content
        assert halted == {"already_halted": True, "rip": "0xfffff80000201030"}
        assert (await client.call_tool("interrupt", {})).structured_content == halted

    with_client(work)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("command", {}),
        ("command", {"line": 5}),
        ("command", {"line": "k", "extra": "x"}),
        ("command", {"line": "k", "format": "xml"}),
        ("command", {"line": "k" * 70_000}),
        ("open", {"backend": "dump"}),
        ("open", {"backend": "nonsense"}),
        ("open", {"backend": "dump", "connect": DUMP, "key": "1.2.3.4"}),
        ("open", {"backend": "kdnet"}),
        ("open", {"backend": "memory", "connect": "x"}),
        ("wait_for_stop", {"timeout_ms": 20_001}),
        ("wait_for_stop", {"timeout_ms": -1}),
        ("wait_for_stop", {"timeout_ms": True}),
        ("resume", {"disposition": "maybe"}),
        ("stack", {"limit": 0}),
        ("modules", {"pattern": "a; .logopen x"}),
        ("output", {"id": "0"}),
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


def test_a_memory_fault_that_ends_a_structured_tool_is_an_invalid_request() -> None:
    from mcp import MCPError

    async def work(client: Any) -> None:
        for tool, arguments in (
            ("read_memory", {"address": "0"}),
            ("read_memory", {"address": "fffffff000000000", "physical": True}),
            ("disassemble", {"address": "10"}),
            ("read_memory", {"address": "poi(0)"}),
        ):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(tool, arguments)
            assert caught.value.error.code == -32600
            assert caught.value.error.data == {"kind": "memory_access"}
        told = await client.call_tool("command", {"line": "db 0 L1; ? poi(0)"})
        assert told.is_error

    with_client(work)


def test_a_defect_is_an_internal_error_and_the_session_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp import Client, MCPError

    def broken(desk: Desk, command: str) -> Any:
        raise SystemExit(command) if "rip" in command else ZeroDivisionError(desk)

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        with monkeypatch.context() as patch:
            patch.setattr("kdive.frontends.mcp.desk.Desk.result_of", broken)
            for arguments in ({}, {"names": "rip"}):
                with pytest.raises(InternalError):
                    await box.call("registers", arguments)
                async with Client(make_server(box)) as client:
                    with pytest.raises(MCPError) as caught:
                        await client.call_tool("registers", arguments)
                assert caught.value.error.code == -32603
        assert not (await box.call("registers", {})).is_error

    with_toolbox(work)


def test_unknown_arguments_are_refused_before_the_slot_is_claimed() -> None:
    async def work(box: Toolbox) -> None:
        with pytest.raises(ArgumentError, match="takes no argument"):
            await box.call("open", {**OPEN, "bogus": "1"})
        assert not (await box.call("open", OPEN)).is_error

    with_toolbox(work)


def test_a_failed_open_frees_the_slot() -> None:
    async def work(box: Toolbox) -> None:
        failed = await box.call("open", {"backend": "dump", "connect": "/nothing"})
        assert failed.is_error
        assert "no such file" in failed.text
        assert not (await box.call("open", OPEN)).is_error

    with_toolbox(work)


def test_q_points_to_close() -> None:
    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        assert "the close tool ends the session" in (await box.call("command", {"line": "q"})).text
        assert not (await box.call("status", {})).is_error

    with_toolbox(work)


def test_a_toolbox_needs_no_protocol() -> None:
    assert all(tool.name.isidentifier() and tool.title and tool.description for tool in TOOLS)
    assert asyncio.run(Toolbox(SYMBOLS).slot.shutdown())
