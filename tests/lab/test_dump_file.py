"""A machine that runs is written to a dump, and the dump shows what the machine showed."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.dump_file import DumpWritten
from kdive.errors import CancelledError
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.lab.conftest import LAB
from tests.lab.test_guest import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEGABYTES = 4
SHOWN = ("k", "lm", "r", "!process 0 0", "u nt!KiInner L3", "dq nt!Total L2", "!pte nt!KiInner")


def shown(session: Session) -> dict[str, list[str]]:
    render = TextRenderer().plain
    return {line: [render(result) for result in run(session, line)] for line in SHOWN}


@pytest.mark.timeout(300)
def test_a_dump_of_a_halted_guest_shows_what_the_guest_showed(
    machine: Callable[..., Any], attach: Callable[..., Session], tmp_path: Path
) -> None:
    guest = machine(memory=MEGABYTES)
    session = attach(guest.kd)
    run(session, "bp nt!KiInner; bp nt!KiOuter; g")
    live = shown(session)
    place = tmp_path / "guest.dmp"
    (written,) = [result for result in run(session, f".dump /f {place}") if isinstance(result, DumpWritten)]
    assert (written.pages, written.missing) == (MEGABYTES << 8, 0)
    assert place.stat().st_size == written.size == (MEGABYTES << 20) + 0x2000
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    dump = Session(open_dump(place), SessionOptions(str(LAB / "images"), offline=True, cache=tmp_path / "dump-cache"))
    try:
        assert shown(dump) == live
        # The code is the guest's own: no breakpoint instruction of ours is in it.
        kernel = dump.target.memory
        for name in ("KiInner", "KiOuter"):
            assert kernel.u8(dump.kernel.symbol(name)) != 0xCC
    finally:
        dump.close()
    # The breakpoints are there again when the guest goes on.
    (hit,) = run(session, "g")[:1]
    assert hit.kind == "breakpoint"


def test_a_dump_that_is_cancelled_leaves_nothing_behind(
    machine: Callable[..., Any], attach: Callable[..., Session], tmp_path: Path
) -> None:
    session = attach(machine(memory=MEGABYTES).kd)
    folder = tmp_path / "dumps"
    folder.mkdir()

    def emit(_: str, result: object) -> None:
        if isinstance(result, str) and result.startswith("Percent"):
            session.cancel.cancel()

    outcome = Dispatcher(session, emit, TextRenderer().plain).run(f".dump /f {folder / 'guest.dmp'}")
    assert isinstance(outcome.error, CancelledError)
    assert list(folder.iterdir()) == []
