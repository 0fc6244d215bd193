"""Long results: pages, footers, filters, and the memory that they may take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kdive.errors import CommandError
from kdive.frontends.mcp.output import PAGE_CHARACTERS, OutputStore
from tests.frontends.mcp.support import text, with_client, with_toolbox

if TYPE_CHECKING:
    from kdive.frontends.mcp.toolbox import Toolbox

LONG = "\n".join(f"line {number} {'x' * 40}" for number in range(2000))


def test_a_short_result_is_left_alone() -> None:
    assert OutputStore().first_page("x" * PAGE_CHARACTERS) == "x" * PAGE_CHARACTERS


def test_pages_lead_through_the_whole_result() -> None:
    store = OutputStore()
    page = store.first_page(LONG)
    seen: list[str] = []
    offset = 0
    while True:
        *lines, footer = page.splitlines()
        assert len(page) < PAGE_CHARACTERS + 200
        assert footer.startswith(f"[output 0: 2000 lines, offsets {offset}-{offset + len(lines) - 1} shown; ")
        seen += lines
        match = re.search(r"output\(id=0, offset=(\d+)\)", footer)
        if match is None:
            break
        offset = int(match[1])
        page = store.page(0, offset)
    assert "\n".join(seen) == LONG


def test_a_filter_returns_matching_lines_after_their_offsets() -> None:
    store = OutputStore()
    store.first_page(LONG)
    lines = store.page(0, 5, wanted="LINE 19").splitlines()
    assert lines[0] == f"19: line 19 {'x' * 40}"
    assert lines[1].startswith("190: line 190 ")
    assert lines[-1].startswith("[output 0: 2000 lines, 111 with the filter")
    assert store.page(0, 0, limit=2).splitlines()[2].startswith("[output 0: 2000 lines, offsets 0-1 shown; ")


def test_a_line_that_fills_pages_is_broken() -> None:
    store = OutputStore()
    assert len(store.first_page("y" * 100_000)) < PAGE_CHARACTERS + 200
    assert store.whole(0).replace("\n", "") == "y" * 100_000


def test_the_oldest_results_make_room() -> None:
    store = OutputStore(memory=400_000)
    for _ in range(10):
        store.first_page(LONG)
    assert store.ids()[-1] == 9
    assert len(store.ids()) < 5
    with pytest.raises(CommandError, match="no output 0 is kept"):
        store.page(0, 0)
    with pytest.raises(CommandError, match="past the end"):
        store.page(9, 2000)


def test_output_needs_no_session_and_outlives_it() -> None:
    async def work(client: Any) -> None:
        first = text(await client.call_tool("command", {"line": "db rsp L3000; db rsp L3000"}))
        assert re.search(r"^\[output 0: \d+ lines, offsets 0-\d+ shown; ", first, re.MULTILINE)
        assert first.splitlines()[-1].startswith("[target halted @ ")
        await client.call_tool("close", {})
        rest = await client.call_tool("output", {"id": 0, "offset": 10, "limit": 1})
        assert not rest.is_error
        found = text(await client.call_tool("output", {"id": 0, "filter": "103bb8"}))
        assert found.startswith("0: ffffd000`00103bb8")
        assert (await client.read_resource("kdive://output/0")).contents[0].text.startswith("ffffd000`00103bb8")

    with_client(work)


def test_json_results_are_paged_too() -> None:
    async def work(box: Toolbox) -> None:
        from tests.frontends.mcp.support import OPEN

        await box.call("open", OPEN)
        page = await box.call("command", {"line": "db rsp L3000", "format": "json"})
        assert page.text.startswith('{\n "results"')
        assert page.text.splitlines()[-1].startswith("[output 0: ")

    with_toolbox(work)
