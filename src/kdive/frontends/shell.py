"""A session with its dispatcher and renderer: what every front end runs lines through.

Everything here runs on the owner thread.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kdive.commands.dispatch import Dispatcher, Outcome
from kdive.errors import CommandError
from kdive.render.text import TextRenderer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session


class Shell:
    """Runs lines for a front end.

    Args:
        session: The session.
        emit: Called with ``(command, result)`` as soon as a command has finished.
    """

    def __init__(self, session: Session, emit: Callable[[str, Any], None]) -> None:
        self.session = session
        self.renderer = TextRenderer()
        self._emit = emit
        self.dispatcher = Dispatcher(session, self._deliver, self.renderer.plain)

    @property
    def prompt(self) -> str:
        """The prompt: the processor in scope."""
        return f"{self.session.scope.processor}: kd> "

    def run(self, line: str) -> Outcome:
        """Run a line; errors of every kind come back in the outcome.

        Raises:
            BrokenPipeError: The front end's output is gone.
        """
        self.dispatcher.transcript.write(f"{self.prompt}{line}")
        try:
            outcome = self.dispatcher.run(line)
        except BrokenPipeError:
            raise
        except Exception as error:  # one bad command must not end the session
            import logging

            logging.getLogger("kdive").debug("internal error in %r", line, exc_info=True)
            outcome = Outcome(failed=line, error=internal_error(error))
        if outcome.error is not None:
            from kdive.render.console import error_text

            self.dispatcher.transcript.write(error_text(outcome.error, outcome.not_run).plain())
        return outcome

    def _deliver(self, command: str, result: Any) -> None:
        self._emit(command, result)
        if result is not None and self.dispatcher.transcript.active:
            self.dispatcher.transcript.write(self.renderer.plain(result))

    def close(self) -> None:
        """Close the log."""
        self.dispatcher.transcript.close()


def internal_error(error: BaseException) -> CommandError:
    """Describe an error that should not have happened."""
    if os.environ.get("KDIVE_DEBUG"):
        import traceback

        return CommandError("internal error\n" + "".join(traceback.format_exception(error)).rstrip())
    return CommandError(
        f"internal error: {type(error).__name__}: {error}",
        hint="this is a defect of kdive; with KDIVE_DEBUG=1 set the traceback is shown",
    )
