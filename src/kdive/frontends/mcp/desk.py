"""What the server keeps beside a session: a shell, and the words for what it did.

Everything here runs on the owner thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.addr import json_address
from kdive.cancel import CancelToken
from kdive.errors import CancelledError, DeadlineError, KdiveError
from kdive.frontends.shell import Shell
from kdive.record import Record, field
from kdive.render.console import error_text
from kdive.render.json import to_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.frontends.mcp.text import Cleaner
    from kdive.nt.processes import Process
    from kdive.session.session import Session

LEAVE = "q is for people at a prompt: the close tool ends the session"


class Ran(Record):
    """What came of a line.

    Attributes:
        text: What it printed, with the error if there was one; without the trailer.
        failed: Whether it failed.
        trailer: Where the target stands now, as a line.
        data: The results as data, if they were asked for.
    """

    text: str
    failed: bool
    trailer: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])


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

    def run(self, line: str, *, structured: bool = False) -> Ran:
        """Run a line.

        Args:
            line: The line.
            structured: Return data instead of text.
        """
        printed: list[str] = []
        self._printed = None if structured else printed
        outcome = self.shell.run(line)
        error = outcome.error
        if isinstance(error, DeadlineError) and not error.hint:
            error.hint = "ask for less at a time: a narrower pattern, a smaller range"
        if isinstance(error, CancelledError):
            # The token is spent; what is told of the target afterwards must not fail for it.
            self.session.cancel = CancelToken(1.0)
        self.last_status = status_of(self.session)
        failed = error is not None
        if structured:
            data = self._data(outcome.results)
            if error is not None:
                data["results"].append({"command": outcome.failed, "ok": False, "error": _error(error), "result": None})
                data["not_run"] = outcome.not_run
            return Ran("", failed, "", data)
        if error is not None:
            printed.append(error_text(error, outcome.not_run).plain())
        if outcome.quit:
            printed.append(LEAVE)
        return Ran("\n".join(text for text in printed if text), failed, self.trailer())

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
        if result is not None and self._printed is not None:
            self._printed.append(self.render(result))

    def _data(self, results: list[tuple[str, Any]]) -> dict[str, Any]:
        rows = [
            {"command": command, "ok": True, "error": None, "result": to_data(result)} for command, result in results
        ]
        return {"results": rows, "not_run": "", "status": self.last_status}


def _error(error: KdiveError) -> dict[str, str | None]:
    return {"what": str(error) if not error.where else error.what, "where": error.where, "hint": error.hint}


def status_of(session: Session) -> dict[str, Any]:
    """The answer of ``status``.

    The processes and the thread are three different answers: what the user inspects, whose page tables the stopped
    processor has loaded, and the Windows thread that it runs.
    """
    ip = _or_none(lambda: session.context().ip)
    thread = _or_none(lambda: session.thread)
    address = thread.address if thread is not None else session.kernel.triage_thread
    base = session.kernel.base
    return {
        "running": False,
        "current_thread": json_address(address) if address else None,
        "rip": json_address(ip) if ip is not None else None,
        "symbol": _or_none(lambda: session.engine.name_of(ip)) if ip is not None else None,
        "attached_process": _process(session.scope.process),
        "stopped_process": _process(_or_none(lambda: session.current_process)),
        "stopped_thread": _or_none(
            lambda: (
                None
                if thread is None
                else {"tid": thread.tid, "pid": thread.pid, "ethread": json_address(thread.address)}
            )
        ),
        "coherent": True,
        "kernel_base": json_address(base) if base is not None else None,
        "busy": None,
    }


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


def _process(entry: Process | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return _or_none(lambda: {"pid": entry.pid, "name": entry.name, "eprocess": json_address(entry.address)})


def _or_none(ask: Callable[[], Any]) -> Any:
    """What can be found out; None if the target does not hold it."""
    try:
        return ask()
    except KdiveError:
        return None
