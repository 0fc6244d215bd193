"""The KD driver against a target that behaves as real kernels were seen to."""

from __future__ import annotations

import socket
import threading

import pytest

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, MemoryAccessError, TargetError
from kdive.targets.kd import KdTarget
from kdive.targets.live import Disposition, ExceptionEvent, LostEvent, RestartEvent
from kdive.targets.transport import SocketTransport
from kdive.wire.kd.packets import INITIAL_ID
from kdive.wire.kd.requests import DBG_CONTINUE, DBG_EXCEPTION_NOT_HANDLED, Api
from tests.targets.fake_kd import BREAKPOINT, SINGLE_STEP, WAIT, FakeKd

KERNEL = 0xFFFFF80000200000
FUNCTION = 0xFFFFF80000201040
ELSEWHERE = 0xFFFFF80000401010


def attached(fake: FakeKd) -> KdTarget:
    target = KdTarget(SocketTransport(fake.near, "fake"))
    target.attach(WAIT)
    return target


def stop(target: KdTarget) -> ExceptionEvent:
    event = target.poll(WAIT)
    assert isinstance(event, ExceptionEvent)
    return event


def test_attaching_stops_the_target_and_says_where_its_kernel_is() -> None:
    fake = FakeKd()
    target = attached(fake)
    assert target.halted
    assert target.hints is not None
    assert (target.hints.base, target.hints.build) == (KERNEL, 19041)
    assert target.registers(0).ip == fake.ip
    target.close()
    fake.join()
    assert fake.running


@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize("id_", [INITIAL_ID, INITIAL_ID ^ 1])
@pytest.mark.parametrize("expected", [INITIAL_ID, INITIAL_ID ^ 1])
def test_a_target_that_had_a_debugger_before_is_taken_over(halted: bool, id_: int, expected: int) -> None:
    fake = FakeKd(halted=halted, id_=id_, expected=expected)
    fake.table.update({3: FUNCTION, 4: ELSEWHERE})
    target = attached(fake)
    assert fake.table == {}
    target.close()
    fake.join()


def test_memory_is_the_targets_and_is_read_in_few_requests() -> None:
    fake = FakeKd()
    target = attached(fake)
    before = target.connection.requests
    data = target.memory.read(KERNEL, 0x3000)
    assert data == fake.dump.memory.read(KERNEL, 0x3000)
    assert target.connection.requests - before == 4
    for offset in range(0, 0x3000, 8):
        target.memory.u64(KERNEL + offset)
    assert target.connection.requests - before == 4
    target.close()


def test_memory_that_is_not_there_is_an_error_and_what_is_beside_it_is_not() -> None:
    target = attached(FakeKd())
    with pytest.raises(MemoryAccessError, match="not present"):
        target.memory.read(0x1000, 8)
    end = KERNEL + 0x4000
    (run,) = target.memory.read_available(end - 0x10, 0x400)
    assert (run[0], len(run[1])) == (end - 0x10, 0x10)
    target.close()


def test_writes_arrive_and_are_read_back() -> None:
    fake = FakeKd()
    target = attached(fake)
    target.memory.write(KERNEL + 0xFFE, b"abcd")
    assert target.memory.read(KERNEL + 0xFFE, 4) == b"abcd"
    assert fake.read(KERNEL + 0xFFE, 4) == b"abcd"
    with pytest.raises(MemoryAccessError):
        target.memory.write(0x1000, b"x")
    target.close()


def test_control_registers_are_those_that_were_asked_for() -> None:
    fake = FakeKd()
    target = attached(fake)
    special = target.special_registers(0)
    assert special["cr3"] == fake.header.directory_table_base
    # The stale tail that the target sends is neither read nor ever written back.
    assert Api.WRITE_CONTROL_SPACE not in fake.requests
    assert 0xEEEEEEEEEEEEEEEE not in special.values()
    target.close()


def test_registers_are_set_one_by_one() -> None:
    fake = FakeKd()
    target = attached(fake)
    before = dict(target.registers(0).values)
    target.write_registers(0, {"rax": 0x1234, "efl": 0x213})
    after = target.registers(0).values
    assert after["rax"] == 0x1234
    assert after["efl"] == 0x213
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"rax", "efl"}
    target.close()


def test_the_target_runs_until_it_is_asked_to_stop() -> None:
    target = attached(FakeKd())
    target.resume()
    assert not target.halted
    assert target.poll(0) is None
    target.interrupt()
    event = stop(target)
    assert event.code == BREAKPOINT
    assert target.halted
    target.close()


def test_waiting_ends_with_the_token_and_loses_nothing() -> None:
    target = attached(FakeKd())
    target.resume()
    token = CancelToken()
    threading.Timer(0, token.cancel).start()
    with pytest.raises(CancelledError):
        target.poll(WAIT, token)
    target.interrupt()
    assert stop(target).code == BREAKPOINT
    target.close()


def test_a_breakpoint_stops_the_target_each_time_and_comes_out_at_the_end() -> None:
    fake = FakeKd([ELSEWHERE, FUNCTION, ELSEWHERE, FUNCTION, ELSEWHERE])
    target = attached(fake)
    target.insert_breakpoint(FUNCTION)
    for _ in range(2):
        target.resume()
        assert stop(target).ip == FUNCTION
        # Near a stop the target has taken it out by itself.
        assert FUNCTION not in fake.table.values()
    fake.went_on.clear()
    target.resume()
    assert fake.went_on.wait(WAIT)
    assert fake.table
    target.close()
    fake.join()
    assert fake.table == {}
    assert fake.running


def test_going_on_from_a_breakpoint_runs_the_instruction_under_it_first() -> None:
    fake = FakeKd([FUNCTION, ELSEWHERE])
    target = attached(fake)
    target.insert_breakpoint(FUNCTION)
    target.insert_breakpoint(ELSEWHERE)
    target.resume()
    assert stop(target).ip == FUNCTION
    fake.resumes.clear()
    target.resume()
    assert stop(target).ip == ELSEWHERE
    assert fake.resumes == [(DBG_CONTINUE, True), (DBG_CONTINUE, False)]
    target.close()


def test_a_step_is_one_instruction() -> None:
    fake = FakeKd()
    target = attached(fake)
    before = fake.ip
    target.resume(step=True)
    event = stop(target)
    assert (event.code, event.ip) == (SINGLE_STEP, before + 1)
    target.close()


def test_a_break_in_the_code_is_moved_past() -> None:
    fake = FakeKd()
    fake.writes[fake.ip] = 0xCC
    target = attached(fake)
    before = fake.ip
    target.resume(step=True)
    assert stop(target).ip == before + 2
    target.close()


def test_an_exception_can_be_left_to_the_target() -> None:
    fake = FakeKd()
    target = attached(fake)
    target.resume(Disposition.NOT_HANDLED)
    assert fake.went_on.wait(WAIT)
    assert fake.resumes[-1] == (DBG_EXCEPTION_NOT_HANDLED, False)
    target.close()


def test_what_the_target_prints_is_kept_in_order() -> None:
    fake = FakeKd(prints=["one\n", "two\n", "three\n"])
    target = attached(fake)
    target.resume()
    target.interrupt()
    stop(target)
    assert target.take_output() == ["one\n", "two\n", "three\n"]
    assert target.take_output() == []
    target.close()


def test_a_restart_is_an_event_and_voids_breakpoints() -> None:
    fake = FakeKd()
    target = attached(fake)
    target.insert_breakpoint(FUNCTION)
    target.reboot()
    assert isinstance(target.poll(WAIT), RestartEvent)
    assert target.hints is None
    target.interrupt()
    stop(target)
    target.identify()
    assert target.hints is not None
    assert fake.table == {}
    target.close()


def test_a_link_that_breaks_is_an_event_and_closing_is_quiet() -> None:
    fake = FakeKd()
    target = attached(fake)
    target.resume()
    fake._far.shutdown(socket.SHUT_RDWR)
    event = target.poll(WAIT)
    assert isinstance(event, LostEvent)
    assert "closed the connection" in event.reason
    target.close()


@pytest.mark.parametrize(
    ("noise", "part"),
    [(b"", "nothing came back at all"), (b"login: \r\n" * 20, "bytes that are no KD packets")],
)
def test_a_peer_that_speaks_no_kd_is_described(noise: bytes, part: str) -> None:
    near, far = socket.socketpair()
    far.sendall(noise)
    target = KdTarget(SocketTransport(near, "fake"))
    with pytest.raises(TargetError, match=part) as caught:
        target.attach(0.3)
    assert caught.value.hint is not None
    target.connection.close()
    far.close()
