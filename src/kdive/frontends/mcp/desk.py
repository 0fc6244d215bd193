"""What the server keeps beside a session: a shell, and the words for what it did.

Everything here runs on the owner thread.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, DeadlineError, KdiveError
from kdive.frontends.mcp.state import status_of, stop_line
from kdive.frontends.shell import Shell
from kdive.record import Record, field
from kdive.render.console import error_text
from kdive.render.json import to_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.frontends.mcp.text import Cleaner
    from kdive.session.run import Stop
    from kdive.session.session import Session

_MAX_BETWEEN = 200
LEAVE = "q is for people at a prompt: the close tool ends the session"


class Ran(Record):
    """What came of a line.

    Attributes:
        text: What it printed, with the error if there was one; without the trailer.
        failed: Whether it failed.
        trailer: Where the target stands now, as a line.
        data: The results as data, if they were asked for.
        before: Lines of the server that come first: what happened since the last call.
        after: Lines of the server that follow: what the target printed.
    """

    text: str
    failed: bool
    trailer: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])


class Desk:
    """A session as the server uses it.

    Args:
        session: The session.
        cleaner: Cleans what the target wrote.
        admit: Refuses commands; see :class:`kdive.commands.dispatch.Dispatcher`.
    """

    def __init__(self, session: Session, cleaner: Cleaner, admit: Callable[[str], None]) -> None:
        self.session = session
        self.shell = Shell(session, self._collect)
        self.shell.dispatcher.admit = admit
        self.last_status = status_of(session)
        """The last known state, for callers that meet a busy owner."""
        self._cleaner = cleaner
        self._printed: list[str] | None = None
        self.last_stop: dict[str, Any] | None = None
        """The last stop that was told, as data."""
        self.delivered: Stop | None = None
        """The last stop that reached a client: set on the event loop, taken in by the next job."""
        self._between: deque[str] = deque(maxlen=_MAX_BETWEEN)
        self._announced: Stop | None = None

    def catch_up(self) -> None:
        """Take in what the target has reported, and that a stop has been delivered. Every job begins so."""
        run = self.session.run
        if run is None:
            return
        delivered, self.delivered = self.delivered, None
        if delivered is not None:
            run.take(delivered)
        before = (run.waiting, run.target.halted)
        # What is wrong with the link is told by the call itself.
        with contextlib.suppress(KdiveError):
            run.service()
        if (run.waiting, run.target.halted) != before:
            self.refresh()

    def refresh(self) -> None:
        """Bring the last known state up to date."""
        known = self.last_status
        self.last_status = status_of(self.session)
        if self.last_status["running"] and self.session.scope.process is not None:
            # Its name may not have been read before the target went on.
            self.last_status["attached_process"] = self.last_status["attached_process"] or known["attached_process"]

    def run(self, line: str, *, structured: bool = False) -> Ran:
        """Run a line.

        Args:
            line: The line.
            structured: Return data instead of text.
        """
        before = self._news()
        printed: list[str] = list(self._between)
        self._between.clear()
        self._printed = [] if structured else printed
        try:
            outcome = self.shell.run(line)
        finally:
            self._printed = None
        error = outcome.error
        if isinstance(error, DeadlineError) and not error.hint:
            error.hint = "ask for less at a time: a narrower pattern, a smaller range"
        if isinstance(error, CancelledError):
            # The token is spent; what is told of the target afterwards must not fail for it.
            self.session.cancel = CancelToken(1.0)
        self.refresh()
        after = self._said()
        failed = error is not None
        if structured:
            data = self._data(outcome.results)
            if error is not None:
                data["results"].append({"command": outcome.failed, "ok": False, "error": _error(error), "result": None})
                data["not_run"] = outcome.not_run
            data |= {"news": before + after} if before or after else {}
            return Ran("", failed, "", data)
        if error is not None:
            printed.append(error_text(error, outcome.not_run).plain())
        if outcome.quit:
            printed.append(LEAVE)
        text = "\n".join(text for text in printed if text)
        return Ran(text, failed, self.trailer(), before=before, after=after)

    def _news(self) -> list[str]:
        """A stop that waits to be taken, told once."""
        run = self.session.run
        stop = run.waiting if run is not None else None
        if stop is None or stop is self._announced:
            return []
        self._announced = stop
        return [f"[target stopped: {self._cleaner.inline(stop_line(self.session, stop))}; wait_for_stop tells more]"]

    def _said(self) -> list[str]:
        """What the target has printed, and events that did not stop it, line by line."""
        run = self.session.run
        if run is None:
            return []
        printed = "".join(run.target.take_output()).splitlines()
        notes = [f"[target event: {self._cleaner.inline(note)}]" for note in run.notes]
        run.notes.clear()
        return notes + [f"[dbgprint] {self._cleaner.inline(line)}" for line in printed]

    def result_of(self, command: str) -> Any:
        """Run one command by itself and leave what the user sees next as it was.

        Commands remember where they stopped, so that the next one goes on from there. A tool that only looks must not
        move that.

        Raises:
            KdiveError: It failed.
        """
        session = self.session
        kept = (session.last_dump_address, session.last_disassembly_address, session.results)
        try:
            return self.shell.dispatcher.result_of(command)
        finally:
            session.last_dump_address, session.last_disassembly_address, session.results = kept

    def evaluate(self, expression: str) -> int:
        """Evaluate an expression.

        Raises:
            KdiveError: It cannot be evaluated.
        """
        from kdive.expr.evaluator import evaluate

        return evaluate(expression, self.shell.dispatcher.scope).number

    def render(self, result: Any) -> str:
        """A result as text."""
        return self.shell.renderer.plain(result)

    def trailer(self) -> str:
        """The line that ends every result of ``command``."""
        return trailer(self.last_status, self.session.scope.processor, self._cleaner)

    def _collect(self, command: str, result: Any) -> None:
        del command
        if result is None:
            return
        # What the commands of a breakpoint print between calls is shown by the next one.
        (self._between if self._printed is None else self._printed).append(self.render(result))

    def _data(self, results: list[tuple[str, Any]]) -> dict[str, Any]:
        rows = [
            {"command": command, "ok": True, "error": None, "result": to_data(result)} for command, result in results
        ]
        return {"results": rows, "not_run": "", "status": self.last_status}


def _error(error: KdiveError) -> dict[str, str | None]:
    return {"what": str(error) if not error.where else error.what, "where": error.where, "hint": error.hint}


def trailer(status: dict[str, Any], processor: int, cleaner: Cleaner) -> str:
    """Where the target stands, in a line; names from the target cannot end it or add parts to it."""
    if status["running"]:
        return "[target running]"
    text = f"[target halted @ {processor} {status['rip'] or '?'}"
    if status["symbol"]:
        text += f" {cleaner.inline(status['symbol'])}"
    for label, key in (("process", "stopped_process"), ("scope", "attached_process")):
        if status[key]:
            text += f" | {label} {cleaner.inline(status[key]['name'])} ({status[key]['pid']})"
    return text + "]"
