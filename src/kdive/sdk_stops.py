"""Why a live target stands still, as objects: one class for each kind of stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.record import Record
from kdive.targets.live import ExceptionEvent, ModuleEvent

if TYPE_CHECKING:
    from kdive.session import run
    from kdive.session.session import Session


class Stop(Record, frozen=True):
    """Why the target stands still.

    Attributes:
        ip: Where it stands, None if it does not answer.
        symbol: Symbol there; empty outside every module.
        note: More, in words.
    """

    ip: int | None = None
    symbol: str = ""
    note: str = ""


class BreakpointHit(Stop, frozen=True):
    """A breakpoint was hit.

    Attributes:
        id: Its number, None for one of a step.
        address: Where it is.
        condition_error: Why its condition could not be evaluated; it stops the target then.
    """

    id: int | None = None
    address: int | None = None
    condition_error: str = ""


class WatchpointHit(BreakpointHit, frozen=True):
    """A debug register has fired.

    Attributes:
        access: What it watches for: ``e``, ``w``, ``r`` or ``i``.
        size: Bytes that it watches.
    """

    access: str = ""
    size: int = 0


class ExceptionRaised(Stop, frozen=True):
    """An exception was raised.

    Attributes:
        code: Its code.
        address: Where it was raised.
        first_chance: Whether the target's own handlers have not been asked yet.
    """

    code: int = 0
    address: int = 0
    first_chance: bool = True


class Interrupted(Stop, frozen=True):
    """It was asked to stop."""


class Stepped(Stop, frozen=True):
    """A step has ended."""


class BugcheckRaised(Stop, frozen=True):
    """The system has crashed; ``!analyze`` tells more."""


class ModuleChanged(Stop, frozen=True):
    """A module that was waited for has come or gone.

    Attributes:
        base: Its load address.
        unload: Whether it goes.
    """

    base: int = 0
    unload: bool = False


class Question(Stop, frozen=True):
    """The target asks a question, which is the note, and waits for the answer."""


class Reloaded(Stop, frozen=True):
    """The target has restarted: earlier addresses are void.

    Attributes:
        coherent: Whether there is a module list yet.
    """

    coherent: bool = True


class LinkLost(Stop, frozen=True):
    """The link to the target is gone; the note says why."""


def stop_of(session: Session, stop: run.Stop) -> Stop:
    """A stop of the engine as an object of the SDK."""
    symbol = (session.engine.name_of(stop.ip) or "") if stop.ip is not None else ""
    where = (stop.ip, symbol, stop.note)
    event, found = stop.event, stop.breakpoint
    if found is not None and stop.kind in ("breakpoint", "watchpoint"):
        number = None if found.temporary else found.id
        hit = (*where, number, found.address, found.condition_error)
        return WatchpointHit(*hit, found.access, found.size) if found.access is not None else BreakpointHit(*hit)
    if isinstance(event, ExceptionEvent) and (stop.kind == "exception" or (stop.kind == "break" and not stop.asked)):
        return ExceptionRaised(*where, event.code, event.address, event.first_chance)
    if isinstance(event, ModuleEvent) and stop.kind == "module":
        return ModuleChanged(*where, event.base, event.unload)
    match stop.kind:
        case "target_reloaded":
            return Reloaded(*where, session.run is None or session.run.coherent)
        case "step":
            return Stepped(*where)
        case "bugcheck":
            return BugcheckRaised(*where)
        case "prompt":
            return Question(*where)
        case "lost":
            return LinkLost(*where)
        case _:
            return Interrupted(*where)
