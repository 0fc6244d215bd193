"""Run control from a session: stops, breakpoints, steps, what is lost and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.run import BreakpointList, StopReport
from kdive.commands.results.stack import Stack
from kdive.errors import CommandError
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.kd import KdTarget
from kdive.targets.transport import SocketTransport
from tests.targets.fake_kd import WAIT, FakeKd
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kdive.session.run import RunControl

DISPATCH, WORKER = 0xFFFFF80000201040, 0xFFFFF80000401010
Opener = "Callable[[FakeKd], Session]"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Callable[[FakeKd], Session]]:
    opened: list[Session] = []

    def opener(fake: FakeKd) -> Session:
        target = KdTarget(SocketTransport(fake.near, "fake"))
        target.attach(WAIT)
        options = SessionOptions("", (SAMPLE / "isf",), offline=True, cache=tmp_path)
        opened.append(Session(target, options))
        return opened[-1]

    yield opener
    for session in opened:
        session.close()


def run(session: Session, line: str) -> list[object]:
    results: list[object] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def control(session: Session) -> RunControl:
    assert session.run is not None
    return session.run


def test_a_live_target_shows_what_its_dump_shows(live: Callable[[FakeKd], Session], cache: Path) -> None:
    from kdive.targets.dump import open_dump

    session = live(FakeKd())
    dump = Session(open_dump(SAMPLE / "crash.dmp"), SessionOptions("", (SAMPLE / "isf",), offline=True, cache=cache))
    for line in (
        ".reload /f",
        "lm",
        "!process 0 1",
        "u rip L4",
        "dt nt!_EPROCESS @$proc",
        "x nt!*Bug*",
        ".process 0n2000; !peb",
    ):
        assert run(session, line) == run(dump, line), line
    (alive,), (dead,) = run(session, "k"), run(dump, "k")
    assert isinstance(alive, Stack)
    assert isinstance(dead, Stack)
    assert [frame.symbol for frame in alive.frames] == [frame.symbol for frame in dead.frames]


def test_breakpoints_stop_and_count_and_go(live: Callable[[FakeKd], Session]) -> None:
    fake = FakeKd([WORKER, DISPATCH, WORKER, DISPATCH, WORKER, DISPATCH])
    session = live(fake)
    (added,) = run(session, "bp nt!KiBugCheckDispatch")
    assert isinstance(added, BreakpointList)
    assert added.breakpoints[0].symbol == "nt!KiBugCheckDispatch"
    (hit,) = run(session, "g")
    assert isinstance(hit, StopReport)
    assert (hit.kind, hit.ip, hit.breakpoint, hit.text) == ("breakpoint", DISPATCH, 0, "Breakpoint 0 hit")
    _, (listed) = run(session, "g; bl")
    assert isinstance(listed, BreakpointList)
    assert listed.breakpoints[0].hits == 2
    run(session, "bd 0")
    control(session).resume()
    assert fake.went_on.wait(WAIT)
    assert fake.table == {}


def test_passes_are_counted_down_by_the_debugger(live: Callable[[FakeKd], Session]) -> None:
    fake = FakeKd([DISPATCH, WORKER, DISPATCH, WORKER, DISPATCH, WORKER])
    session = live(fake)
    _, hit, listed = run(session, "bp nt!KiBugCheckDispatch 3; g; bl")
    assert isinstance(hit, StopReport)
    assert isinstance(listed, BreakpointList)
    assert (hit.kind, listed.breakpoints[0].hits) == ("breakpoint", 3)


def test_commands_of_a_breakpoint_run_when_it_is_hit(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd([DISPATCH]))
    results = run(session, 'bp nt!KiBugCheckDispatch ".echo hit it"; g')
    assert "hit it" in [result for result in results if isinstance(result, str)]


def test_running_to_an_address_leaves_no_breakpoint(live: Callable[[FakeKd], Session]) -> None:
    fake = FakeKd([WORKER, DISPATCH, WORKER])
    session = live(fake)
    there, listed = run(session, "g nt!KiBugCheckDispatch; bl")
    assert isinstance(there, StopReport)
    assert isinstance(listed, BreakpointList)
    assert (there.ip, there.text, listed.breakpoints) == (DISPATCH, "", [])
    control(session).resume()
    assert fake.went_on.wait(WAIT)
    assert fake.table == {}


def test_a_stop_between_two_waits_is_not_lost(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd([DISPATCH]))
    run(session, "bp nt!KiBugCheckDispatch")
    steering = control(session)
    assert steering.resume() is False
    while not steering.target.halted:
        steering.service()
    assert steering.running is False
    stop = steering.wait(0)
    assert stop is not None
    assert (stop.kind, stop.ip) == ("breakpoint", DISPATCH)
    assert steering.wait(0) is None


def test_going_on_while_running_says_so(live: Callable[[FakeKd], Session]) -> None:
    steering = control(live(FakeKd()))
    assert steering.resume() is False
    assert steering.resume() is True
    assert steering.interrupt() is False
    stop = steering.wait(WAIT)
    assert stop is not None
    assert stop.kind == "break"
    assert steering.interrupt() is True


@pytest.mark.parametrize("seed", range(10))
def test_going_on_and_stopping_at_once_never_loses_a_stop(seed: int, live: Callable[[FakeKd], Session]) -> None:
    steering = control(live(FakeKd()))
    for _ in range(20 + seed):
        assert steering.resume() is False
        steering.interrupt()
        stop = steering.wait(WAIT)
        assert stop is not None
        assert steering.target.halted


def test_a_restart_is_told_and_the_kernel_is_found_again(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd())
    run(session, "bp nt!KiBugCheckDispatch; .reboot")
    steering = control(session)
    generation = session.generation
    stop = steering.wait(WAIT)
    assert stop is not None
    assert session.generation == generation + 1
    assert steering.coherent
    assert run(session, "lm")
    # The user's breakpoints live on and are set anew.
    steering.resume()
    assert [entry.address for entry in steering.breakpoints] == [DISPATCH]


def test_stepping_needs_a_target_that_stands_still(live: Callable[[FakeKd], Session]) -> None:
    steering = control(live(FakeKd()))
    steering.resume()
    with pytest.raises(CommandError, match="the target is running"):
        steering.step()


def test_registers_and_memory_are_set(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd())
    run(session, "r rax = 1234; eb nt!KeBugCheckEx 90 91; ed nt!KeBugCheckEx+4 11223344")
    assert session.context().values["rax"] == 0x1234
    assert session.memory.read(session.kernel.symbol("KeBugCheckEx"), 8)[:2] == b"\x90\x91"


def test_breakpoints_in_user_space_need_a_page_that_is_in_memory(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd())
    outcome = Dispatcher(session, lambda *_: None, TextRenderer().plain).run("bp 1000")
    assert outcome.error is not None
    assert "the page of 0x1000 is not in memory" in outcome.error.what
    assert "ba e1" in (outcome.error.hint or "")
