"""kdive against a machine with several processors: each has its own registers, and any of them may stop it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.kernel import ProcessorList
from kdive.nt.processors import prcb_address, processor_context, processor_thread
from kdive.render.text import TextRenderer
from kdive.symbols.views import find_member
from kdive.targets.kd import KdTarget
from kdive.targets.live import ExceptionEvent
from kdive.wire.kd import requests
from kdive.wire.kd.states import ExceptionStop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdive.session.run import Stop
    from kdive.session.session import Session

WAIT = 30.0
WAKE_DEBUGGER = 0x80000007
SPECIAL_REGISTERS, DR7, SPECIAL_SIZE = 2, 0x48, 0xA8


def run(session: Session, line: str) -> list[Any]:
    results: list[Any] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def kd(session: Session) -> KdTarget:
    assert isinstance(session.target, KdTarget)
    return session.target


def frozen(session: Session) -> list[int]:
    """Each processor's ``IpiFrozen``."""
    offset, _ = find_member(session.kernel.type("_KPRCB"), "IpiFrozen")
    return [
        session.memory.u32(prcb_address(session.kernel, number) + offset) for number in range(session.target.processors)
    ]


def next_stop(session: Session) -> Stop:
    """Go on and wait for the next stop."""
    assert session.run is not None
    assert session.run.resume() is False
    stop = session.run.wait(WAIT)
    assert stop is not None
    return stop


def stops(session: Session, *, most: int = 200) -> Iterator[tuple[int, Stop]]:
    """The stops that follow one another, with the processors that they are on."""
    for _ in range(most):
        stop = next_stop(session)
        assert isinstance(stop.event, ExceptionEvent)
        yield stop.event.processor, stop


def stops_on_each(session: Session, wanted: set[int]) -> dict[int, Stop]:
    """The first stop on each of some processors."""
    found: dict[int, Stop] = {}
    for processor, stop in stops(session):
        found.setdefault(processor, stop)
        if wanted <= set(found):
            return found
    pytest.fail(f"only processors {sorted(found)} of {sorted(wanted)} have stopped")


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_every_processor_is_listed_with_registers_of_its_own(
    cpus: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(cpus=cpus)
    assert len(guest.command("processors")) == cpus
    session = attach(guest.kd)
    (listed,) = run(session, "~")
    assert isinstance(listed, ProcessorList)
    assert [row.number for row in listed.processors] == list(range(cpus))
    assert all(row.symbol.startswith("nt!") for row in listed.processors)
    for number in range(cpus):
        view = session.kernel.struct("_KTHREAD", processor_thread(session.kernel, number))
        context = processor_context(session.kernel, number)
        assert view["StackLimit"] < context.sp <= view["StackBase"]
        assert kd(session).special_registers(number)["cr3"] == kd(session).special_registers(0)["cr3"]
        assert session.walk_stack(context)


def test_the_guests_own_account_of_its_processors_is_what_the_debugger_reads(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(cpus=4)
    said = [line.split() for line in guest.command("processors")]
    session = attach(guest.kd)
    assert [f"{prcb_address(session.kernel, number):016x}" for number in range(4)] == [line[2] for line in said]
    assert frozen(session) == [0x24 if number == kd(session).processor else 2 for number in range(4)]


@pytest.mark.parametrize("cpus", [2, 4])
def test_a_breakpoint_is_hit_on_every_processor(
    cpus: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=cpus).kd)
    run(session, "bp nt!KiInner")
    found = stops_on_each(session, set(range(cpus)))
    assert {stop.kind for stop in found.values()} == {"breakpoint"}
    assert {stop.ip for stop in found.values()} == {session.kernel.symbol("KiInner")}


@pytest.mark.parametrize(("command", "symbol"), [("ba w8 nt!Total", "nt!KiInner"), ("ba e1 nt!KiOuter", "nt!KiOuter")])
def test_debug_registers_stop_more_than_one_processor(
    command: str, symbol: str, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=2).kd)
    run(session, command)
    found = stops_on_each(session, {0, 1})
    assert {stop.kind for stop in found.values()} == {"watchpoint"}
    for stop in found.values():
        assert isinstance(stop.event, ExceptionEvent)
        assert stop.event.slots == (0,)
        assert (session.engine.name_of(stop.ip or 0) or "").startswith(symbol)
    enabled = [kd(session).special_registers(number)["dr7"] & 1 for number in range(2)]
    assert enabled == [1, 1]


def test_what_a_debug_register_watched_before_is_forgotten(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=4).kd)
    run(session, "ba w8 nt!Total; g; g; bc *; ba e1 nt!KiOuter")
    outer = session.kernel.symbol("KiOuter")
    assert {stop.ip for _, stop in stops(session, most=8)} == {outer}


@pytest.mark.parametrize("cpus", [2, 4])
def test_a_step_on_any_processor_ends_at_its_next_instruction(
    cpus: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=cpus).kd)
    _, following = run(session, "u nt!KiInner L2")[0].lines
    for wanted in range(cpus):
        run(session, "bp nt!KiInner")
        assert wanted in {processor for processor, _ in _until(session, wanted)}
        run(session, "bc *; t")
        assert session.run is not None
        assert session.run.last is not None
        event = session.run.last.event
        assert isinstance(event, ExceptionEvent)
        assert (event.processor, event.ip) == (wanted, following.address)


def _until(session: Session, wanted: int) -> Iterator[tuple[int, Stop]]:
    for processor, stop in stops(session):
        yield processor, stop
        if processor == wanted:
            return


def test_an_exception_is_told_with_the_processor_that_raised_it(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(cpus=4)
    session = attach(guest.kd)
    assert session.run is not None
    session.run.resume()
    for number in (3, 1):
        guest.send(f"on {number} fault int3")
        stop = session.run.wait(WAIT)
        assert stop is not None
        assert isinstance(stop.event, ExceptionEvent)
        assert (stop.kind, stop.event.processor) == ("break", number)
        session.run.resume()
        assert guest.answer() == []


def test_another_processor_can_be_asked_to_talk(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine(cpus=4).kd)
    target = kd(session)
    first = target.processor
    for wanted in (2, 3, 2, first):
        target.connection.tell(requests.request(requests.Api.SWITCH_PROCESSOR, processor=wanted))
        told = target.connection.next_event(WAIT)
        assert isinstance(told, ExceptionStop)
        assert (told.processor, told.processors) == (wanted, 4)
        assert (told.code == WAKE_DEBUGGER) == (wanted != first)
        assert told.program_counter == target.registers(wanted).ip


def test_registers_are_written_to_the_processor_that_is_named(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=2).kd)
    target = kd(session)
    run(session, "bp nt!KiInner")
    next_stop(session)
    mine, other = target.processor, 1 - target.processor
    before = target.registers(mine).values["r11"]
    target.write_registers(other, {"r11": 0x1122334455667788})
    assert target.registers(other).values["r11"] == 0x1122334455667788
    assert target.registers(mine).values["r11"] == before
    for number, value in ((mine, 0x401), (other, 0x404)):
        raw = target.connection.require(
            requests.read_control_space(SPECIAL_REGISTERS, SPECIAL_SIZE, number), "read"
        ).data[:SPECIAL_SIZE]
        changed = raw[:DR7] + struct.pack("<Q", value) + raw[DR7 + 8 :]
        target.connection.require(requests.write_control_space(SPECIAL_REGISTERS, changed, number), "write")
    assert [target.special_registers(number)["dr7"] for number in (mine, other)] == [0x401, 0x404]


def test_a_processor_that_is_not_there_is_refused(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine(cpus=2).kd)
    reply = kd(session).connection.ask(requests.read_control_space(SPECIAL_REGISTERS, SPECIAL_SIZE, 2))
    assert reply.status == 0xC0000001
    assert run(session, "r")


@pytest.mark.parametrize("command", ["bp nt!KiInner", "ba w8 nt!Total", "ba e1 nt!KiOuter"])
def test_after_leaving_every_processor_runs_on(
    command: str, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(cpus=4)
    session = attach(guest.kd)
    run(session, f"{command}; g; g; g")
    session.close()
    for number in range(4):
        before = int(guest.command(f"on {number} ticks")[0], 16)
        while int(guest.command(f"on {number} ticks")[0], 16) == before:
            pass


def test_stopping_and_going_on_with_four_processors_loses_no_stop(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine(cpus=4).kd)
    assert session.run is not None
    for _ in range(30):
        assert session.run.resume() is False
        session.run.interrupt()
        assert session.run.wait(WAIT) is not None
        assert sorted(state & 0xF for state in frozen(session)) == [2, 2, 2, 4]
