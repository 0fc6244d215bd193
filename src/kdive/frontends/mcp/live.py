"""What the tools of run control do to a live session. Everything here runs on the owner thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.addr import json_address
from kdive.errors import CapabilityError, KdiveError
from kdive.frontends.mcp.state import parked, stop_object
from kdive.targets.live import Disposition

if TYPE_CHECKING:
    from kdive.frontends.mcp.desk import Desk
    from kdive.session.run import RunControl, Stop

HALT_WAIT = 5.0
"""Seconds that a target is given to stop."""


def run_control(desk: Desk) -> RunControl:
    """The run control of a target that can run.

    Raises:
        CapabilityError: It cannot.
    """
    run = desk.session.run
    if run is None:
        raise CapabilityError(
            f"a {desk.session.target.backend} target cannot run",
            hint="it is always halted: look at it with command, stack, analyze …",
        )
    return run


def resume(desk: Desk, disposition: Disposition) -> dict[str, Any]:
    """Let the target run on.

    Raises:
        CapabilityError: It cannot run, or cannot be told what became of the exception.
        KdiveError: A breakpoint cannot be set, or the link is lost.
    """
    run = run_control(desk)
    if disposition is Disposition.NOT_HANDLED and not run.target.takes_dispositions:
        raise CapabilityError(
            f"a {run.target.backend} target cannot be told that an exception was not handled", hint="resume without it"
        )
    already = run.resume(disposition)
    desk.refresh()
    return {"running": True, "already_running": already, "disposition": str(disposition)}


def poll(desk: Desk, seconds: float) -> tuple[Stop | None, dict[str, Any]] | None:
    """Look whether the target stands still, for so long at most; None if it runs on.

    A stop is not taken by that: it may be that nobody waits for the answer any more. Whoever gets it says so with
    ``desk.delivered``.

    Raises:
        CancelledError: The wait was cancelled.
        TargetError: The link is lost.
    """
    run = desk.session.run
    if run is None:
        return None, parked(desk.session)
    run.need_link()
    stop = run.waiting
    if stop is None and run.target.halted:
        last = None if run.last is None else desk.last_stop
        return None, parked(desk.session) | {"last_stop": last}
    stop = stop or run.peek(seconds, desk.session.cancel)
    if stop is None:
        return None
    if stop.kind == "lost":
        run.take(stop)
        run.need_link()
    desk.refresh()
    desk.last_stop = stop_object(desk.session, run, stop)
    return stop, desk.last_stop


def interrupt(desk: Desk) -> dict[str, Any]:
    """Stop the target.

    Raises:
        CommandError: It does not stop.
        TargetError: The link is lost.
    """
    session = desk.session
    already = session.run is None or session.run.halt(HALT_WAIT, session.cancel)
    desk.refresh()
    try:
        rip: str | None = json_address(session.context().ip)
    except KdiveError:
        rip = None
    return {"already_halted": already, "rip": rip}
