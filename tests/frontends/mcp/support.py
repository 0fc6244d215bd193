"""A server in memory, in a process, over HTTP; and what the tests ask of it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio

from kdive.errors import KdiveError
from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.slot import DEADLINE
from kdive.frontends.mcp.toolbox import Toolbox
from kdive.frontends.opening import SymbolRequest
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kdive.cancel import CancelToken
    from kdive.frontends.mcp.policy import Policy
    from kdive.frontends.opening import OpenRequest
    from kdive.session.session import Session
    from tests.targets.fake_kd import FakeKd

DUMP = str(SAMPLE / "crash.dmp")
ISF = str(SAMPLE / "isf")
SYMBOLS = SymbolRequest(path="", isf=(ISF,), offline=True)
SYMBOL_OPTIONS = ["--sympath", "", "--isf", ISF, "--offline"]
OPEN = {"backend": "dump", "connect": DUMP}
SECONDS = 60


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def in_loop(work: Callable[[], Awaitable[None]], bound: float = SECONDS) -> None:
    """Run a coroutine with a bound."""

    async def bounded() -> None:
        with anyio.fail_after(bound):
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


class HttpServer:
    """A server process on a free port.

    Attributes:
        address: Its URL.
        process: The process.
        warnings: What it wrote to standard error before it served.
    """

    def __init__(self, *options: str, listen: str = "127.0.0.1:0") -> None:
        self.process = subprocess.Popen(
            server_command("--http", listen, *options), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        self.warnings = ""
        self.address = ""
        while not self.address:
            line = self.process.stderr.readline()
            assert line, f"the server ended before it served: {self.warnings}"
            if "serving at " in line:
                self.address = line.rpartition(" ")[2].strip()
            else:
                self.warnings += line

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)


def live_opener(fakes: Callable[[], FakeKd], cache: Path) -> Callable[..., Session]:
    """A stand-in for ``open_session`` that attaches to scripted targets."""
    from kdive.session.session import Session, SessionOptions
    from kdive.targets.kd import KdTarget
    from kdive.targets.transport import SocketTransport

    def opened(request: OpenRequest, cancel: CancelToken | None = None) -> Session:
        del request
        target = KdTarget(SocketTransport(fakes().near, "fake"))
        try:
            target.attach(SECONDS, cancel)
            return Session(target, SessionOptions("", (SAMPLE / "isf",), offline=True, cache=cache))
        except BaseException:
            with contextlib.suppress(KdiveError):
                target.close()
            raise

    return opened


def owners() -> list[threading.Thread]:
    """The owner threads that are there."""
    return [thread for thread in threading.enumerate() if thread.name == "kdive-owner"]
