"""A server in memory, in a process, over HTTP; and what the tests ask of it."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.slot import DEADLINE
from kdive.frontends.mcp.toolbox import Toolbox
from kdive.frontends.opening import SymbolRequest
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from kdive.frontends.mcp.policy import Policy

DUMP = str(SAMPLE / "crash.dmp")
ISF = str(SAMPLE / "isf")
SYMBOLS = SymbolRequest(path="", isf=(ISF,), offline=True)
SYMBOL_OPTIONS = ["--sympath", "", "--isf", ISF, "--offline"]
OPEN = {"backend": "dump", "connect": DUMP}
SECONDS = 60


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def in_loop(work: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine with a bound."""

    async def bounded() -> None:
        with anyio.fail_after(SECONDS):
            await work()

    asyncio.run(bounded())


def with_toolbox(work: Callable[[Toolbox], Awaitable[None]], **options: Any) -> None:
    """Run work on a toolbox, without the protocol."""

    async def run() -> None:
        box = Toolbox(SYMBOLS, **options)
        try:
            await work(box)
        finally:
            await box.slot.shutdown()

    in_loop(run)


def with_client(
    work: Callable[[Any], Awaitable[None]],
    deadline: float = DEADLINE,
    *,
    opened: bool = True,
    policy: Policy | None = None,
    mode: str = "auto",
) -> None:
    """Run a client against a server in memory."""
    from mcp import Client

    async def run(box: Toolbox) -> None:
        async with Client(make_server(box), mode=mode) as client:
            if opened:
                assert not (await client.call_tool("open", OPEN)).is_error
            await work(client)

    with_toolbox(run, policy=policy, deadline=deadline)


def server_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "kdive", "mcp", *SYMBOL_OPTIONS, *options]


@asynccontextmanager
async def http_server(
    *options: str, home: Path | None = None
) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """A server process on a free port; yields its address and the process, and ends it."""
    environment = dict(os.environ) | ({"KDIVE_HOME": str(home)} if home else {})
    process = await asyncio.create_subprocess_exec(
        *server_command("--http", "127.0.0.1:0", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert process.stderr is not None
    try:
        address = ""
        while not address:
            line = (await process.stderr.readline()).decode()
            assert line, "the server ended before it served"
            if "serving at " in line:
                address = line.rpartition(" ")[2].strip()
        yield address, process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()
