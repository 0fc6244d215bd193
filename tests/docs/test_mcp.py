"""Every example of docs/mcp.md works."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kdive.cli import _parser
from kdive.frontends.mcp.toolbox import TOOLS
from kdive.options import options_for
from tests.frontends.mcp.support import DUMP, in_loop, server_command, with_client

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
TEXT = PAGE.read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def entries() -> list[dict[str, Any]]:
    """Every server that a client's configuration names."""
    found = [json.loads(block) for block in blocks("json")] + [tomllib.loads(block) for block in blocks("toml")]
    return [
        entry
        for settings in found
        for key in ("mcpServers", "servers", "context_servers", "mcp_servers")
        for entry in settings.get(key, {}).values()
    ]


def test_configurations_start_a_server_or_name_one() -> None:
    started = [entry for entry in entries() if "command" in entry]
    assert len(started) == 4
    for entry in started:
        assert entry["command"] == "kdive"
        assert entry["args"][0] == "mcp"
        assert _parser("mcp").parse_args(entry["args"][1:]).dump == "MEMORY.DMP"
    named = [entry for entry in entries() if "url" in entry]
    assert [entry["url"] for entry in named] == ["http://127.0.0.1:8099/mcp"]
    assert named[0]["headers"]["Authorization"].startswith("Bearer ")


def test_a_configured_server_serves() -> None:
    from mcp import Client, StdioServerParameters

    _, *arguments = next(entry["args"] for entry in entries() if "command" in entry)
    command, *start = server_command(*(DUMP if part == "MEMORY.DMP" else part for part in arguments))

    async def work() -> None:
        async with Client(StdioServerParameters(command=command, args=start)) as client:
            assert not (await client.call_tool("analyze", {})).is_error

    in_loop(work)


def test_command_lines_are_understood() -> None:
    lines = [line[2:] for block in blocks("console") for line in block.splitlines()]
    assert len(lines) == 7
    for line in lines:
        words = shlex.split(line, comments=True)
        assert "mcp" in words
        if words[0] == "claude":
            words = words[words.index("--") + 1 :]
        assert words[:2] == ["kdive", "mcp"]
        _parser("mcp").parse_args(words[2:])


@pytest.mark.parametrize("call", [json.loads(block) for block in blocks("json") if '"name"' in block], ids=str)
def test_calls_succeed(call: dict[str, Any]) -> None:
    async def work(client: Any) -> None:
        assert not (await client.call_tool(call["name"], call["arguments"])).is_error

    with_client(work)


def test_every_tool_and_every_option_of_the_server_is_described() -> None:
    for tool in TOOLS:
        assert f"`{tool.name}`" in TEXT
    for option in options_for("mcp"):
        if option.where == "mcp":
            assert option.flags[0] in TEXT
