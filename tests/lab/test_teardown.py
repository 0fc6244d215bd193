"""Whatever ends kdive, the guest runs on as it was; if it cannot, that is said, and the next attach mends it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.lab.conftest import LAB
from tests.lab.live import guest_runs
from tests.soak import bound, chances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kdive.session.session import Session

WAIT = 60.0
STOPPING = ("-c", "bp nt!KiInner; bp nt!KiOuter; g")
RUNNING = ("-c", "bp nt!KiInner 0n1000000000; bp nt!KiOuter 0n1000000000", "-c", "g")
ORIGINAL = ("KiInner", "KiOuter", "KeUpdateSystemTime")


class Kdive:
    """A kdive process on the guest.

    Attributes:
        process: The process.
        shown: What it wrote to standard output so far.
    """

    def __init__(self, place: Path, *options: str) -> None:
        command = [sys.executable, "-m", "kdive", "-b", "kd", "--connect", str(place)]
        command += ["--sympath", str(LAB / "images"), "--offline", *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.shown = ""

    def until(self, text: str) -> None:
        """Wait until it has shown a text."""
        assert self.process.stdout is not None
        while text not in self.shown:
            line = self.process.stdout.readline()
            assert line, f"it ended: {self.shown}{self.process.communicate()[1]}"
            self.shown += line

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str]:
        """Wait for its end; its exit status and what it said on standard error."""
        _, error = self.process.communicate(timeout=WAIT)
        return self.process.returncode, error

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def kdive() -> Iterator[Callable[..., Kdive]]:
    """Start kdive processes; they end with the test."""
    started: list[Kdive] = []

    def start(place: Path, *options: str) -> Kdive:
        started.append(Kdive(place, *options))
        return started[-1]

    yield start
    for one in started:
        one.close()


def code(session: Session) -> bytes:
    """The code that the breakpoints are in, as the guest has it."""
    base = session.kernel.symbol("KiInner") & ~0xFFF
    return session.memory.read(base, 0x1000)


def original(guest: Any, attach: Callable[..., Session]) -> bytes:
    session = attach(guest.kd)
    found = code(session)
    session.close()
    return found


def whole(guest: Any, attach: Callable[..., Session], clean: bytes) -> None:
    """The guest runs, its code is what it was, and it runs on when this debugger has looked."""
    assert guest_runs(guest)
    assert original(guest, attach) == clean
    assert guest_runs(guest)


def quit_(one: Kdive) -> None:
    one.type("q")


def end_of_input(one: Kdive) -> None:
    assert one.process.stdin is not None
    one.process.stdin.close()
    one.process.stdin = None


def interrupt_again_and_again(one: Kdive) -> None:
    """Until it leaves: one that comes at the end of a command is taken for that."""
    while one.process.poll() is None:
        one.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.process.wait(0.3)


def terminate(one: Kdive) -> None:
    one.process.send_signal(signal.SIGTERM)


def hang_up(one: Kdive) -> None:
    one.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize(
    ("leave", "status"),
    [(quit_, 0), (end_of_input, 0), (interrupt_again_and_again, 130), (terminate, 143), (hang_up, 129)],
)
def test_leaving_a_halted_guest_lets_it_run_without_breakpoints(
    leave: Callable[[Kdive], None],
    status: int,
    machine: Callable[..., Any],
    attach: Callable[..., Session],
    kdive: Callable[..., Kdive],
) -> None:
    guest = machine()
    clean = original(guest, attach)
    one = kdive(guest.kd, *STOPPING)
    one.until("Breakpoint")
    leave(one)
    assert one.end() == (status, "")
    whole(guest, attach, clean)


@pytest.mark.parametrize(("leave", "status"), [(terminate, 143), (hang_up, 129)])
def test_leaving_a_running_guest_takes_its_breakpoints_out(
    leave: Callable[[Kdive], None],
    status: int,
    machine: Callable[..., Any],
    attach: Callable[..., Session],
    kdive: Callable[..., Kdive],
) -> None:
    guest = machine()
    clean = original(guest, attach)
    one = kdive(guest.kd, *RUNNING)
    one.until("kd> g")
    leave(one)
    assert one.end() == (status, "")
    whole(guest, attach, clean)


def test_interrupting_a_command_stops_the_guest_and_stays(
    machine: Callable[..., Any], attach: Callable[..., Session], kdive: Callable[..., Kdive]
) -> None:
    guest = machine()
    clean = original(guest, attach)
    one = kdive(guest.kd, *RUNNING)
    one.until("kd> g")
    assert guest_runs(guest)
    one.process.send_signal(signal.SIGINT)
    one.until("Break instruction exception")
    one.type(".echo still here")
    one.until("still here")
    one.type("q")
    assert one.end() == (0, "")
    whole(guest, attach, clean)


def test_a_signal_while_attaching_leaves_the_guest_running(
    machine: Callable[..., Any], attach: Callable[..., Session], kdive: Callable[..., Kdive]
) -> None:
    guest = machine()
    clean = original(guest, attach)
    for chance in chances(30):
        one = kdive(guest.kd, "-c", ".echo attached")
        with pytest.raises(subprocess.TimeoutExpired):
            one.process.wait(0.2 + chance.random() * 0.3)
        terminate(one)
        # Before it has its handlers the signal just ends it; nothing is attached then.
        assert one.end()[0] in (143, -signal.SIGTERM)
        assert guest_runs(guest)
    whole(guest, attach, clean)


def test_a_defect_of_ours_leaves_the_guest_running(
    machine: Callable[..., Any], attach: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kdive.cli import main
    from kdive.frontends.repl import loop

    guest = machine()
    clean = original(guest, attach)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(loop, "_plain", fail)
    options = ["-b", "kd", "--connect", str(guest.kd), "--sympath", str(LAB / "images"), "--offline", "--plain-repl"]
    with pytest.raises(ZeroDivisionError):
        main([*options, *STOPPING])
    whole(guest, attach, clean)


def test_a_link_that_is_lost_is_told_with_what_is_left(
    machine: Callable[..., Any], kdive: Callable[..., Kdive]
) -> None:
    guest = machine()
    one = kdive(guest.kd, *STOPPING)
    one.until("Breakpoint")
    guest.process.kill()
    one.type("k")
    one.type("q")
    status, error = one.end()
    assert "attach again: what was left is taken out" in error
    assert "the target is left standing" in error
    assert status in (0, 1)


@pytest.mark.timeout(bound(120))
def test_what_a_killed_debugger_left_is_mended_by_the_next(
    machine: Callable[..., Any], attach: Callable[..., Session], kdive: Callable[..., Kdive]
) -> None:
    guest = machine()
    clean = original(guest, attach)
    for chance in chances(200, share=20):
        one = kdive(guest.kd, *chance.choice((STOPPING, RUNNING, ("-c", "bp nt!KiInner; g; t; p; g; gu; bc *; g"))))
        if chance.random() < 0.7:
            one.until("kd> bp")
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.process.wait(chance.random() * 0.6)
        one.process.kill()
        one.end()
        assert original(guest, attach) == clean
        assert guest_runs(guest)


class Served(Kdive):
    """An MCP server process with the guest open, spoken to line by line."""

    def __init__(self, place: Path) -> None:
        command = [sys.executable, "-m", "kdive", "mcp", "--sympath", str(LAB / "images"), "--offline"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.shown = ""
        self._number = 0
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.ask("initialize", about)
        self.type(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        self.call("open", backend="kd", connect=str(place))

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self._number += 1
        self.type(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}))
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            answer = json.loads(line)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result


@pytest.mark.parametrize("ending", ["input", "terminate", "kill"])
@pytest.mark.parametrize("running", [False, True])
def test_the_end_of_an_mcp_server_leaves_the_guest_as_it_was(
    ending: str, running: bool, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    clean = original(guest, attach)
    served = Served(guest.kd)
    try:
        served.call("interrupt")
        served.call("command", line="bp nt!KiInner; bp nt!KiOuter")
        served.call("resume")
        served.call("wait_for_stop")
        if running:
            served.call("command", line="bc *; bp nt!KiInner 0n1000000000")
            served.call("resume")
        assert served.process.stdin is not None
        if ending == "input":
            served.process.stdin.close()
            served.process.wait(WAIT)
        elif ending == "terminate":
            served.process.terminate()
            served.process.wait(WAIT)
        else:
            served.process.kill()
            served.process.wait(WAIT)
        if ending != "kill":
            assert guest_runs(guest)
        assert original(guest, attach) == clean
        assert guest_runs(guest)
    finally:
        if served.process.poll() is None:
            served.process.kill()
        for stream in (served.process.stdin, served.process.stdout, served.process.stderr):
            if stream is not None:
                stream.close()
        served.process.wait()
