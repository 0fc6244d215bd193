"""kdive against a machine that runs: what it says is what the guest says of itself."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.kernel import ProcessList
from kdive.commands.results.modules import ModuleList
from kdive.commands.results.run import StopReport
from kdive.commands.results.source import Variables
from kdive.commands.results.stack import Stack
from kdive.render.text import TextRenderer
from tests.lab.conftest import LAB
from tests.tools import need_tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kdive.session.session import Session

WAIT = 30.0


def run(session: Session, line: str) -> list[Any]:
    results: list[Any] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def go_on(session: Session) -> None:
    assert session.run is not None
    session.run.resume()


def serviced(session: Session, guest: Any, command: str) -> list[str]:
    """Give the guest a command, and attend to it until it has answered."""
    guest.send(command)
    return attended(session, guest)


def attended(session: Session, guest: Any) -> list[str]:
    """Attend to the guest until it has answered: it waits for the debugger whenever it prints or loads something."""
    assert session.run is not None
    while not guest.has_answer():
        session.run.service()
    return guest.answer()


@pytest.mark.parametrize("base", [0xFFFFF80000200000, 0xFFFFF8035A600000])
def test_modules_and_processes_are_what_the_guest_says(
    base: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(base=base)
    assert guest.command("load faulty.sys") == ["6"]
    modules, processes = guest.command("modules"), guest.command("processes")
    session = attach(guest.kd)
    (listed,) = run(session, "lm")
    assert isinstance(listed, ModuleList)
    shown = [f"{row.image_name} {row.start:016x} {row.end - row.start:x}" for row in listed.modules]
    assert sorted(shown) == sorted(modules)
    assert base in {row.start for row in listed.modules}
    (found,) = run(session, "!process 0 0")
    assert isinstance(found, ProcessList)
    assert [f"{row.name} {row.pid:x} {row.address:016x}" for row in found.processes] == [
        line.rsplit(" ", 1)[0] for line in processes
    ]


def test_breakpoints_stacks_and_steps(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine().kd)
    hit, stack, up, after = run(session, "bp nt!KiInner; g; k; gu; k")[1:]
    assert isinstance(hit, StopReport)
    assert (hit.kind, hit.symbol) == ("breakpoint", "nt!KiInner")
    assert isinstance(stack, Stack)
    inner, outer, update, *_ = stack.frames
    assert [inner.symbol, outer.symbol.split("+")[0], update.symbol.split("+")[0]] == [
        "nt!KiInner",
        "nt!KiOuter",
        "nt!KeUpdateSystemTime",
    ]
    assert {frame.how for frame in stack.frames} <= {"context", "unwind", "inline"}
    assert isinstance(up, StopReport)
    assert up.ip == inner.return_address
    assert isinstance(after, Stack)
    assert [frame.ip for frame in after.frames] == [frame.ip for frame in stack.frames[1:]]
    for _ in range(5):
        before = session.base_context().ip
        run(session, "t")
        assert session.base_context().ip != before


def test_arguments_and_source_lines_are_known(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine().kd)
    source = str(LAB / "guest")
    _, variables, listing = run(session, f"g nt!KiOuter; dv; .srcpath {source}; lsa")[0:2] + run(session, "lsa")
    assert isinstance(variables, Variables)
    assert variables.variables[0].name == "amount"
    assert variables.variables[0].number == session.base_context().values["rcx"]
    assert listing.checked
    assert "KiOuter" in "".join(listing.lines)


def test_a_driver_is_known_as_soon_as_it_is_loaded(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine()
    session = attach(guest.kd)
    go_on(session)
    names = lambda: {module.name for module in session.engine.modules}  # noqa: E731
    assert serviced(session, guest, "load faulty.sys") == ["6"]
    assert "faulty" in names()
    assert serviced(session, guest, "unload faulty.sys") == ["1"]
    assert "faulty" not in names()


@pytest.mark.parametrize(
    ("kind", "code", "symbol"),
    [("page", 0xC0000005, "nt!Touch"), ("divide", 0xC0000094, "nt!Divide"), ("illegal", 0xC000001D, "nt!Fault")],
)
def test_exceptions_stop_where_they_are_raised(
    kind: str, code: int, symbol: str, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    session = attach(guest.kd)
    go_on(session)
    guest.send(f"fault {kind}")
    assert session.run is not None
    stop = session.run.wait(WAIT)
    assert stop is not None
    assert stop.kind == "exception"
    assert getattr(stop.event, "code", None) == code
    assert (session.engine.name_of(stop.ip or 0) or "").startswith(symbol)


def test_a_bugcheck_is_told_with_its_code(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine()
    session = attach(guest.kd)
    go_on(session)
    guest.send("bugcheck 1e 1 2 3 4")
    assert session.run is not None
    stop = session.run.wait(WAIT)
    assert stop is not None
    assert (stop.kind, stop.note) == ("bugcheck", "bugcheck 0x1e")
    assert any("Fatal System Error: 0x1e" in text for text in session.run.target.take_output())


def test_prints_and_questions_reach_the_debugger(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine()
    session = attach(guest.kd)
    go_on(session)
    guest.send("print hello from the guest")
    assert session.run is not None
    heard = ""
    while "hello from the guest\n" not in heard:
        session.run.service()
        heard += "".join(session.run.target.take_output())
    assert guest.answer() == []
    guest.send("prompt")
    stop = session.run.wait(WAIT)
    assert stop is not None
    assert (stop.kind, stop.note) == ("prompt", "Break, or Ignore (bi)? ")
    session.run.target.answer("i")
    assert guest.answer() == ["i"]


def test_a_restart_is_told_and_the_new_kernel_is_found(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine().kd)
    run(session, ".reboot")
    assert session.run is not None
    stop = session.run.wait(WAIT)
    assert stop is not None
    assert stop.kind == "target_reloaded"
    assert session.generation >= 1
    assert run(session, "lm; r rip")


def test_stopping_and_going_on_loses_no_stop(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine().kd)
    assert session.run is not None
    for _ in range(30):
        assert session.run.resume() is False
        session.run.interrupt()
        stop = session.run.wait(WAIT)
        assert stop is not None
        assert session.run.target.halted


def test_leaving_takes_breakpoints_out_and_lets_the_guest_run(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    session = attach(guest.kd)
    clean = session.memory.read(session.kernel.symbol("KiInner"), 16)
    run(session, "bp nt!KiInner; g; g")
    session.close()
    before = int(guest.command("ticks")[0], 16)
    while int(guest.command("ticks")[0], 16) == before:
        pass
    again = attach(guest.kd)
    assert again.memory.read(again.kernel.symbol("KiInner"), 16) == clean


def test_the_clock_is_the_guests(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine()
    before = int(guest.command("ticks")[0], 16)
    session = attach(guest.kd)
    (shown,) = run(session, ".time")
    ticks = session.memory.u64(session.kernel.symbol("KeTickCount"))
    assert before <= ticks
    assert shown.uptime == datetime.timedelta(milliseconds=10 * ticks)
    assert shown.time == datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC) + shown.uptime


@pytest.mark.parametrize("seed", [1])
def test_a_noisy_line_changes_nothing_that_is_read(
    seed: int, machine: Callable[..., Any], attach: Callable[..., Session], tmp_path: Path
) -> None:
    from noisy import NoisyLine

    guest = machine()
    clean = attach(guest.kd)
    code = clean.memory.read(clean.kernel.symbol("KiInner"), 0x800)
    clean.close()
    line = NoisyLine(tmp_path / "noisy.sock", guest.kd, seed, rate=0.0002)
    try:
        session = attach(tmp_path / "noisy.sock")
        for _ in range(3):
            session.target.memory.forget()  # type: ignore[attr-defined]
            assert session.memory.read(session.kernel.symbol("KiInner"), 0x800) == code
        assert run(session, "k; lm; !process 0 0")
        assert line.spoilt
        session.close()
    finally:
        line.close()


def test_the_kept_images_are_what_the_sources_give_in_any_folder(tmp_path: Path) -> None:
    for name in ("clang-14", "lld-link-14"):
        need_tool(name)
    elsewhere = tmp_path / "some" / "other folder" / "lab"
    shutil.copytree(LAB, elsewhere)
    done = subprocess.run(
        [sys.executable, str(elsewhere / "build.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
