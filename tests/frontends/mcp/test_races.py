"""What can happen at the same time, at random moments: no stop is lost, no state is wrong, no thread is left."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kdive.frontends.mcp import control
from kdive.frontends.mcp.server import make_server
from kdive.frontends.mcp.slot import Active, Vacant
from kdive.frontends.mcp.toolbox import Toolbox
from tests.frontends.mcp.support import SYMBOLS, in_loop, live_opener, owners
from tests.soak import bound, chances
from tests.targets.fake_kd import WAIT, FakeKd

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable
    from pathlib import Path

DISPATCH = 0xFFFFF80000201040
LIVE = {"backend": "kd", "connect": "fake"}
ROUNDS = 1000
BOUND = 60
MOMENT = 0.004
"""Seconds within which two things happen."""


class World:
    """A server whose next targets are scripted.

    Attributes:
        fakes: The targets that were attached to and not looked at since.
    """

    def __init__(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fakes: list[FakeKd] = []
        self._cache = cache
        # Each open has an owner thread of its own, and one that was cancelled may not have ended yet.
        self._lock = threading.Lock()
        monkeypatch.setattr(control, "open_session", live_opener(self._next, cache))

    def _next(self) -> FakeKd:
        self._let_go()
        fake = FakeKd()
        with self._lock:
            self.fakes.append(fake)
        return fake

    def _let_go(self) -> None:
        """Look at the targets that the server is done with."""
        with self._lock:
            ended = [fake for fake in self.fakes if fake.closed.is_set()]
            self.fakes[:] = [fake for fake in self.fakes if fake not in ended]
        for fake in ended:
            fake.join()
            assert fake.running
            assert fake.table == {}
            fake.dump.close()

    @property
    def fake(self) -> FakeKd:
        return self.fakes[-1]

    def run(self, work: Callable[[Toolbox], Awaitable[None]]) -> None:
        async def bounded() -> None:
            box = Toolbox(SYMBOLS)
            try:
                await work(box)
            finally:
                assert await box.slot.shutdown()

        in_loop(bounded, bound(BOUND))
        for fake in self.fakes:
            assert fake.closed.wait(WAIT)
        self._let_go()
        for owner in owners():
            owner.join(WAIT)
        assert owners() == []


@pytest.fixture
def world(cache: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(cache, monkeypatch)


async def data(box: Toolbox, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await box.call(tool, arguments)
    assert not result.is_error, result.text
    return result.data or {}


async def moment(chance: random.Random) -> None:
    """A random while, often none at all."""
    await asyncio.sleep(chance.choice((0, 0, chance.random() * MOMENT)))


async def settled(box: Toolbox) -> dict[str, Any]:
    """The first answer of a wait that is not that the target runs."""
    while True:
        stop = await data(box, "wait_for_stop", timeout_ms=2000)
        if stop["stop"] != "running":
            return stop


def test_resuming_and_interrupting_at_once_ends_halted(world: World) -> None:
    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="bp nt!KiBugCheckDispatch")
        for chance in chances(ROUNDS):
            hits = chance.random() < 0.5
            world.fake.plan[:] = [DISPATCH] if hits else []
            resumed, stopped = asyncio.ensure_future(data(box, "resume")), None
            await moment(chance)
            stopped = asyncio.ensure_future(data(box, "interrupt"))
            assert (await resumed)["already_running"] is False
            assert (await stopped)["rip"]
            stop = await data(box, "wait_for_stop")
            assert stop["stop"] == ("breakpoint" if hits else "halted")
            assert (await data(box, "status"))["running"] is False
            assert world.fake.running is False

    world.run(work)


def test_a_stop_that_comes_while_its_wait_is_cancelled_is_there_for_the_next(world: World) -> None:
    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="bp nt!KiBugCheckDispatch")
        for chance in chances(ROUNDS):
            world.fake.plan[:] = [DISPATCH]
            await data(box, "resume")
            waiting = asyncio.ensure_future(data(box, "wait_for_stop", timeout_ms=20_000))
            await moment(chance)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                assert (await waiting)["stop"] == "breakpoint"
                continue
            assert (await settled(box))["stop"] == "breakpoint"

    world.run(work)


def test_an_open_that_is_cancelled_at_any_moment_leaves_slot_and_target_free(world: World) -> None:
    async def work(box: Toolbox) -> None:
        for chance in chances(ROUNDS):
            opening = asyncio.ensure_future(box.call("open", LIVE))
            await asyncio.sleep(chance.choice((0, chance.random() * MOMENT, chance.random() * 0.04)))
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                assert not (await opening).is_error
            if isinstance(box.slot.state, Active):
                await data(box, "close")
            assert isinstance(box.slot.state, Vacant)

    world.run(work)


def test_closing_during_a_wait_ends_both(world: World) -> None:
    async def work(box: Toolbox) -> None:
        for chance in chances(ROUNDS):
            await data(box, "open", **LIVE)
            if chance.random() < 0.5:
                await data(box, "interrupt")
                await data(box, "command", line="bp nt!KiBugCheckDispatch")
                world.fake.plan[:] = [DISPATCH] * chance.randrange(3)
                await data(box, "resume")
            waiting = asyncio.ensure_future(box.call("wait_for_stop", {"timeout_ms": 20_000}))
            await moment(chance)
            assert await data(box, "close") == {"status": "closed"}
            ended = await waiting
            assert ended.is_error or (ended.data or {})["stop"] == "breakpoint"

    world.run(work)


def test_two_clients_see_one_state(world: World) -> None:
    async def one(box: Toolbox, chance: random.Random, told: list[str]) -> None:
        for _ in range(4):
            match chance.randrange(4):
                case 0:
                    await data(box, "resume")
                case 1:
                    assert "rip" in await data(box, "interrupt")
                case 2:
                    stop = await data(box, "wait_for_stop", timeout_ms=chance.randrange(1, 5))
                    told.append(stop["stop"])
                case _:
                    status = await data(box, "status")
                    assert (status["rip"] is None) is status["running"]
            await moment(chance)

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="bp nt!KiBugCheckDispatch")
        for chance in chances(ROUNDS):
            world.fake.plan[:] = [DISPATCH] * chance.randrange(3)
            told: list[str] = []
            await asyncio.gather(one(box, chance, told), one(box, chance, told))
            assert set(told) <= {"running", "halted", "breakpoint"}
            await data(box, "interrupt")
            await settled(box)
            assert (await data(box, "wait_for_stop"))["stop"] == "halted"

    world.run(work)


def test_a_client_that_is_gone_at_any_moment_leaves_a_session_that_others_use(world: World) -> None:
    from mcp import Client

    async def busy(box: Toolbox, chance: random.Random) -> None:
        async with Client(make_server(box)) as client:
            while True:
                await client.call_tool(chance.choice(("resume", "interrupt", "status")), {})
                await client.call_tool("wait_for_stop", {"timeout_ms": chance.randrange(1, 50)})

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="bp nt!KiBugCheckDispatch")
        for chance in chances(ROUNDS):
            world.fake.plan[:] = [DISPATCH] * chance.randrange(3)
            client = asyncio.ensure_future(busy(box, chance))
            await asyncio.sleep(chance.random() * 0.03)
            client.cancel()
            await asyncio.wait((client,))
            await data(box, "interrupt")
            await settled(box)
            assert (await data(box, "status"))["running"] is False

    world.run(work)
