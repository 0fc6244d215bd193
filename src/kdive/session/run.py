"""Run control of a live target: going on, stopping, and what a stop means.

Nothing here waits without an end: whoever waits says for how long, and a stop that comes between two waits is kept.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Literal

from kdive.errors import CommandError, KdiveError, TargetError
from kdive.nt.naming import base_name, module_name
from kdive.record import Record
from kdive.session.breakpoints import Breakpoint, BreakpointTable
from kdive.session.crash import recorded_bugcheck
from kdive.session.filters import EventFilters
from kdive.session.hits import counts
from kdive.session.placing import Placing
from kdive.session.prints import Prints
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
    from collections.abc import Callable

    from kdive.cancel import CancelToken
    from kdive.session.session import Session
    from kdive.targets.live import LiveTarget, TargetEvent

BREAKPOINT, SINGLE_STEP = 0x80000003, 0x80000004
StopKind = Literal[
    "breakpoint",
    "watchpoint",
    "exception",
    "step",
    "bugcheck",
    "break",
    "module",
    "prompt",
    "target_reloaded",
    "lost",
]
_STEP_WAIT = 10.0
_CALL_WAIT = 3600.0
_MAX_PENDING = 64
_LEAVE_WAIT = 2.0


class Stop(Record, frozen=True):
    """Why the target stands still.

    Attributes:
        kind: ``breakpoint``, ``watchpoint``, ``step``, ``break`` (asked for, or an ``int3`` in the code), ``bugcheck``,
            ``exception``, ``module`` (loaded or unloaded), ``prompt``, ``target_reloaded``, or ``lost`` (the link).
        ip: Where it stands, None if it does not answer.
        breakpoint: The breakpoint that was hit.
        event: What the target reported.
        note: More, in words.
        asked: Whether it came of a request to stop.
    """

    kind: StopKind
    ip: int | None = None
    breakpoint: Breakpoint | None = None
    event: TargetEvent | None = None
    note: str = ""
    asked: bool = False


class RunControl:
    """Runs and stops a target.

    Args:
        session: The session.
        target: Its target.

    Attributes:
        breakpoints: The breakpoints.
        filters: What becomes of exceptions and module events.
        last: The last stop that was taken.
        coherent: Whether the module list and all that hangs on it are there; not so early in a boot.
        prints: What the target has printed.
        notes: What happened without stopping the target and should be shown.
        perform: Runs the commands of a breakpoint or an event when it stops the target; says whether they sent it on.
        in_action: Whether such commands are running.
        lost: Why the link to the target is gone; empty while it is there.
    """

    def __init__(self, session: Session, target: LiveTarget) -> None:
        self.target = target
        self.breakpoints = BreakpointTable()
        self.filters = EventFilters()
        self.last: Stop | None = None
        self.coherent = True
        self.prints = Prints()
        self.notes: deque[str] = deque(maxlen=_MAX_PENDING)
        self.perform: Callable[[str], bool] | None = None
        self.in_action = False
        self.lost = ""
        self._session = session
        self._placing = Placing(session, target, self.breakpoints)
        self._pending: deque[Stop] = deque(maxlen=_MAX_PENDING)
        self._stepping: int | None = None
        self._asked = False
        self._bugcheck_told = bool(self._bugcheck())
        self._recover()

    def _recover(self) -> None:
        try:
            repaired = self._placing.recover()
        except KdiveError as error:
            self._session.kernel.notices.append(
                f"breakpoint instructions of an earlier debugger are still in the guest: {error.what}"
            )
        else:
            if repaired:
                self._session.kernel.notices.append(
                    f"{repaired} breakpoint instructions that an earlier debugger left in the guest were taken out"
                )

    @property
    def running(self) -> bool:
        """Whether the target runs and no stop is waiting to be taken."""
        return not self.target.halted and not self._pending

    @property
    def waiting(self) -> Stop | None:
        """The stop that is next taken, None if there is none yet."""
        return self._pending[0] if self._pending else None

    def need_link(self) -> None:
        """See that the target can be reached.

        Raises:
            TargetError: The link to it is gone.
        """
        if self.lost:
            raise TargetError(f"the link to the target is lost: {self.lost}", hint="close the session and attach again")

    @property
    def placing(self) -> Placing:
        """Where breakpoints are put."""
        return self._placing

    # --- going on --------------------------------------------------------------------------------------------------

    def resume(self, disposition: Disposition | None = None) -> bool:
        """Let the target go on; say whether it was running already.

        Without a disposition an exception is left to the target, since it would be raised again otherwise; breakpoints
        and steps are the debugger's. A stop that came in between is taken in first, so that the answer is true and the
        target really moves past it.

        Raises:
            CommandError: A breakpoint cannot be set; the target has not moved.
            TargetError: It could not be told to.
        """
        self.service()
        self.need_link()
        if not self.target.halted:
            return True
        self._placing.arm()
        if self._pending:
            self.last = self._pending[-1]
            self._pending.clear()
        self._withdraw_interrupt()
        self._forget_view()
        self._stepping = None
        self.target.resume(disposition or self._natural_disposition())
        return False

    def _natural_disposition(self) -> Disposition:
        event = self.last.event if self.last is not None else None
        if not isinstance(event, ExceptionEvent) or event.code in (BREAKPOINT, SINGLE_STEP):
            return Disposition.HANDLED
        return Disposition.HANDLED if self.filters.exception(event.code).handled else Disposition.NOT_HANDLED

    def interrupt(self) -> bool:
        """Ask the target to stop; say whether it stood still already.

        Raises:
            TargetError: The link to it is gone.
        """
        self.service()
        self.need_link()
        if self.target.halted:
            return True
        self._asked = True
        self.target.interrupt()
        return False

    def halt(self, seconds: float, cancel: CancelToken | None = None) -> bool:
        """Stop the target and wait until it stands still; say whether it did already.

        A stop for another reason that comes first is kept for whoever waits next.

        Raises:
            CancelledError: The token was cancelled.
            CommandError: It does not stop.
            TargetError: The link to it is gone.
        """
        if self.interrupt():
            return True
        stop = self.peek(seconds, cancel)
        self.need_link()
        if stop is None:
            raise CommandError(
                f"the target did not stop within {seconds:g} s",
                hint="it may be too busy; try again, or wait for a stop",
            )
        if stop.kind == "break" and stop.asked:
            self.take(stop)
        return False

    def _withdraw_interrupt(self) -> None:
        """Another stop has overtaken a request to stop, and the target goes on: nobody wants that one any more."""
        self._asked = False
        self.target.withdraw_interrupt()

    def step(self) -> Stop:
        """Run one instruction of the present processor.

        Raises:
            CommandError: The target did not come back.
            TargetError: It could not be told to.
        """
        self.need_halted()
        self._placing.arm()
        if self._pending:
            self.last = self._pending[-1]
            self._pending.clear()
        self._withdraw_interrupt()
        self._forget_view()
        self._stepping = self.target.processor
        self.target.resume(step=True)
        stop = self.wait(_STEP_WAIT, self._session.cancel)
        if stop is None:
            raise CommandError("the step has not ended", hint="the target is running; Ctrl+C or interrupt stops it")
        return stop

    def run_to(self, address: int, cancel: CancelToken | None = None, *, thread: int = 0, least_sp: int = 0) -> Stop:
        """Run until an address is reached, or until something else stops the target.

        Args:
            address: Where to stop.
            cancel: Ends the wait; the target is asked to stop then.
            thread: Stop in this thread only, 0 for any.
            least_sp: Stop only where the stack pointer is at least that.

        Raises:
            CancelledError: The token was cancelled.
            CommandError: A breakpoint cannot be set.
            TargetError: It could not be told to.
        """
        self.need_halted()
        process = self._session.process if address < 1 << 47 else None
        temporary = self.breakpoints.add(
            Breakpoint(
                0,
                address,
                temporary=True,
                thread=thread,
                least_sp=least_sp,
                process=0 if process is None else process.address,
            )
        )
        try:
            self.resume()
            stop = self.wait(_CALL_WAIT, cancel)
        finally:
            self.breakpoints.remove(temporary.id)
            if self.target.halted:
                self._placing.disarm_removed()
        if stop is None:
            raise CommandError(
                "the address was not reached", hint="the target is running; Ctrl+C or interrupt stops it"
            )
        return stop

    def need_halted(self) -> None:
        """See that the target stands still.

        Raises:
            CommandError: It runs.
        """
        self.service()
        self.need_link()
        if not self.target.halted:
            raise CommandError("the target is running", hint="stop it first: Ctrl+C, or interrupt")

    def _forget_view(self) -> None:
        self._session.scope.drop_stack()
        self._session.scope.context = None

    def _absorb(
        self, event: ExceptionEvent | ModuleEvent, disposition: Disposition = Disposition.HANDLED
    ) -> Stop | None:
        """Send the target on after something that nobody wants to hear of.

        If it was asked to stop it stays: it may not have heard that while it stood still.
        """
        if self._asked:
            self._asked = False
            return Stop("break", event.ip, event=event, asked=True)
        try:
            self._placing.arm()
        except CommandError as error:
            self.notes.append(error.what)
        self.target.resume(disposition, absorbed=True)
        return None

    def collect_prints(self) -> list[str]:
        """Take in what the target has printed since the last call, and return it."""
        found = self.target.take_output()
        for text in found:
            self.prints.add(text)
        return found

    # --- stopping --------------------------------------------------------------------------------------------------

    def service(self) -> None:
        """Take in what has happened since, without waiting; stops are kept for whoever waits next."""
        for _ in range(_MAX_PENDING):
            event = self.target.poll(0)
            if event is None:
                return
            stop = self._judge(event)
            if stop is not None:
                self._stepping = None
                self._pending.append(stop)
                return

    def wait(self, seconds: float, cancel: CancelToken | None = None) -> Stop | None:
        """Wait for a stop and take it, at most so long; None if there was none: none is lost by that.

        Raises:
            CancelledError: The token was cancelled.
        """
        stop = self.peek(seconds, cancel)
        if stop is not None:
            self.take(stop)
        return stop

    def peek(self, seconds: float, cancel: CancelToken | None = None) -> Stop | None:
        """Wait for a stop without taking it, at most so long.

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
                self._stepping = None
                self._pending.append(stop)
        return self._pending[0]

    def take(self, stop: Stop) -> None:
        """Take a stop that was waiting; nothing happens if it was taken, or resumed from, already."""
        if self._pending and self._pending[0] is stop:
            self._pending.popleft()
            self.last = stop

    def _judge(self, event: TargetEvent) -> Stop | None:
        """Say what an event means; None if the target was sent on because nobody wants to hear of it."""
        match event:
            case LostEvent():
                self.lost = event.reason
                return Stop("lost", event=event, note=event.reason)
            case RestartEvent():
                self.coherent = False
                self._bugcheck_told = False
                self._pending.clear()
                self._placing.forget()
                return None
            case PromptEvent():
                return Stop("prompt", event=event, note=event.text)
            case ModuleEvent():
                return self._module(event)
            case ExceptionEvent():
                self._session.stopped()
                return self._exception(event)

    # --- modules ---------------------------------------------------------------------------------------------------

    def _module(self, event: ModuleEvent) -> Stop | None:
        if not self.coherent:
            return self._reloaded(event)
        self._session.stopped()
        image = base_name(event.path)
        name = module_name(image)
        self._update_modules(event, name, image)
        found = self.filters.module(name, unload=event.unload)
        note = f"{'Unload' if event.unload else 'Load'} module {image} at {event.base:#x}"
        if found.mode == "break":
            return self._after_commands(Stop("module", event.ip, event=event, note=note), found.commands)
        if found.mode == "notify":
            self.notes.append(note)
        return self._absorb(event)

    def _update_modules(self, event: ModuleEvent, name: str, image: str) -> None:
        from kdive.session.resolving import resolve_deferred

        engine = self._session.engine
        try:
            self._session.kernel.refresh_modules()
        except KdiveError:
            self._session.kernel.notices.append("the module list could not be read after a module event")
        if event.unload:
            # The kernel tells of it before it takes the module off its list.
            engine.set_modules([module for module in engine.modules if module.base != event.base])
        elif engine.module_at(event.base) is None and event.size:
            engine.add_modules([Module(name, image, event.path, event.base, event.size)])
        resolve_deferred(self._session, self.breakpoints)

    def _reloaded(self, event: ModuleEvent | ExceptionEvent) -> Stop:
        """The first stop of a new boot."""
        self._find_kernel()
        note = (
            "the guest restarted; earlier addresses are void"
            if self.coherent
            else "the guest restarted and is early in its boot: there is no module list yet; breakpoints work, and "
            "resume goes on"
        )
        return Stop("target_reloaded", event.ip, event=event, note=note)

    def _find_kernel(self) -> None:
        from kdive.session.resolving import resolve_deferred

        self.target.identify()
        self._session.restarted()
        self.coherent = bool(self._session.engine.modules)
        resolve_deferred(self._session, self.breakpoints)

    # --- exceptions ------------------------------------------------------------------------------------------------

    def _exception(self, event: ExceptionEvent) -> Stop | None:
        if not self.coherent:
            return self._reloaded(event)
        if event.code == BREAKPOINT:
            found = self.breakpoints.at(event.ip)
            if found:
                return self._hit(found, event)
            asked, self._asked = self._asked, False
            # One that was asked for is told from a bugcheck by having been told of that already.
            bugcheck = "" if asked and self._bugcheck_told else self._bugcheck()
            self._bugcheck_told |= bool(bugcheck)
            if bugcheck or asked:
                return Stop("bugcheck" if bugcheck else "break", event.ip, event=event, note=bugcheck, asked=asked)
            return self._filtered(Stop("break", event.ip, event=event), event)
        if event.code == SINGLE_STEP and event.slots:
            watching = [found for slot in event.slots if (found := self._watching(slot, event.ip)) is not None]
            if watching:
                return self._hit(watching, event)
            if self._stepping != event.processor:
                return self._absorb(event)
        if self._ends_step(event):
            return Stop("step", event.ip, event=event)
        return self._filtered(Stop("exception", event.ip, event=event), event)

    def _ends_step(self, event: ExceptionEvent) -> bool:
        return event.code == SINGLE_STEP and event.processor == self._stepping

    def _watching(self, slot: int, ip: int) -> Breakpoint | None:
        """The breakpoint that a debug register fired for.

        Another processor may report a hit of what was in the register before: execution is caught where it is watched.
        """
        found = self.breakpoints.watching(slot)
        return None if found is None or (found.access == "e" and found.address != ip) else found

    def _filtered(self, stop: Stop, event: ExceptionEvent) -> Stop | None:
        found = self.filters.exception(event.code)
        if found.mode == "break" or (found.mode == "second" and not event.first_chance):
            return self._after_commands(stop, found.commands)
        if found.mode == "notify":
            chance = "first" if event.first_chance else "second"
            self.notes.append(f"{found.name} - code {event.code:08x} ({chance} chance) at {event.ip:#x}")
        return self._absorb(event, Disposition.HANDLED if found.handled else Disposition.NOT_HANDLED)

    def _hit(self, found: list[Breakpoint], event: ExceptionEvent) -> Stop | None:
        accepted = [entry for entry in found if counts(self._session, entry, event)]
        if not accepted:
            if self._ends_step(event):
                return Stop("step", event.ip, event=event)
            return self._absorb(event)
        hit = accepted[0]
        if hit.once:
            self.breakpoints.remove(hit.id)
        stop = Stop("watchpoint" if hit.access is not None else "breakpoint", event.ip, hit, event, hit.condition_error)
        return self._after_commands(stop, hit.commands)

    def _after_commands(self, stop: Stop, commands: str) -> Stop | None:
        """Run what was asked to run at a stop; None if it sent the target on."""
        if not commands or self.perform is None or self.in_action:
            return stop
        before, self.last = self.last, stop
        self.in_action = True
        try:
            goes_on = self.perform(commands)
        finally:
            self.in_action = False
        if not goes_on or not self.target.halted:
            return stop if self.target.halted else None
        assert isinstance(stop.event, ExceptionEvent | ModuleEvent)
        kept = self._absorb(stop.event, self._natural_disposition())
        self.last = before
        return kept

    def _bugcheck(self) -> str:
        """The bugcheck that the target stopped for, in words; empty if it is none."""
        code, _ = recorded_bugcheck(self._session)
        return f"bugcheck {code:#x}" if code else ""

    # --- leaving ---------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Take every breakpoint out; whoever closes the target then lets it run on.

        Raises:
            KdiveError: The breakpoints could not be taken out.
        """
        if self.lost or not any(entry.placed for entry in (*self.breakpoints.everything(), *self.breakpoints.removed)):
            return
        if not self.target.halted:
            # What stops it does not matter here, nor what its breakpoints would do.
            self.in_action = True
            self.halt(_LEAVE_WAIT)
        self._placing.clear()
