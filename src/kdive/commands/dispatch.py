"""Running command lines: from text to commands, and from results to the caller.

The dispatcher is the host of the script interpreter: the interpreter cuts a line into commands and follows control
flow; the dispatcher finds each command, checks that the target can do it, calls it, and hands its result on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kdive.commands.context import CommandContext
from kdive.commands.registry import Registry
from kdive.commands.transcript import Transcript
from kdive.commands.unavailable import unavailable
from kdive.errors import CapabilityError, CommandError, KdiveError
from kdive.record import Record, field
from kdive.session.evaluation import SessionScope
from kdive.session.script import Interpreter, LineAborted

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.cancel import CancelToken
    from kdive.commands.spec import CommandSpec
    from kdive.expr.values import Value
    from kdive.session.aliases import AliasTable
    from kdive.session.session import Session

_NAME = re.compile(r"(\?\?|\?|\.[A-Za-z]\w*\+?|![\w.]+|#|~|[A-Za-z][\w-]*)")

_FOLLOWING = re.compile(r";\s+" + _NAME.pattern + r"(?=[\s;]|$)")


class Outcome(Record):
    """What came of one line.

    Attributes:
        results: ``(command as typed, result)`` of each command that ran, in order; results may be None.
        error: What ended the line early.
        not_run: The commands after the failing one, as typed.
        quit: The line asked to leave.
        failed: The command that failed, as typed; the whole line if the line itself is wrong.
    """

    results: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    error: KdiveError | None = None
    not_run: str = ""
    quit: bool = False
    failed: str = ""


class QuitRequest(Exception):  # noqa: N818 (not an error)
    """Raised by ``q``."""


class GoOn(Exception):  # noqa: N818 (not an error)
    """Raised by ``g`` and ``gc`` in the commands of a breakpoint: the rest is not run, and the target goes on."""


def _admit_all(command: str) -> None:
    del command


class Dispatcher:
    """Runs lines against a session.

    Args:
        session: The session.
        emit: Called with ``(command, result)`` as soon as a command has finished.
        render: Turns a result into text, for ``.foreach`` and logs.
    """

    def __init__(self, session: Session, emit: Callable[[str, Any], None], render: Callable[[Any], str]) -> None:
        self.session = session
        self.registry = Registry()
        self.scope = SessionScope(session)
        self.transcript = Transcript()
        self.admit: Callable[[str], None] = _admit_all
        """Called with every command before it runs; raises ``KdiveError`` to refuse it."""
        self._emit = emit
        self._render = render
        self._capture: list[str] | None = None
        self._interpreter = Interpreter(self)
        self._running = ""
        if session.run is not None:
            session.run.perform = self.perform

    # --- the interpreter's host ------------------------------------------------------------------------------------

    @property
    def cancel(self) -> CancelToken:
        """The session's cancel token."""
        return self.session.cancel

    @property
    def aliases(self) -> AliasTable:
        """The session's aliases."""
        return self.session.aliases

    def raw_end(self, text: str, position: int) -> int | None:
        """Return the end of a command that takes semicolons: that of the line, or where another command follows."""
        match = _NAME.match(text, position)
        spec = self.registry.find(match.group()) if match is not None else None
        if match is None or spec is None or not spec.raw:
            return None
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        for following in _FOLLOWING.finditer(text, match.end(), line_end):
            if self.registry.find(following[1]) is not None:
                return following.start()
        return line_end

    def evaluate(self, expression: str) -> Value:
        """Evaluate a condition."""
        from kdive.expr.evaluator import evaluate

        return evaluate(expression, self.scope)

    def evaluate_prefix(self, text: str) -> tuple[Value, str]:
        """Evaluate the expression at the start of a text; return it and the rest."""
        from kdive.expr.evaluator import evaluate_prefix

        return evaluate_prefix(text, self.scope)

    def write(self, text: str) -> None:
        """Pass text on as if a command had returned it."""
        self._deliver("", text)

    def capture(self, commands: str) -> str:
        """Run commands and return their text instead of passing it on."""
        outer = self._capture
        self._capture = []
        try:
            self._interpreter.run(commands)
            return "\n".join(self._capture)
        finally:
            self._capture = outer

    def run_nested(self, commands: str) -> None:
        """Run commands from inside a command; their results go where its own would.

        Raises:
            LineAborted: One of them failed.
        """
        self._interpreter.run(commands)

    def perform(self, commands: str) -> bool:
        """Run the commands of a breakpoint or an event; says whether one of them sent the target on.

        What fails is shown; the target then stays halted.
        """
        try:
            self._interpreter.run(commands)
        except GoOn:
            return True
        except LineAborted as aborted:
            self.write(f"error: {aborted.original.what}, in the commands of this stop: {commands}")
        except KdiveError as error:
            self.write(f"error: {error.what}, in the commands of this stop: {commands}")
        return False

    def read_script(self, path: str) -> str:
        """Read a script file.

        Raises:
            CommandError: It cannot be read.
        """
        try:
            return self.session.host_files.path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise CommandError(f"cannot read the script: {reason}", where=path) from error

    def execute(self, command: str) -> None:
        """Run one command."""
        self._deliver(command, self.result_of(command))

    def result_of(self, command: str) -> Any:
        """Run one command and return its result; aliases and separators mean nothing here.

        Raises:
            KdiveError: It failed.
        """
        self._running = command
        self.session.cancel.check()
        self.admit(command)
        spec, name, arguments = self.resolve(command)
        missing = [need for need in spec.needs if need not in self.session.target.capabilities]
        if missing:
            raise CapabilityError(
                f"{name} needs {', '.join(need.value.replace('_', ' ') for need in missing)}, "
                f"which this {self.session.target.backend} target does not have",
                hint="a dump shows one moment: it neither runs nor changes"
                if self.session.target.backend == "dump"
                else "capabilities lists what the target can do",
            )
        return spec.handler(CommandContext(self.session, self, spec, name), arguments)

    # --- lines -----------------------------------------------------------------------------------------------------

    def run(self, line: str) -> Outcome:
        """Run a line to its end or to its first error."""
        outcome = Outcome()
        outer = self._emit

        def collect(command: str, result: Any) -> None:
            outcome.results.append((command, result))
            outer(command, result)

        self._emit = collect
        try:
            self._interpreter.run(line)
        except QuitRequest:
            outcome.quit = True
        except LineAborted as aborted:
            outcome.error = aborted.original
            outcome.not_run = aborted.not_run
            outcome.failed = self._running
        except KdiveError as error:
            outcome.error = error
            outcome.failed = line
        except RecursionError:
            outcome.error = CommandError("the line is nested too deep")
            outcome.failed = line
        finally:
            self._emit = outer
        return outcome

    def _deliver(self, command: str, result: Any) -> None:
        if self._capture is not None:
            if result is not None:
                self._capture.append(self._render(result))
            return
        self._emit(command, result)

    def resolve(self, command: str) -> tuple[CommandSpec, str, str]:
        """Find a command by the start of its text.

        Returns:
            The declaration, the name as typed, and the arguments.

        Raises:
            CommandError: There is no such command; the hint names the nearest ones.
        """
        text = command.strip()
        match = _NAME.match(text)
        word = match.group() if match else text.split(None, 1)[0] if text else ""
        spec = self.registry.find(word)
        if spec is not None and (match is None or match.end() == len(text) or self._ends(spec, text, match.end())):
            return spec, word, text[len(word) :].strip()
        for length in range(len(word), 0, -1):
            spec = self.registry.find(word[:length])
            if spec is not None and spec.glued and set(word[length:]) <= set(spec.glued):
                return spec, word[:length], text[length:].strip()
        first = text.split(None, 1)[0] if text else ""
        reason = unavailable(first)
        if reason:
            raise CapabilityError(f"{first} {reason}")
        import difflib

        near = difflib.get_close_matches(first, self.registry.names(), n=4, cutoff=0.55)
        hint = f"did you mean {', '.join(near)}?" if near else "help lists the commands"
        raise CommandError(f"unknown command {first!r}", hint=hint)

    @staticmethod
    def _ends(spec: CommandSpec, text: str, end: int) -> bool:
        """Whether the name ends where the pattern ended: at a separator, or at what the command lets follow."""
        # `?1+1`: a name of punctuation needs no space behind it.
        return (
            not text[end - 1].isalnum()
            or text[end] in spec.glued
            or text[end] in " \t\"'/-@("
            or not (text[end].isalnum() or text[end] in "_.!?")
        )
