"""The prompt: reading lines and running them on the owner thread."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any, Protocol

from kdive.directories import state_directory

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from kdive.frontends.shell import Shell
    from kdive.session.owner import Owner


class Writer(Protocol):
    """Shows what a typed line gives."""

    def run_typed(self, shell: Shell, line: str) -> Any:
        """Run a line and show its results; returns the outcome."""
        ...


INTERRUPTED = 130
_AGAIN = "Ctrl+C again leaves, as q does\n"


class Leave(KeyboardInterrupt):
    """The user insists on leaving."""


def run_repl(owner: Owner, shell: Shell, writer: Writer, *, plain: bool) -> int:
    """Read and run lines until the user leaves; return the exit status.

    Ctrl+C cancels the command that runs; twice in a row it leaves.

    Raises:
        KeyboardInterrupt: It came again before the command had ended.
    """
    if plain or not sys.stdin.isatty():
        return _plain(owner, shell, writer)
    return _interactive(owner, shell, writer)


def run_line(owner: Owner, shell: Shell, writer: Writer, line: str) -> bool:
    """Run a line on the owner thread; Ctrl+C cancels it. Returns whether to go on."""
    if not line.strip():
        return True
    with _interrupt_cancels(owner):
        outcome = owner.call(lambda: writer.run_typed(shell, line))
    return not outcome.quit


@contextlib.contextmanager
def _interrupt_cancels(owner: Owner) -> Generator[None]:
    """While a command runs, Ctrl+C cancels it instead of ending the program; once more it ends the program."""
    cancelled = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        nonlocal cancelled
        if cancelled:
            raise Leave
        cancelled = True
        owner.interrupt()

    try:
        before = signal.signal(signal.SIGINT, interrupt)
    except ValueError:
        # Not on the main thread (as in tests): the caller cancels by other means.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _plain(owner: Owner, shell: Shell, writer: Writer) -> int:
    """Lines from a pipe, or a terminal without editing."""
    prompt = sys.stdin.isatty()
    interrupted = False
    while True:
        if prompt:
            sys.stdout.write(shell.prompt)
            sys.stdout.flush()
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            if interrupted:
                return INTERRUPTED
            interrupted = True
            sys.stdout.write(f"\n{_AGAIN}")
            sys.stdout.flush()
            continue
        interrupted = False
        if not line:
            return 0
        if not run_line(owner, shell, writer, line.rstrip("\r\n")):
            return 0


def _interactive(owner: Owner, shell: Shell, writer: Writer) -> int:
    prompt = make_prompt(owner, shell)
    interrupted = False
    while True:
        try:
            line = prompt.prompt(shell.prompt)
        except KeyboardInterrupt:
            if interrupted:
                return INTERRUPTED
            interrupted = True
            sys.stdout.write(_AGAIN)
            continue
        except EOFError:
            return 0
        interrupted = False
        if not run_line(owner, shell, writer, line):
            return 0


def make_prompt(owner: Owner, shell: Shell, **options: Any) -> Any:
    """Make the line editor: history, completion, colour.

    Args:
        owner: Completion asks the session on its thread.
        shell: What lines run through.
        options: Passed to ``PromptSession`` (tests give their own input and output).
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from kdive.frontends.repl.completion import CommandCompleter
    from kdive.frontends.repl.history import trim_history
    from kdive.frontends.repl.lexer import CommandLexer

    history: Any = InMemoryHistory()
    with contextlib.suppress(OSError):
        folder = state_directory()
        folder.mkdir(parents=True, exist_ok=True)
        trim_history(folder / "history")
        history = FileHistory(str(folder / "history"))
    return PromptSession[str](
        history=history,
        completer=CommandCompleter(owner, shell),
        complete_while_typing=False,
        lexer=CommandLexer(),
        enable_history_search=True,
        **options,
    )
