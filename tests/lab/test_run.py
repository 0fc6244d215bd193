"""Breakpoints, steps and event filters on a machine that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.run import BreakpointList, StopReport, TraceReport
from kdive.render.text import TextRenderer
from tests.lab.conftest import LAB
from tests.lab.test_guest import WAIT, attended, run, serviced

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.errors import KdiveError
    from kdive.session.session import Session

PUSHF = b"\x9c"
TRAP_FLAG = 0x100


@pytest.fixture
def session(machine: Callable[..., Any], attach: Callable[..., Session]) -> Session:
    return attach(machine().kd)


def failing(session: Session, line: str) -> KdiveError:
    outcome = Dispatcher(session, lambda *_: None, TextRenderer().plain).run(line)
    assert outcome.error is not None
    return outcome.error


def stop_of(result: Any) -> StopReport:
    assert isinstance(result, StopReport)
    return result


def test_a_condition_lets_only_some_hits_stop(session: Session) -> None:
    run(session, 'bp /w "@rcx == 2" nt!KiOuter')
    for _ in range(3):
        (stop,) = run(session, "g")
        assert stop_of(stop).kind == "breakpoint"
        assert session.base_context().values["rcx"] == 2
    (listed,) = run(session, "bl")
    assert isinstance(listed, BreakpointList)
    assert listed.breakpoints[0].hits > 3


def test_a_condition_that_cannot_be_evaluated_stops_and_says_so(session: Session) -> None:
    (_, stop) = run(session, 'bp /w "poi(ffff900000000000) == 2" nt!KiOuter; g')
    assert "cannot be evaluated" in stop_of(stop).text


def test_a_breakpoint_for_a_thread_stops_in_that_thread_only(session: Session) -> None:
    (_, first) = run(session, 'bp /w "@rcx == 1" nt!KiOuter; g')
    assert stop_of(first).kind == "breakpoint"
    thread = session.target.thread  # type: ignore[attr-defined]
    run(session, f"bc *; bp /t {thread:#x} nt!KiInner")
    for _ in range(3):
        run(session, "g")
        assert session.target.thread == thread  # type: ignore[attr-defined]
        assert session.base_context().values["rcx"] == 1


def test_a_breakpoint_that_stops_once_goes(session: Session) -> None:
    results = run(session, "bp /1 nt!KiInner; g; bl")
    assert stop_of(results[1]).kind == "breakpoint"
    assert results[2] == BreakpointList([])


def test_pass_counts_count_hits(session: Session) -> None:
    results = run(session, "bp nt!KiInner 5; g; bl")
    assert (results[2].breakpoints[0].hits, results[2].breakpoints[0].left) == (5, 1)


def test_commands_of_a_breakpoint_go_on_by_themselves(session: Session) -> None:
    results = run(session, "bp nt!KiInner \"j (@rcx == 2) '.echo two'; '.echo other; gc'\"; g")
    words = [result for result in results if isinstance(result, str)]
    assert words[-1] == "two"
    assert session.base_context().values["rcx"] == 2
    assert set(words[:-1]) <= {"other"}


def test_a_source_line_is_a_place_for_a_breakpoint(session: Session) -> None:
    lines = (LAB / "guest/ke/init.c").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "Total += amount" in text)
    added, stop = run(session, f"bp `init.c:{line}`; g")
    assert added.breakpoints[0].symbol.startswith("nt!KiInner")
    assert stop_of(stop).symbol.startswith("nt!KiInner")


def test_the_middle_of_an_instruction_is_refused(session: Session) -> None:
    (listing,) = run(session, "u nt!KiOuter L8")
    long = next(line for line in listing.lines if len(line.data) > 1)
    middle = f"{long.address + 1:#x}"
    error = failing(session, f"bp {middle}")
    assert "in the middle of the instruction" in error.what
    assert "/a" in (error.hint or "")
    assert run(session, f"bp /a {middle}")


def test_what_breakpoints_stand_in_the_place_of_is_read(session: Session) -> None:
    place = session.kernel.symbol("KiInner")
    clean = session.memory.read(place, 16)
    other = session.kernel.symbol("KiOuter")
    code = session.memory.read(other, 16)
    run(session, "bp nt!KiInner; bp nt!KiOuter; g")
    assert session.memory.read(place, 16) == clean
    assert session.memory.read(other, 16) == code
    physical = session.target.physical
    assert physical is not None
    cr3 = session.special_register("cr3") or 0
    tables = session.target.page_tables(cr3)  # type: ignore[attr-defined]
    assert tables.walk(physical, place).physical is not None


def test_writing_over_a_breakpoint_keeps_both(session: Session) -> None:
    place = session.kernel.symbol("KiInner")
    clean = session.memory.read(place, 16)
    run(session, "bp nt!KiOuter; bp nt!KiInner; g")
    session.memory.write(place, clean[:4])
    assert session.memory.read(place, 16) == clean
    seen = {stop_of(run(session, "g")[0]).symbol for _ in range(4)}
    assert seen == {"nt!KiInner", "nt!KiOuter"}


def test_a_driver_is_stopped_at_its_first_instruction_each_time_it_is_loaded(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    session = attach(guest.kd)
    (added,) = run(session, "bu faulty!DriverEntry")
    assert added.breakpoints[0].address is None
    steering = session.run
    assert steering is not None
    for _ in range(5):
        steering.resume()
        guest.send("load faulty.sys")
        stop = steering.wait(WAIT)
        assert stop is not None
        assert (stop.kind, session.engine.name_of(stop.ip or 0)) == ("breakpoint", "faulty!DriverEntry")
        steering.resume()
        assert attended(session, guest) == ["6"]
        assert serviced(session, guest, "unload faulty.sys") == ["1"]
        steering.interrupt()
        assert steering.wait(WAIT) is not None
        (listed,) = run(session, "bl")
        assert listed.breakpoints[0].address is None


def test_loading_a_module_can_stop_the_target(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine()
    session = attach(guest.kd)
    run(session, "sxe ld:faulty")
    steering = session.run
    assert steering is not None
    steering.resume()
    guest.send("load second.sys")
    while not guest.has_answer():
        steering.service()
    guest.answer()
    guest.send("load faulty.sys")
    stop = steering.wait(WAIT)
    assert stop is not None
    assert (stop.kind, "faulty.sys" in stop.note) == ("module", True)
    assert "faulty" in {module.name for module in session.engine.modules}


def test_steps_run_over_calls_or_into_them(session: Session) -> None:
    run(session, "g nt!KiOuter; pc")
    (over,) = run(session, "p")
    assert stop_of(over).kind == "step"
    assert stop_of(over).symbol.startswith("nt!KiOuter+")
    run(session, "g nt!KiOuter; tc")
    (into,) = run(session, "t")
    assert stop_of(into).symbol == "nt!KiInner"
    (returning,) = run(session, "tt")
    assert stop_of(returning).symbol.startswith("nt!KiInner+")
    (out,) = run(session, "t")
    assert stop_of(out).symbol.startswith("nt!KiOuter+")


def test_a_step_over_a_call_is_not_ended_by_another_thread(session: Session) -> None:
    """Worker threads run the same code all the time: the step must end in its own."""
    run(session, 'bp /w "@rcx == 2" nt!KiOuter; g; bc *; pc')
    thread, sp = session.target.thread, session.base_context().sp  # type: ignore[attr-defined]
    for _ in range(5):
        run(session, "p")
        assert session.target.thread == thread  # type: ignore[attr-defined]
        assert session.base_context().sp >= sp
        run(session, 'bp /w "@rcx == 2" nt!KiOuter; g; bc *; pc')


def test_stepping_until_an_address_stops_there(session: Session) -> None:
    run(session, "g nt!KiOuter")
    (ret,) = run(session, "pt")
    end = stop_of(ret).ip
    run(session, "g nt!KiOuter")
    (there,) = run(session, f"pa {end:#x}")
    assert stop_of(there).ip == end


def test_a_function_is_watched_with_its_calls(session: Session) -> None:
    (_, trace) = run(session, "g nt!KiOuter; wt")
    assert isinstance(trace, TraceReport)
    assert [(row.depth, row.symbol) for row in trace.calls] == [(0, "nt!KiOuter"), (1, "nt!KiInner")]
    assert trace.calls[0].called == trace.calls[1].instructions
    assert trace.stop.symbol.startswith("nt!KeUpdateSystemTime")


def test_flags_that_the_guest_saves_hide_the_step(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    """``pushf`` in the guest must not see the trap flag of the debugger's step."""
    guest = machine()
    session = attach(guest.kd)
    steering = session.run
    assert steering is not None
    function = session.kernel.symbol("DbgPrint")
    code = session.memory.read(function, 0x200)
    run(session, f"bp /a {function + code.index(PUSHF):#x}")
    steering.resume()
    guest.send("print something")
    assert steering.wait(WAIT) is not None
    (stop,) = run(session, "t")
    assert stop_of(stop).kind == "step"
    assert not session.memory.u64(session.base_context().sp) & TRAP_FLAG


@pytest.mark.parametrize(
    ("setting", "kinds"),
    [("sxe", {"exception"}), ("sxd dz; sxi", {"bugcheck"}), ("sxn", {"bugcheck"}), ("sxi", {"bugcheck"})],
)
def test_exceptions_do_what_their_filter_says(
    setting: str, kinds: set[str], machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    """An exception that is passed on ends in a bugcheck of the guest."""
    guest = machine()
    session = attach(guest.kd)
    run(session, f"{setting} ii")
    steering = session.run
    assert steering is not None
    steering.resume()
    guest.send("fault illegal")
    stop = steering.wait(WAIT)
    assert stop is not None
    assert stop.kind in kinds
    if setting == "sxn":
        assert any("Illegal instruction" in note for note in steering.notes)


@pytest.mark.parametrize("lines", ["bp /1 nt!DbgPrompt; bl", "bc *"])
def test_a_target_that_took_the_debugger_for_gone_is_not_taken_for_restarted(
    lines: str, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    """Nobody attends to the link while the guest prints: it gives up, and numbers its packets anew."""
    guest = machine()
    session = attach(guest.kd)
    steering = session.run
    assert steering is not None
    run(session, lines)
    steering.resume()
    assert guest.command("print nobody hears this") == []
    steering.service()
    steering.interrupt()
    stop = steering.wait(WAIT)
    assert stop is not None
    assert stop.kind == "break"
    before = session.kernel.symbol("KiInner")
    (hit,) = run(session, "g nt!KiInner")
    assert (stop_of(hit).kind, stop_of(hit).ip) == ("breakpoint", before)
    (listed,) = run(session, "bl")
    if listed.breakpoints:
        steering.resume()
        guest.send("prompt")
        stop = steering.wait(WAIT)
        assert stop is not None
        assert (stop.kind, session.engine.name_of(stop.ip or 0)) == ("breakpoint", "nt!DbgPrompt")
