"""The SDK on a machine that runs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import kdive
from kdive.errors import CapabilityError, CommandError, StaleHandleError, TargetError
from tests.lab.conftest import LAB
from tests.lab.live import guest_runs
from tests.test_sdk import EXAMPLES
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT = 30.0
IMAGES = str(LAB / "images")


def attached(guest: Any) -> kdive.Debugger:
    return kdive.attach(guest.kd, symbol_path=IMAGES, offline=True)


def test_a_with_block_leaves_the_guest_running_without_breakpoints(machine: Callable[..., Any]) -> None:
    guest = machine()
    with attached(guest) as dbg:
        assert not dbg.running
        code = dbg.symbols.address_of("nt!KiInner")
        clean = dbg.memory.read(code, 64)
        added = dbg.breakpoints.add("nt!KiInner")
        assert [entry.id for entry in dbg.breakpoints] == [added.id]
        assert isinstance(dbg.run(WAIT), kdive.BreakpointHit)
        dbg.resume()
        assert dbg.running or dbg.wait(WAIT)
    assert guest_runs(guest)
    with pytest.raises(StaleHandleError):
        dbg.run()
    with attached(guest) as dbg:
        assert dbg.memory.read(code, 64) == clean


def test_a_block_that_fails_lets_the_guest_go_as_well(machine: Callable[..., Any]) -> None:
    guest = machine()

    def fails() -> None:
        with attached(guest) as dbg:
            dbg.breakpoints.add("nt!KiInner")
            dbg.run(WAIT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert guest_runs(guest)


def test_breakpoints_steps_and_stacks(machine: Callable[..., Any]) -> None:
    with attached(machine()) as dbg:
        inner = dbg.breakpoints.add("nt!KiInner", passes=2)
        hit = dbg.run(WAIT)
        assert isinstance(hit, kdive.BreakpointHit)
        assert (hit.id, hit.address, hit.ip, hit.symbol) == (inner.id, inner.address, inner.address, "nt!KiInner")
        assert inner.hits == 2
        caller = dbg.stack()[1]
        stepped = dbg.step()
        assert isinstance(stepped, kdive.Stepped)
        assert stepped.ip != hit.ip
        assert isinstance(dbg.step_over(), kdive.Stepped)
        out = dbg.step_out()
        assert out.ip == caller.ip
        dbg.breakpoints.remove(inner)
        assert len(dbg.breakpoints) == 0
        assert dbg.run(0.2) is None
        assert dbg.running
        assert isinstance(dbg.interrupt(), kdive.Interrupted)
        assert dbg.interrupt() is None


def test_a_condition_decides_which_hits_count(machine: Callable[..., Any]) -> None:
    with attached(machine()) as dbg:
        never = dbg.breakpoints.add("nt!KiInner", condition="0")
        dbg.breakpoints.add("nt!KiOuter", once=True)
        hit = dbg.run(WAIT)
        assert isinstance(hit, kdive.BreakpointHit)
        assert hit.symbol == "nt!KiOuter"
        assert [entry.id for entry in dbg.breakpoints] == [never.id]
        broken = dbg.breakpoints.add("nt!KiOuter", condition="poi(ffff900000000000)")
        hit = dbg.run(WAIT)
        assert isinstance(hit, kdive.BreakpointHit)
        assert hit.id == broken.id
        assert hit.condition_error
        dbg.breakpoints.clear()


def test_exceptions_bugchecks_and_restarts_have_classes_of_their_own(machine: Callable[..., Any]) -> None:
    guest = machine()
    with attached(guest) as dbg:
        dbg.resume()
        guest.send("fault divide")
        raised = dbg.wait(WAIT)
        assert isinstance(raised, kdive.ExceptionRaised)
        assert (raised.code, raised.first_chance) == (0xC0000094, True)
        assert raised.symbol.startswith("nt!Divide")
    guest.close()
    guest = machine()
    with attached(guest) as dbg:
        dbg.resume()
        guest.send("bugcheck 1e 1 2 3 4")
        crashed = dbg.wait(WAIT)
        assert isinstance(crashed, kdive.BugcheckRaised)
        assert crashed.note == "bugcheck 0x1e"
    guest.close()
    guest = machine()
    with attached(guest) as dbg:
        dbg.resume()
        guest.qmp("system_reset")
        reloaded = dbg.wait(WAIT)
        while not isinstance(reloaded, kdive.Reloaded):
            reloaded = dbg.run(WAIT)
        assert dbg.modules


def test_a_lost_link_is_a_stop_and_an_error_afterwards(machine: Callable[..., Any]) -> None:
    guest = machine()
    dbg = attached(guest)
    dbg.resume()
    guest.process.kill()
    assert isinstance(dbg.wait(WAIT), kdive.LinkLost)
    with pytest.raises(TargetError, match="link to the target is lost"):
        dbg.run(WAIT)
    dbg.close()


def test_what_a_dump_cannot_do_is_told() -> None:
    with kdive.open_dump(SAMPLE / "crash.dmp", symbol_path="", offline=True) as dbg:
        for use in (dbg.run, dbg.step, dbg.interrupt, lambda: dbg.breakpoints):
            with pytest.raises(CapabilityError, match="a dump target cannot run"):
                use()
        assert not dbg.running


def test_places_that_are_nowhere_are_refused(machine: Callable[..., Any]) -> None:
    with attached(machine()) as dbg:
        for place in ("nt!NoSuchFunction", 0xFFFF900000000000):
            with pytest.raises(kdive.KdiveError):
                dbg.breakpoints.add(place)
        waiting = dbg.breakpoints.add("faulty!DriverEntry", deferred=True)
        assert waiting.address is None
        with pytest.raises(CommandError):
            dbg.breakpoints.remove(77)


def test_the_example_of_the_documentation_runs(machine: Callable[..., Any]) -> None:
    guest = machine()
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "live" / "break_and_step.py"), str(guest.kd), "nt!KiInner", IMAGES],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "breakpoint 0 at nt!KiInner" in done.stdout
    assert done.stdout.count("stepped to nt!") == 3
    assert guest_runs(guest)
