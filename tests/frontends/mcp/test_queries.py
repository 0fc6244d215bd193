"""The read-only tools: the data of the commands that they stand for, in pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.frontends.mcp.support import OPEN, text, with_client, with_toolbox

if TYPE_CHECKING:
    from kdive.frontends.mcp.toolbox import Toolbox

CASES = [
    ("analyze", {}, "!analyze -v"),
    ("stack", {}, "kn ff"),
    ("stack", {"thread": 12}, "!thread c"),
    ("registers", {}, "r"),
    ("registers", {"names": "rip,rsp"}, "r rip, rsp"),
    ("modules", {}, "lm m *"),
    ("modules", {"pattern": "nt", "details": True}, "lmv m nt"),
    ("processes", {}, "!process 0 0"),
    ("processes", {"name": "smss.exe"}, "!process 0 0 smss.exe"),
    ("threads", {}, "!process -1 2"),
    ("threads", {"process": 2000}, "!process 0n2000 2"),
    ("threads", {"process": "ffff800000011220"}, "!process ffff800000011220 2"),
    ("read_memory", {"address": "rsp + 8", "count": 4, "element": "qword"}, "dq rsp+8 L4"),
    ("disassemble", {"address": "nt!KeBugCheckEx", "count": 3}, "u nt!KeBugCheckEx L3"),
    ("disassemble", {"address": "nt!KeBugCheckEx", "function": True}, "uf nt!KeBugCheckEx"),
    ("symbols", {"pattern": "nt!K*"}, "x /v nt!K*"),
    ("type_layout", {"type": "nt!_KTHREAD"}, "dt nt!_KTHREAD"),
    ("type_layout", {"type": "nt!_EPROCESS", "address": "ffff800000010ee0"}, "dt nt!_EPROCESS ffff800000010ee0"),
    ("type_layout", {"type": "nt!_KTHREAD_STATE"}, "dt nt!_KTHREAD_STATE"),
    ("type_layout", {"type": "nt!_KT*"}, "dt nt!_KT*"),
]


@pytest.mark.parametrize(("tool", "arguments", "line"), CASES, ids=[f"{case[0]}-{case[2]}" for case in CASES])
def test_a_query_gives_what_its_command_gives(tool: str, arguments: dict[str, Any], line: str) -> None:
    async def work(client: Any) -> None:
        # The client checks the data against the tool's schema.
        asked = await client.call_tool(tool, arguments)
        told = await client.call_tool("command", {"line": line, "format": "json"})
        result = json.loads(text(told))["results"][0]["result"]
        if tool == "stack" and "stack" in result:
            result = result["stack"]
        elif tool == "threads":
            result = result["processes"][0]
        data = dict(asked.structured_content)
        page = data.pop("page", None)
        assert data == result
        assert page is None or page["shown"] == page["total"]
        plain = text(await client.call_tool("command", {"line": line}))
        if tool != "stack":
            assert text(asked) in plain

    with_client(work)


def test_pages_say_where_they_stand() -> None:
    async def work(client: Any) -> None:
        offset: int | None = 0
        frames: list[Any] = []
        while offset is not None:
            result = await client.call_tool("stack", {"offset": offset, "limit": 4})
            frames += result.structured_content["frames"]
            page = result.structured_content["page"]
            if page["next_offset"] is not None:
                assert text(result).endswith(
                    f"[rows {offset}-{offset + 3} of {page['total']}; next offset {page['next_offset']}]"
                )
            offset = page["next_offset"]
        assert [frame["index"] for frame in frames] == list(range(9))
        beyond = await client.call_tool("stack", {"offset": 100})
        assert beyond.structured_content["page"] == {"offset": 100, "shown": 0, "total": 9, "next_offset": None}

    with_client(work)


def test_queries_do_not_move_what_commands_remember() -> None:
    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        await box.call("command", {"line": "db rsp L10; u nt!KeBugCheckEx L1"})
        before = [await box.call("command", {"line": line}) for line in ("db L10", "u L1")]
        await box.call("command", {"line": "db rsp L10; u nt!KeBugCheckEx L1"})
        await box.call("read_memory", {"address": "rip", "count": 256})
        await box.call("disassemble", {"address": "nt!KiPageFault"})
        after = [await box.call("command", {"line": line}) for line in ("db L10", "u L1")]
        assert [result.text for result in before] == [result.text for result in after]

    with_toolbox(work)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_memory", {"address": "rsp; .logopen x"}),
        ("disassemble", {"address": "rip L5"}),
        ("threads", {"process": "nosuch"}),
        ("processes", {"name": "nosuch.exe"}),
        ("type_layout", {"type": "nt!_NOSUCH"}),
    ],
)
def test_what_the_caller_can_mend_is_an_error_result(tool: str, arguments: dict[str, Any]) -> None:
    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        result = await box.call(tool, arguments)
        assert result.is_error
        assert result.text.startswith("error: ")
        assert result.data is None

    with_toolbox(work)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("registers", {"names": "rax=5"}),
        ("registers", {"names": "rax; g"}),
        ("symbols", {"pattern": "/s nt!*"}),
        ("type_layout", {"type": "-l X nt!_Y 0"}),
        ("processes", {"name": "0"}),
        ("modules", {"pattern": "a b"}),
    ],
)
def test_arguments_cannot_become_options_or_commands(tool: str, arguments: dict[str, Any]) -> None:
    from mcp import MCPError

    async def work(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(tool, arguments)
        assert caught.value.error.code == -32602

    with_client(work)


def test_partly_readable_memory_has_nulls() -> None:
    async def work(client: Any) -> None:
        # The sample's stack ends at this address.
        result = await client.call_tool("read_memory", {"address": "ffffd00000103ff8", "count": 16})
        values = [value for row in result.structured_content["rows"] for value in row["values"]]
        assert None not in values[:8]
        assert values[8:] == [None] * 8

    with_client(work)
