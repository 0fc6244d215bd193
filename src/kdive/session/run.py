"""Run control of a live target: going on, stopping, stepping, and what a stop means.

Nothing here waits without an end: whoever waits says for how long, and a stop that comes between two waits is kept.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Literal

from kdive.errors import CommandError, KdiveError
from kdive.nt.naming import base_name, module_name
from kdive.record import Record
from kdive.session.breakpoints import Breakpoint, BreakpointTable
from kdive.symbols.images import Module
from kdive.targets.live import (
    Disposition,
    ExceptionEvent,
    LostEvent,
    ModuleEvent,
    PromptEvent,
    RestartEvent,
)

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.session.session import Session
    from kdive.targets.live import LiveTarget, TargetEvent

BREAKPOINT, SINGLE_STEP = 0x80000003, 0x80000004
StopKind = Literal[
    "breakpoint", "exception", "step", "bugcheck", "break", "module", "prompt", "target_reloaded", "lost"
]
_STEP_WAIT = 10.0
_CALL_WAIT = 3600.0
_MAX_PENDING = 64


class Stop(Record, frozen=True):
    """Why the target stands still.

    Attributes:
        kind: ``breakpoint``, ``step``, ``break`` (asked for, or an ``int3`` in the code), ``bugcheck``, ``exception``,
            ``module`` (loaded or unloaded), ``prompt``, ``target_reloaded``, or ``lost`` (the link).
        ip: Where it stands, None if it does not answer.
        breakpoint: The breakpoint that was hit.
        event: What the target reported.
        note: More, in words.
    """

    kind: StopKind
    ip: int | None = None
    breakpoint: Breakpoint | None = None
    event: TargetEvent | None = None
    note: str = ""


class RunControl:
    """Runs and stops a target.

    Args:
        session: The session.
        target: Its target.

    Attributes:
        breakpoints: The user's breakpoints.
        last: The last stop that was taken.
        coherent: Whether the module list and all that hangs on it are there; not so early in a boot.
    """

    def __init__(self, session: Session, target: LiveTarget) -> None:
        self.target = target
        self.breakpoints = BreakpointTable()
        self.last: Stop | None = None
        self.coherent = True
        self._session = session
        self._pending: deque[Stop] = deque(maxlen=_MAX_PENDING)
        self._stepping = False
        self._asked = False

    @property
    def running(self) -> bool:
        """Whether the target runs and no stop is waiting to be taken."""
        return not self.target.halted and not self._pending

    # --- going on --------------------------------------------------------------------------------------------------

    def resume(self, disposition: Disposition | None = None) -> bool:
        """Let the target go on; say whether it was running already.

        Without a disposition an exception is left to the target, since it would be raised again otherwise; breakpoints
        and steps are the debugger's. A stop that came in between is taken in first, so that the answer is true and the
        target really moves past it.

        Raises:
            TargetError: It could not be told to.
        """
        self.service()
        if not self.target.halted:
            return True
        self._pending.clear()
        self._forget_view()
        self.breakpoints.arm(self.target)
        self.target.resume(disposition or self._natural_disposition())
        return False

    def _natural_disposition(self) -> Disposition:
        event = self.last.event if self.last is not None else None
        theirs = isinstance(event, ExceptionEvent) and event.code not in (BREAKPOINT, SINGLE_STEP)
        return Disposition.NOT_HANDLED if theirs else Disposition.HANDLED

    def interrupt(self) -> bool:
        """Ask the target to stop; say whether it stood still already."""
        self.service()
        if self.target.halted:
            return True
        self._asked = True
        self.target.interrupt()
        return False

    def step(self) -> Stop:
        """Run one instruction of the present processor.

        Raises:
            CommandError: The target did not come back.
            TargetError: It could not be told to.
        """
        self._need_halted()
        self._forget_view()
        self._stepping = True
        try:
            self.target.resume(step=True)
            stop = self.wait(_STEP_WAIT, self._session.cancel)
        finally:
            self._stepping = False
        if stop is None:
            raise CommandError("the step has not ended", hint="the target is running; Ctrl+C or interrupt stops it")
        return stop

    def run_to(self, address: int, cancel: CancelToken | None = None) -> Stop:
        """Run until an address is reached, or until something else stops the target.

        Raises:
            CancelledError: The token was cancelled; the target is asked to stop first.
            TargetError: It could not be told to.
        """
        self._need_halted()
        temporary = self.breakpoints.add(address, temporary=True)
        try:
            self.resume()
            stop = self.wait(_CALL_WAIT, cancel)
        finally:
            self.breakpoints.remove(temporary.id)
            if self.target.halted:
                self.breakpoints.disarm_removed(self.target)
        if stop is None:
            raise CommandError(
                "the address was not reached", hint="the target is running; Ctrl+C or interrupt stops it"
            )
        return stop

    def _need_halted(self) -> None:
        self.service()
        if not self.target.halted:
            raise CommandError("the target is running", hint="stop it first: Ctrl+C, or interrupt")

    def _forget_view(self) -> None:
        self._session.scope.drop_stack()
        self._session.scope.context = None

    # --- stopping --------------------------------------------------------------------------------------------------

    def service(self) -> None:
        """Take in what has happened since, without waiting; stops are kept for whoever waits next."""
        for _ in range(_MAX_PENDING):
            event = self.target.poll(0)
            if event is None:
                return
            stop = self._judge(event)
            if stop is not None:
                self._pending.append(stop)
                return

    def wait(self, seconds: float, cancel: CancelToken | None = None) -> Stop | None:
        """Wait for a stop, at most so long; None if there was none: none is lost by that.

        Raises:
            CancelledError: The token was cancelled.
        """
        end = time.monotonic() + seconds
        while not self._pending:
            left = end - time.monotonic()
            event = self.target.poll(max(left, 0), cancel)
            if event is None:
                return None
            stop = self._judge(event)
            if stop is not None:
                self._pending.append(stop)
        stop = self._pending.popleft()
        self.last = stop
        return stop

    def _judge(self, event: TargetEvent) -> Stop | None:
        """Say what an event means; None if the target was sent on because nobody wants to hear of it."""
        match event:
            case LostEvent():
                return Stop("lost", event=event, note=event.reason)
            case RestartEvent():
                self.coherent = False
                self.breakpoints.forget_handles()
                self.target.interrupt()
                return None
            case PromptEvent():
                return Stop("prompt", event=event, note=event.text)
            case ModuleEvent():
                return self._module(event)
            case ExceptionEvent():
                self._session.stopped()
                return self._exception(event)

    def _module(self, event: ModuleEvent) -> Stop | None:
        if not self.coherent:
            return self._reloaded(event)
        self._session.stopped()
        engine = self._session.engine
        try:
            self._session.kernel.refresh_modules()
        except KdiveError:
            self._session.kernel.notices.append("the module list could not be read after a module event")
        if event.unload:
            # The kernel tells of it before it takes the module off its list.
            engine.set_modules([module for module in engine.modules if module.base != event.base])
        elif engine.module_at(event.base) is None and event.size:
            image = base_name(event.path)
            engine.add_modules([Module(module_name(image), image, event.path, event.base, event.size)])
        self.breakpoints.arm(self.target)
        self.target.resume()
        return None

    def _reloaded(self, event: ModuleEvent) -> Stop:
        """The first stop of a new boot."""
        self.target.identify()
        self._session.restarted()
        self.coherent = bool(self._session.engine.modules)
        note = (
            "the guest restarted; earlier addresses are void"
            if self.coherent
            else "the guest restarted and is early in its boot: there is no module list yet; breakpoints work, and "
            "resume goes on"
        )
        return Stop("target_reloaded", event.ip, event=event, note=note)

    def _exception(self, event: ExceptionEvent) -> Stop | None:
        if not self.coherent:
            self.target.identify()
            self._session.restarted()
            self.coherent = bool(self._session.engine.modules)
        if event.code == BREAKPOINT:
            hit = self.breakpoints.at(event.ip)
            if hit is not None:
                return self._hit(hit, event)
            asked, self._asked = self._asked, False
            bugcheck = "" if asked else self._bugcheck()
            return Stop("bugcheck" if bugcheck else "break", event.ip, event=event, note=bugcheck)
        if event.code == SINGLE_STEP and self._stepping:
            return Stop("step", event.ip, event=event)
        return Stop("exception", event.ip, event=event)

    def _hit(self, hit: Breakpoint, event: ExceptionEvent) -> Stop | None:
        hit.hits += 1
        if hit.passes > 1:
            hit.passes -= 1
            self.breakpoints.arm(self.target)
            self.target.resume()
            return None
        return Stop("breakpoint", event.ip, hit, event)

    def _bugcheck(self) -> str:
        """The bugcheck that the target stopped for, in words; empty if it is none."""
        try:
            address = self._session.kernel.symbol("KiBugCheckData")
            code = self._session.memory.u32(address)
        except KdiveError:
            return ""
        return f"bugcheck {code:#x}" if code else ""
