"""The one session of the server: who holds it, and how work reaches it.

The slot is vacant, opening or active. Its state changes on the event loop only, so that no lock is needed; the session
itself is touched by jobs on its owner thread only. All transports and all clients share the slot.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

from kdive.errors import CommandError, DeadlineError, KdiveError, StaleHandleError
from kdive.frontends.mcp.ticker import DEBUG_TRANSPORTS, tick
from kdive.record import Record
from kdive.session.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from kdive.frontends.mcp.desk import Desk
    from kdive.session.owner import Job

    Progress = Callable[[float, str], Awaitable[None]]

T = TypeVar("T")

DEADLINE = 50.0
"""Seconds that a call may take: common clients give up after 60."""
CLOSE_DEADLINE = 5.0
GRACE = 1.0
"""Seconds behind its deadline after which a job is given up that does not look at its token."""
HEARTBEAT = 1.0
"""Seconds between two progress notifications."""

NO_SESSION = "no debugger session is active; call open to attach"
OPENING = "a debugger session is still opening; retry shortly"
BUSY = "a debugger session is already active or opening"
CLOSING = "the debugger session is being closed; call close again to free its slot"
CLOSED_MEANWHILE = "the debugger session was closed meanwhile; call open to attach again"
NOTHING_TO_CLOSE = "no debugger session is active"


class SlotError(KdiveError):
    """The slot is not in the state that the call needs; the message is the whole answer."""


class Vacant(Record, frozen=True):
    """There is no session."""


class Opening(Record, frozen=True):
    """A target is being opened; the generation tells this attempt from later ones."""

    generation: int
    owner: Owner


class Active(Record, frozen=True):
    """A session is open."""

    generation: int
    owner: Owner
    desk: Desk


class Activity(Record, frozen=True):
    """What the owner thread is doing, and since when (monotonic seconds)."""

    what: str
    since: float

    @property
    def seconds(self) -> float:
        """How long it has been at it."""
        return time.monotonic() - self.since

    @property
    def text(self) -> str:
        """In words."""
        return f"busy with {self.what} for {self.seconds:.1f} s"


class Slot:
    """The slot.

    Args:
        deadline: Seconds that a job may take.
    """

    def __init__(self, deadline: float = DEADLINE) -> None:
        self.deadline = deadline
        self.state: Vacant | Opening | Active = Vacant()
        self.activity: Activity | None = None
        """Written by the owner thread, read by anybody."""
        self.trouble = ""
        """What went wrong when the last session was closed."""
        self._ticking: asyncio.Task[None] | None = None
        self._generation = 0

    @property
    def doing(self) -> str | None:
        """What the owner thread is busy with, in words."""
        activity = self.activity
        return None if activity is None else activity.text

    @property
    def active(self) -> Active:
        """The open session.

        Raises:
            SlotError: There is none.
        """
        match self.state:
            case Active():
                return self.state
            case Opening():
                raise SlotError(OPENING)
            case Vacant():
                raise SlotError(NO_SESSION)

    def claim(self) -> Claim:
        """Reserve the slot for a session that is about to be opened.

        Raises:
            SlotError: It is not vacant.
        """
        if not isinstance(self.state, Vacant):
            raise SlotError(BUSY)
        self._generation += 1
        opening = Opening(self._generation, Owner())
        self.state = opening
        return Claim(self, opening)

    async def run(self, work: Callable[[Desk], T], what: str, progress: Progress | None = None) -> T:
        """Do work on the owner thread of the active session.

        When the caller is cancelled or the time is over the job is cancelled; it ends at its next bounded step, and the
        jobs behind it follow.

        Args:
            work: What to do with the session's desk.
            what: The same in words, for callers that meet a busy owner.
            progress: Called every second with the seconds that have passed and a text.

        Raises:
            SlotError: No session is active.
            DeadlineError: The time is over.
            Exception: Whatever the work raised.
        """
        return await self.run_in(self.active, work, what, progress)

    async def run_in(self, active: Active, work: Callable[[Desk], T], what: str, progress: Progress | None = None) -> T:
        """Do work in a session that was found active before; see :meth:`run`."""

        def caught_up() -> T:
            active.desk.catch_up()
            return work(active.desk)

        return await self.run_on(active.owner, caught_up, what, progress)

    async def run_on(self, owner: Owner, work: Callable[[], T], what: str, progress: Progress | None = None) -> T:
        """Do work on an owner thread; see :meth:`run`."""
        started = False

        def job_work() -> T:
            nonlocal started
            started = True
            self.activity = Activity(what, time.monotonic())
            try:
                return work()
            except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
                # These would end whoever waits for the reply, which is the server.
                raise RuntimeError(f"{type(error).__name__} in a job") from error
            finally:
                self.activity = None

        try:
            job = owner.submit(job_work, self.deadline)
        except StaleHandleError as error:
            raise SlotError(CLOSING if isinstance(self.state, Active) else NO_SESSION) from error
        try:
            return await self._reply(job, what, progress)
        except DeadlineError as error:
            if not started:
                raise DeadlineError(f"the debugger is {self.doing or 'busy'}; {what} was not started") from error
            raise DeadlineError(f"{what} did not end within {self.deadline:g} seconds and was cancelled") from error

    async def _reply(self, job: Job[T], what: str, progress: Progress | None) -> T:
        future = asyncio.wrap_future(job.future)
        future.add_done_callback(_retrieve)
        begun = time.monotonic()
        end = begun + self.deadline + GRACE
        try:
            while True:
                left = end - time.monotonic()
                if left <= 0:
                    raise DeadlineError
                await asyncio.wait((future,), timeout=left if progress is None else min(left, HEARTBEAT))
                if future.done():
                    return future.result()
                if progress is not None:
                    passed = time.monotonic() - begun
                    await progress(passed, f"{what}: {passed:.0f} s")
        except BaseException:
            job.cancel()
            raise

    async def close(self) -> dict[str, str]:
        """Free the slot: end the session, or cancel an open that is pending.

        Returns:
            What the ``close`` tool answers.

        Raises:
            SlotError: The slot is vacant.
        """
        match self.state:
            case Vacant():
                raise SlotError(NOTHING_TO_CLOSE)
            case Opening(owner=owner):
                self.state = Vacant()
                owner.stop(timeout=0)
                return {"status": "closed", "note": "an open that was pending was cancelled"}
            case Active(generation=generation, owner=owner):
                if not await asyncio.to_thread(owner.stop, CLOSE_DEADLINE):
                    reason = f" ({self.doing})" if self.doing else ""
                    return {"status": "pending", "warning": f"the session did not end in time{reason}; try again"}
                if self._holds(generation):
                    self.state = Vacant()
                if owner.trouble is None:
                    return {"status": "closed"}
                self.trouble = str(owner.trouble)
                return {"status": "closed", "warning": self.trouble}

    def _holds(self, generation: int) -> bool:
        """Whether the slot still holds the session of a generation."""
        state = self.state
        return isinstance(state, Active) and state.generation == generation

    def keep_attended(self, active: Active) -> None:
        """Nudge the owner of a live session between calls, until the session ends."""
        if active.desk.session.target.backend in DEBUG_TRANSPORTS:
            self._ticking = asyncio.get_running_loop().create_task(
                tick(active.owner, active.desk.catch_up, lambda: self.state is active, self.deadline)
            )

    async def shutdown(self) -> bool:
        """End whatever there is; the running job is cancelled first. Return whether it ended in time."""
        if isinstance(self.state, Vacant):
            return True
        return (await self.close())["status"] == "closed"


class Claim:
    """A reservation of the slot: it becomes a session by :meth:`promote`, or is rolled back on the way out.

    A claim that another has overtaken (``close`` freed the slot meanwhile) changes nothing.
    """

    def __init__(self, slot: Slot, opening: Opening) -> None:
        self._slot = slot
        self._opening = opening

    @property
    def owner(self) -> Owner:
        """The owner thread for the new session."""
        return self._opening.owner

    def promote(self, desk: Desk) -> None:
        """Make the session active.

        Raises:
            CommandError: The slot was freed while the target was being opened.
        """
        if self._slot.state is not self._opening:
            raise CommandError("the open was cancelled: close freed the slot meanwhile")
        self._slot.state = active = Active(self._opening.generation, self._opening.owner, desk)
        self._slot.keep_attended(active)

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        slot, opening = self._slot, self._opening
        state = slot.state
        if isinstance(state, Active) and state.owner is opening.owner:
            return
        if state is opening:
            slot.state = Vacant()
        opening.owner.stop(timeout=0)


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Look at a reply that nobody may be waiting for any more, so that it is not reported as forgotten."""
    if not future.cancelled():
        future.exception()
