"""How many requests the common questions cost over KD: on a serial line each is a round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.session.session import Session, SessionOptions
from kdive.targets.kd import open_kd
from kdive.targets.transport import open_transport
from tests.lab.conftest import LAB
from tests.lab.test_guest import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HANDLES = 32


def cost(session: Session, line: str) -> int:
    connection = session.target.connection  # type: ignore[attr-defined]
    before = connection.requests
    run(session, line)
    return connection.requests - before


def test_attaching_with_known_symbols_takes_few_requests(machine: Callable[..., Any], tmp_path: Path) -> None:
    guest = machine()
    needed: list[int] = []
    for _ in range(2):
        target = open_kd(open_transport(str(guest.kd)))
        session = Session(target, SessionOptions(str(LAB / "images"), offline=True, cache=tmp_path))
        run(session, "lm")
        needed.append(target.connection.requests)
        session.close()
    assert needed[1] <= HANDLES + 60


def test_a_stop_with_registers_code_and_stack_takes_few_requests(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine().kd)
    run(session, "bp nt!KiInner; g; k")
    run(session, "g")
    assert 0 < cost(session, "r; u rip L8; k 8") <= 25


def test_a_step_takes_few_requests(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    session = attach(machine().kd)
    run(session, "bp nt!KiOuter; g; t")
    costs = [cost(session, word) for word in ("t", "p") * 10]
    assert max(costs) <= 4


def test_a_list_of_a_hundred_processes_takes_few_requests(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine()
    for number in range(97):
        guest.command(f"create worker{number}.exe")
    session = attach(guest.kd)
    (found,) = run(session, "!process 0 0")
    assert len(found.processes) == 100
    assert len({process.address for process in found.processes}) == 100
    run(session, "t")
    assert 0 < cost(session, "!process 0 0") <= 110


def test_a_processors_control_block_is_not_read_whole(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    session = attach(machine().kd)
    run(session, "!thread; t")
    assert 0 < cost(session, "!thread") <= 12
