"""Run control over many random operations: a model says where the target must stand after each."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from kdive.arch.amd64.disasm import decode
from tests.lab.test_guest import WAIT, attended, run, serviced
from tests.soak import rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.arch.disasm import Instruction
    from kdive.session.run import RunControl, Stop
    from kdive.session.session import Session

FUNCTIONS = ("KiInner", "KiOuter", "KeUpdateSystemTime")
"""They run all the time on every processor."""


def steering_of(session: Session) -> RunControl:
    assert session.run is not None
    return session.run


class Model:
    """Does random operations, and knows what must come of each.

    Args:
        session: The session.
        chance: Chooses.
    """

    def __init__(self, session: Session, chance: random.Random) -> None:
        self.session = session
        self.steering = steering_of(session)
        self.chance = chance
        self.places = {session.kernel.symbol(name) for name in FUNCTIONS}
        self.clean = {place: session.memory.read(place, 16) for place in self.places}
        self.enabled: dict[int, bool] = {}
        self.stops = 0
        self.log: list[str] = []

    @property
    def armed(self) -> set[int]:
        return {place for place, enabled in self.enabled.items() if enabled}

    def check(self, stop: Stop | None, *, kinds: set[str]) -> Stop:
        assert stop is not None, self.log[-20:]
        assert stop.kind in kinds, (stop, self.log[-20:])
        assert self.session.target.halted  # type: ignore[attr-defined]
        context = self.session.base_context()
        assert context.ip == stop.ip, (stop, self.log[-20:])
        if stop.kind == "breakpoint":
            assert stop.ip in self.armed, (stop, self.log[-20:])
        self.stops += 1
        return stop

    def set_breakpoint(self) -> None:
        place = self.chance.choice(sorted(self.places))
        run(self.session, f"bp {place:#x}")
        self.enabled[place] = True

    def _change(self, word: str) -> None:
        if not self.enabled:
            return
        place = self.chance.choice(sorted(self.enabled))
        (number,) = [entry.id for entry in self.steering.breakpoints.everything() if entry.address == place]
        run(self.session, f"{word} {number}")
        if word == "bc":
            del self.enabled[place]
        else:
            self.enabled[place] = word == "be"

    def clear_breakpoint(self) -> None:
        self._change("bc")

    def disable_breakpoint(self) -> None:
        self._change("bd")

    def enable_breakpoint(self) -> None:
        self._change("be")

    def go(self) -> None:
        """Only a breakpoint stops it; if none is armed, nothing does until it is asked to."""
        assert self.steering.resume() is False
        if not self.armed:
            self.steering.service()
            assert not self.steering.interrupt(), self.log[-20:]
        expected = {"breakpoint"} if self.armed else {"break"}
        self.check(self.steering.wait(WAIT), kinds=expected)

    def interrupt_at_once(self) -> None:
        """Both may win; the loser must not turn up later as a stop of its own."""
        self.steering.resume()
        self.steering.interrupt()
        self.check(self.steering.wait(WAIT), kinds={"break", "breakpoint"} if self.armed else {"break"})

    def step(self) -> None:
        before, target = self.session.base_context(), self.session.target
        processor = target.processor  # type: ignore[attr-defined]
        code = self.session.memory.read_prefix(before.ip, 15)
        instruction = next(decode(code, before.ip, limit=1))
        expected = self.after(instruction, before.ip)
        stop = self.check(self.steering.step(), kinds={"step", "breakpoint"})
        if target.processor == processor and expected is not None:  # type: ignore[attr-defined]
            assert stop.ip == expected, (instruction.text_line(), hex(before.ip), self.log[-20:])

    def after(self, instruction: Instruction, ip: int) -> int | None:
        """Where a step must end, None where that is not foretold."""
        word = instruction.mnemonic
        if word == "ret":
            return self.session.memory.u64(self.session.base_context().sp)
        if word in ("call", "jmp"):
            return instruction.target
        if word.startswith(("j", "rep")) or word in ("hlt", "iretq", "sti", "int3", "int"):
            return None
        return ip + len(instruction.data)

    def write_register(self) -> None:
        kept = self.session.base_context().values["r11"]
        value = self.chance.getrandbits(64)
        run(self.session, f"r r11={value:#x}")
        self.session.target.memory.forget()  # type: ignore[attr-defined]
        (shown,) = run(self.session, "? @r11")
        assert shown.value & (1 << 64) - 1 == value
        run(self.session, f"r r11={kept:#x}")

    def read_code(self) -> None:
        for place, clean in self.clean.items():
            assert self.session.memory.read(place, 16) == clean

    def operate(self, count: int) -> None:
        operations: tuple[tuple[Callable[[], None], int], ...] = (
            (self.set_breakpoint, 3),
            (self.clear_breakpoint, 2),
            (self.disable_breakpoint, 1),
            (self.enable_breakpoint, 1),
            (self.go, 5),
            (self.interrupt_at_once, 3),
            (self.step, 8),
            (self.write_register, 1),
            (self.read_code, 1),
        )
        weights = [weight for _, weight in operations]
        for _ in range(count):
            ((operation, _),) = self.chance.choices(operations, weights)
            self.log.append(f"{operation.__name__} at {self.session.base_context().ip:#x}, armed {len(self.armed)}")
            operation()


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.timeout(1800)
def test_random_operations_end_where_the_model_says(
    processors: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(cpus=processors)
    session = attach(guest.kd)
    model = Model(session, random.Random(processors))
    model.operate(rounds(2000))
    assert model.stops
    session.close()
    before = guest.command("ticks")
    while guest.command("ticks") == before:
        pass
    again = attach(guest.kd)
    assert {place: again.memory.read(place, 16) for place in model.places} == model.clean


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.timeout(1800)
def test_stopping_right_after_going_on_loses_no_stop(
    processors: int, machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    steering = steering_of(attach(machine(cpus=processors).kd))
    for _ in range(rounds(1000)):
        assert steering.resume() is False
        steering.interrupt()
        stop = steering.wait(WAIT)
        assert stop is not None
        assert stop.kind == "break"
        assert steering.target.halted


@pytest.mark.timeout(1800)
def test_every_restart_is_told_and_found_anew(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine().kd)
    steering = steering_of(session)
    for _ in range(rounds(200)):
        run(session, "bp nt!KiInner; .reboot")
        stop = steering.wait(WAIT)
        assert stop is not None
        assert stop.kind == "target_reloaded"
        while not steering.coherent:
            steering.resume()
            assert steering.wait(WAIT) is not None
        (hit,) = run(session, "g")
        assert (hit.kind, hit.symbol) == ("breakpoint", "nt!KiInner")
        run(session, "bc *")


@pytest.mark.timeout(1800)
def test_a_deferred_breakpoint_is_hit_at_each_load_at_the_first_instruction(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    session = attach(guest.kd)
    steering = steering_of(session)
    run(session, "bu second!DriverEntry")
    for _ in range(rounds(500)):
        steering.resume()
        guest.send("load second.sys")
        stop = steering.wait(WAIT)
        assert stop is not None
        assert (stop.kind, session.engine.name_of(stop.ip or 0)) == ("breakpoint", "second!DriverEntry")
        steering.resume()
        assert attended(session, guest)
        assert serviced(session, guest, "unload second.sys")
        steering.interrupt()
        assert steering.wait(WAIT) is not None
