"""ARM64 targets over KD."""

from __future__ import annotations

import pytest

from kdive.arch.arm64.context import CONTEXT_SIZE, decode_context, decode_special_registers, update_context
from kdive.arch.watchpoint import Watchpoint
from kdive.errors import FormatError, TargetError, UnsupportedError
from kdive.targets.base import Capability
from kdive.targets.kd import KdTarget
from kdive.targets.live import Disposition, ExceptionEvent
from kdive.targets.transport import SocketTransport
from tests.targets.fake_arm64 import BREAK, BREAK_IN, CODE, NO_OPERATION, FakeArm64
from tests.targets.fake_kd import BREAKPOINT, SINGLE_STEP, WAIT


def attached(fake: FakeArm64) -> KdTarget:
    target = KdTarget(SocketTransport(fake.near, "fake"))
    target.attach(WAIT)
    return target


def stop(target: KdTarget) -> ExceptionEvent:
    event = target.poll(WAIT)
    assert isinstance(event, ExceptionEvent)
    return event


def test_the_target_says_that_it_is_arm64() -> None:
    target = attached(FakeArm64())
    assert target.machine == "arm64"
    assert Capability.BREAKPOINTS in target.capabilities
    assert not target.capabilities & {Capability.MSR, Capability.IO_PORTS, Capability.PCI, Capability.WATCHPOINTS}
    assert target.hardware is None
    target.close()


def test_registers_are_read_and_written() -> None:
    fake = FakeArm64()
    target = attached(fake)
    assert target.registers(0).values["x5"] == 0x1234
    assert target.registers(0).ip == BREAK_IN
    target.write_registers(0, {"x5": 0x99, "lr": 0x77})
    assert (fake.registers["x5"], fake.registers["lr"]) == (0x99, 0x77)
    assert target.registers(0).values["x5"] == 0x99
    assert target.special_registers(0)["tpidr_el1"] == 0x4444
    target.close()


def test_a_breakpoint_is_hit_and_stepped_over() -> None:
    place = CODE + 0x100
    fake = FakeArm64((place, place + 8, place))
    target = attached(fake)
    target.insert_breakpoint(place)
    target.resume()
    event = stop(target)
    assert (event.ip, event.code) == (place, BREAKPOINT)
    target.resume()
    assert stop(target).ip == place
    # The hard-coded breakpoint that the break-in stopped at was passed, and the step over ours was traced.
    assert fake.control_sets == [(1, 0), (1, 1), (1, 0)]
    target.close()
    assert BREAK not in (bytes(fake.code[at : at + 4]) for at in range(0, 0xFF0, 4))


def test_memory_hides_every_byte_of_a_breakpoint() -> None:
    place, other = CODE + 0x100, CODE + 0x200
    fake = FakeArm64((place,))
    target = attached(fake)
    target.insert_breakpoint(place)
    target.insert_breakpoint(other)
    target.resume()
    assert stop(target).ip == place
    assert fake.read(other, 4) == BREAK
    assert target.memory.read(other, 4) == NO_OPERATION
    # A write over the end of it goes to the instruction itself.
    target.memory.write(other + 3, b"\xd4")
    assert target.memory.read(other, 4) == NO_OPERATION[:3] + b"\xd4"
    assert fake.read(other, 4) == NO_OPERATION[:3] + b"\xd4"
    target.close()


def test_a_step_runs_one_instruction() -> None:
    fake = FakeArm64()
    target = attached(fake)
    target.write_registers(0, {"pc": CODE})
    target.resume(Disposition.HANDLED, step=True)
    event = stop(target)
    assert (event.ip, event.code) == (CODE + 4, SINGLE_STEP)
    target.close()


def test_what_is_not_there_on_arm64_is_told() -> None:
    target = attached(FakeArm64())
    with pytest.raises(TargetError, match="watchpoints"):
        target.set_watchpoints([Watchpoint(CODE, 4, "w")])
    with pytest.raises(TargetError, match="user mode"):
        target.insert_patch(0x10000, 0x1000)
    with pytest.raises(UnsupportedError, match="page tables"):
        target.address_space()
    target.close()


def test_a_context_takes_every_kind_of_register() -> None:
    values = {"x0": 1, "x28": 2, "fp": 3, "sp": 4, "pc": 5, "cpsr": 6, "v0": 1 << 127, "v31": 7, "fpcr": 8, "fpsr": 9}
    changed = decode_context(update_context(bytes(CONTEXT_SIZE), values))
    assert {name: changed.values[name] for name in values} == values
    with pytest.raises(FormatError, match="bvr0"):
        update_context(bytes(CONTEXT_SIZE), {"bvr0": 1})
    assert decode_special_registers(b"short") == {}
