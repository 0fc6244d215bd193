"""A server on the lab's guest, and what the tests ask of both."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.slot import Active
from kdive.frontends.mcp.toolbox import Toolbox
from kdive.frontends.opening import SymbolRequest
from tests.frontends.mcp.support import in_loop
from tests.lab.conftest import LAB

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

SYMBOLS = SymbolRequest(path=str(LAB / "images"), offline=True)
HEX = re.compile(r"0x[0-9a-f]+")
CONTEXTS = {"attached_process", "stopped_process", "stopped_thread"}


def opening(place: Path) -> dict[str, str]:
    return {"backend": "kd", "connect": str(place)}


def with_box(work: Callable[[Toolbox], Awaitable[None]]) -> None:
    """Run work on a toolbox without the protocol; nothing of it may be left."""

    async def run() -> None:
        box = Toolbox(SYMBOLS)
        try:
            await work(box)
        finally:
            assert await box.slot.shutdown()

    in_loop(run)
    assert not [thread for thread in threading.enumerate() if thread.name == "kdive-owner"]


def with_live_client(place: Path | None, work: Callable[[Any], Awaitable[None]], mode: str = "auto") -> None:
    """Run the SDK's client against a server that has the guest open, or nothing."""
    from mcp import Client

    async def run(box: Toolbox) -> None:
        async with Client(make_server(box), mode=mode) as client:
            if place is not None:
                opened = await client.call_tool("open", opening(place))
                assert not opened.is_error, opened.content
            await work(client)

    with_box(run)


async def data(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives as data."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def said(client: Any, line: str) -> str:
    """What a command says."""
    result = await client.call_tool("command", {"line": line})
    shown = "\n".join(block.text for block in result.content)
    assert not result.is_error, shown
    return shown


async def next_stop(client: Any) -> dict[str, Any]:
    """Wait until there is a stop; bounded by the test's own bound."""
    while True:
        stop = await data(client, "wait_for_stop", timeout_ms=5000)
        if stop["stop"] != "running":
            return stop


async def stop_at(client: Any, line: str) -> dict[str, Any]:
    """Halt, run a command, resume, wait."""
    await data(client, "interrupt")
    await said(client, line)
    await data(client, "resume")
    return await next_stop(client)


def desk_of(box: Toolbox) -> Any:
    assert isinstance(box.slot.state, Active)
    return box.slot.state.desk


def guest_runs(guest: Any) -> bool:
    """Whether the guest's clock goes on."""
    before = int(guest.command("ticks")[0], 16)
    while int(guest.command("ticks")[0], 16) == before:
        pass
    return True
