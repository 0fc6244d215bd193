"""A crash dump that the machine's emulator writes, from the header that the guest has ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.kernel import ProcessList
from kdive.commands.results.modules import ModuleList
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import DumpTarget, open_dump
from tests.lab.conftest import LAB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIVE_SYSTEM_DUMP = 0x161


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Any], Session]]:
    """Dump machines and open the dumps."""
    sessions: list[Session] = []

    def dump(guest: Any) -> Session:
        path = tmp_path / f"{len(sessions)}.dmp"
        guest.dump(path)
        options = SessionOptions(str(LAB / "images"), offline=True, cache=tmp_path / "cache")
        sessions.append(Session(open_dump(path), options))
        return sessions[-1]

    yield dump
    for session in sessions:
        session.close()


def run(session: Session, line: str) -> list[Any]:
    results: list[Any] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def target(session: Session) -> DumpTarget:
    assert isinstance(session.target, DumpTarget)
    return session.target


@pytest.mark.parametrize(("cpus", "base"), [(1, 0xFFFFF80000200000), (4, 0xFFFFF8035A600000)])
def test_a_dump_of_a_running_machine_says_what_the_guest_says(
    cpus: int, base: int, machine: Callable[..., Any], opened: Callable[[Any], Session]
) -> None:
    guest = machine(cpus=cpus, base=base)
    guest.command("load second.sys")
    guest.command("create calc.exe")
    modules, processes = guest.command("modules"), guest.command("processes")
    session = opened(guest)
    assert guest.command("modules") == modules
    (listed,) = run(session, "lm")
    assert isinstance(listed, ModuleList)
    shown = [f"{row.image_name} {row.start:016x} {row.end - row.start:x}" for row in listed.modules]
    assert sorted(shown) == sorted(modules)
    (found,) = run(session, "!process 0 0")
    assert isinstance(found, ProcessList)
    assert [f"{row.name} {row.pid:x} {row.address:016x}" for row in found.processes] == [
        line.rsplit(" ", 1)[0] for line in processes
    ]
    assert session.target.processors == cpus
    assert target(session).dump.header.bugcheck_code == LIVE_SYSTEM_DUMP
    for number in range(cpus):
        run(session, f"~{number}s")
        assert any(
            "KiIdleLoop" in frame.symbol or "WorkerThread" in frame.symbol for frame in run(session, "k")[0].frames
        )


def test_a_dump_of_a_crashed_machine_has_the_bugcheck(
    machine: Callable[..., Any], opened: Callable[[Any], Session]
) -> None:
    from run import GuestError

    guest = machine(cpus=2)
    with pytest.raises(GuestError, match="bugcheck d1"):
        guest.command("on 1 bugcheck d1 10 2 0 fffff80000201000")
    session = opened(guest)
    header = target(session).dump.header
    assert (header.bugcheck_code, header.bugcheck_parameters) == (0xD1, (0x10, 2, 0, 0xFFFFF80000201000))
    run(session, "~1s")
    assert "nt!KeBugCheckEx" in {frame.symbol.split("+")[0] for frame in run(session, "k")[0].frames}


def test_an_exception_that_nobody_handles_is_a_bugcheck(machine: Callable[..., Any]) -> None:
    from run import GuestError

    with pytest.raises(GuestError, match="bugcheck 50"):
        machine().command("fault page")
