"""The session slot: claims, roll-backs, deadlines, cancellation, a busy owner."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from kdive.errors import CommandError
from kdive.frontends.mcp import control
from kdive.frontends.mcp.slot import Active, Opening, Slot, Vacant
from kdive.frontends.opening import OpenRequest, open_session
from tests.frontends.mcp.support import OPEN, in_loop, with_toolbox

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.frontends.mcp.toolbox import Toolbox
    from kdive.session.session import Session


class Gate:
    """Holds an open up on the owner thread until it is told to go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def open(self, request: OpenRequest, cancel: CancelToken | None = None) -> Session:
        self.begun.set()
        assert self.go_on.wait(30)
        return open_session(request, cancel)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, 30)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    held = Gate()
    monkeypatch.setattr(control, "open_session", held.open)
    return held


def test_a_claim_that_is_not_promoted_is_rolled_back() -> None:
    async def work() -> None:
        slot = Slot()
        opening = slot.claim()
        assert isinstance(slot.state, Opening)
        with pytest.raises(ZeroDivisionError), opening:
            raise ZeroDivisionError
        assert isinstance(slot.state, Vacant)

    in_loop(work)


def test_a_stale_roll_back_is_harmless() -> None:
    async def work() -> None:
        slot = Slot()
        with slot.claim() as first:
            await slot.close()
            second = slot.claim()
            with pytest.raises(CommandError, match="cancelled"):
                first.promote(None)  # pyright: ignore[reportArgumentType]
        assert isinstance(slot.state, Opening)
        with second:
            pass
        assert isinstance(slot.state, Vacant)

    in_loop(work)


def test_while_a_target_is_opening_calls_say_so(gate: Gate) -> None:
    async def work(box: Toolbox) -> None:
        pending = asyncio.ensure_future(box.call("open", OPEN))
        await gate.reached()
        for name in ("status", "stack", "resume"):
            assert (await box.call(name, {})).text == "a debugger session is still opening; retry shortly"
        assert (await box.call("open", OPEN)).text == "a debugger session is already active or opening"
        gate.go_on.set()
        assert not (await pending).is_error

    with_toolbox(work)


def test_close_during_open_frees_the_slot_even_if_the_target_opens_after_all(gate: Gate) -> None:
    async def work(box: Toolbox) -> None:
        pending = asyncio.ensure_future(box.call("open", OPEN))
        await gate.reached()
        closed = await box.call("close", {})
        assert closed.data is not None
        assert closed.data["status"] == "closed"
        assert closed.data["note"]
        gate.go_on.set()
        assert (await pending).is_error
        assert isinstance(box.slot.state, Vacant)
        assert not (await box.call("open", OPEN)).is_error

    with_toolbox(work)


def test_a_cancelled_open_frees_the_slot(gate: Gate) -> None:
    async def work(box: Toolbox) -> None:
        pending = asyncio.ensure_future(box.call("open", OPEN))
        await gate.reached()
        pending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pending
        assert isinstance(box.slot.state, Vacant)
        gate.go_on.set()
        assert not (await box.call("open", OPEN)).is_error

    with_toolbox(work)


def test_close_waits_for_the_owner_and_the_same_target_opens_again_at_once() -> None:
    async def work(box: Toolbox) -> None:
        for _ in range(20):
            assert not (await box.call("open", OPEN)).is_error
            active = box.slot.state
            assert isinstance(active, Active)
            assert (await box.call("close", {})).data == {"status": "closed"}
            assert not active.owner.active

    with_toolbox(work)


def test_a_session_that_does_not_end_stays_active_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr("kdive.frontends.mcp.slot.CLOSE_DEADLINE", 0.05)

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        stuck = asyncio.ensure_future(box.slot.run(lambda _: release.wait(30), "a stuck job"))
        while box.slot.activity is None:
            await asyncio.sleep(0)
        pending = await box.call("close", {})
        assert pending.is_error
        assert pending.data is not None
        assert pending.data["status"] == "pending"
        assert "busy with a stuck job" in pending.data["warning"]
        assert isinstance(box.slot.state, Active)
        assert "call close again" in (await box.call("stack", {})).text
        release.set()
        await stuck
        monkeypatch.setattr("kdive.frontends.mcp.slot.CLOSE_DEADLINE", 5.0)
        assert (await box.call("close", {})).data == {"status": "closed"}

    with_toolbox(work)


def test_status_answers_while_the_owner_is_busy() -> None:
    release = threading.Event()

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        long = asyncio.ensure_future(box.slot.run(lambda _: release.wait(30), "`!process 0 7`"))
        while box.slot.activity is None:
            await asyncio.sleep(0)
        status = await box.call("status", {})
        assert status.data is not None
        assert status.data["busy"].startswith("busy with `!process 0 7` for ")
        assert status.data["rip"] == "0xfffff80000201030"
        release.set()
        await long
        assert (await box.call("status", {})).data == {**status.data, "busy": None}

    with_toolbox(work)


def test_a_call_behind_a_stuck_one_ends_in_its_time_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr("kdive.frontends.mcp.slot.GRACE", 0.1)

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        box.slot.deadline = 0.2
        stuck = await asyncio.gather(
            box.slot.run(lambda _: release.wait(30), "a stuck job"), box.call("stack", {}), return_exceptions=True
        )
        assert "did not end within 0.2 seconds" in str(stuck[0])
        assert not isinstance(stuck[1], BaseException)
        assert "the debugger is busy with a stuck job" in stuck[1].text
        assert "stack was not started" in stuck[1].text
        release.set()
        box.slot.deadline = 30
        assert not (await box.call("stack", {})).is_error

    with_toolbox(work)


@pytest.mark.parametrize(
    "line",
    [
        ".sleep 0n3600000",
        ".while (1) { r $t0 = @$t0 + 1 }",
        ".for (;;) { }",
        ".do { .catch { nosuch } } (1)",
        's -a 0 L?7fffffffffff "abcd"',
        "s -q 0 L?7ffffffffff 1234",
        '.foreach /s (a "1 2 3") { .while (1) { } }',
    ],
)
def test_a_command_that_takes_too_long_is_cancelled_and_the_session_lives(line: str) -> None:
    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        box.slot.deadline = 0.1
        slow = await box.call("command", {"line": line})
        assert slow.is_error
        assert "timed out" in slow.text or "did not end" in slow.text
        box.slot.deadline = 30
        running = asyncio.ensure_future(box.call("command", {"line": line}))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait((running,))
        assert not (await box.call("command", {"line": ".echo alive"})).is_error

    with_toolbox(work)


def test_progress_is_told_while_a_call_runs_and_only_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdive.frontends.mcp.slot.HEARTBEAT", 0.01)
    told: list[float] = []
    enough = threading.Event()

    async def tell(done: float, words: str) -> None:
        told.append(done)
        assert words.startswith("`.sleep 0n3600000`")
        if len(told) == 3:
            enough.set()

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        call = asyncio.ensure_future(box.call("command", {"line": ".sleep 0n3600000"}, tell))
        assert await asyncio.to_thread(enough.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with_toolbox(work)
    assert told == sorted(set(told))


def test_the_owner_drops_jobs_that_were_cancelled_in_the_queue() -> None:
    ran: list[int] = []

    async def work(box: Toolbox) -> None:
        await box.call("open", OPEN)
        release = threading.Event()
        first = asyncio.ensure_future(box.slot.run(lambda _: release.wait(30), "first"))
        second = asyncio.ensure_future(box.slot.run(lambda _: ran.append(2), "second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait((second,))
        release.set()
        await first
        await box.slot.run(lambda _: ran.append(3), "third")

    with_toolbox(work)
    assert ran == [3]
