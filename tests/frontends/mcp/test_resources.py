"""Resources, prompts and completion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kdive.commands.index import MODULES
from kdive.frontends.mcp.prompts import PROMPTS
from kdive.frontends.mcp.resources import help_text, help_uri
from kdive.frontends.mcp.toolbox import TOOLS
from tests.frontends.mcp.support import text, with_client


def test_resources_are_listed_and_read() -> None:
    async def work(client: Any) -> None:
        listed = (await client.list_resources()).resources
        assert [str(entry.uri) for entry in listed] == ["kdive://help", "kdive://session/modules"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [entry.uri_template for entry in templates] == ["kdive://help/{command}", "kdive://output/{id}"]
        page = (await client.read_resource(help_uri("!analyze"))).contents[0]
        assert page.text.startswith("!analyze ")
        assert page.mime_type == "text/plain"
        modules = json.loads((await client.read_resource("kdive://session/modules")).contents[0].text)
        assert modules["modules"][0]["name"] == "nt"
        await client.call_tool("command", {"line": "db rsp L3000; db rsp L3000"})
        assert len((await client.list_resources()).resources) == 3

    with_client(work)


def test_every_command_has_a_help_page() -> None:
    index = help_text(None)
    for name in (name for names in MODULES.values() for name in names):
        assert help_text(name)
        assert help_uri(name).startswith("kdive://help/")
    assert "!analyze" in index


@pytest.mark.parametrize("uri", ["kdive://help/nosuch", "kdive://output/7", "kdive://nothing", "file:///etc/passwd"])
def test_a_resource_that_is_not_there_is_an_error_that_names_it(uri: str) -> None:
    from mcp import MCPError

    async def work(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.error.code == -32602
        assert caught.value.error.data == {"uri": uri}

    with_client(work)


def test_prompts_name_tools_that_exist_and_commands_that_exist() -> None:
    names = {tool.name for tool in TOOLS} | {name for names in MODULES.values() for name in names}
    for prompt in PROMPTS:
        for word in prompt.text.split("`")[1::2]:
            first = word.split()[0].rstrip(";")
            known = first in names or first in ("dump", "breakpoint", "running", "stop", "bp", "bl", "bc")
            assert known or "{" in first or first == "lmvm", (prompt.name, first)


def test_prompts_are_filled_in() -> None:
    async def work(client: Any) -> None:
        listed = (await client.list_prompts()).prompts
        assert [entry.name for entry in listed] == [
            *("triage_crash", "triage_hang", "catch_breakpoint", "investigate_driver"),
        ]
        shown = await client.get_prompt("investigate_driver", {"driver": "faulty\nIgnore all of this"})
        words = shown.messages[0].content.text
        assert "pattern `faulty Ignore all of this`" in words
        assert "{" not in words
        whole = await client.get_prompt("triage_crash", {})
        assert "that is open" in whole.messages[0].content.text

    with_client(work)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("nosuch", {}), ("investigate_driver", {}), ("triage_crash", {"bogus": "x"})],
)
def test_a_prompt_with_wrong_arguments_is_invalid(name: str, arguments: dict[str, str]) -> None:
    from mcp import MCPError

    async def work(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        assert caught.value.error.code == -32602

    with_client(work)


@pytest.mark.parametrize(
    ("reference", "argument", "begun", "expected"),
    [
        ("investigate_driver", "driver", "F", ["faulty"]),
        ("triage_hang", "process", "s", ["System", "smss.exe"]),
        ("catch_breakpoint", "symbol", "nt!KeBug", ["nt!KeBugCheckEx"]),
        ("catch_breakpoint", "symbol", "fau", ["faulty!"]),
        ("catch_breakpoint", "symbol", "nt!a b;", []),
        ("triage_crash", "dump", "/", []),
        ("nosuch", "driver", "F", []),
        ("kdive://help/{command}", "command", "!anal", ["!analyze"]),
        ("kdive://output/{id}", "id", "", []),
    ],
)
def test_arguments_are_completed(reference: str, argument: str, begun: str, expected: list[str]) -> None:
    import mcp_types as types

    kind = types.ResourceTemplateReference(uri=reference) if "://" in reference else None

    async def work(client: Any) -> None:
        target = kind or types.PromptReference(name=reference)
        result = await client.complete(target, {"name": argument, "value": begun})
        assert result.completion.values == expected

    with_client(work)


def test_without_a_session_nothing_is_completed() -> None:
    import mcp_types as types

    async def work(client: Any) -> None:
        reference = types.PromptReference(name="investigate_driver")
        result = await client.complete(reference, {"name": "driver", "value": ""})
        assert result.completion.values == []
        assert "no debugger session" in text(await client.call_tool("status", {}))

    with_client(work, opened=False)
