"""The prompt: editing, completion, cancellation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from kdive.cli import TextWriter
from kdive.directories import state_directory
from kdive.frontends.opening import OpenRequest, SymbolRequest, open_session
from kdive.frontends.repl.completion import CommandCompleter
from kdive.frontends.repl.history import trim_history
from kdive.frontends.repl.lexer import CommandLexer
from kdive.frontends.repl.loop import make_prompt, run_line
from kdive.frontends.shell import Shell
from kdive.session.owner import Owner
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def parts() -> Iterator[tuple[Owner, Shell, TextWriter]]:
    owner = Owner()
    symbols = SymbolRequest(path="", isf=(str(SAMPLE / "isf"),), offline=True)
    session = owner.open(lambda: open_session(OpenRequest("dump", str(SAMPLE / "crash.dmp"), symbols=symbols)))
    writer = TextWriter(colour=False)
    yield owner, Shell(session, writer.result), writer
    owner.stop()


def test_lines_are_read_with_history(parts: tuple[Owner, Shell, TextWriter]) -> None:
    owner, shell, _ = parts
    with create_pipe_input() as pipe:
        prompt = make_prompt(owner, shell, input=pipe, output=DummyOutput())
        pipe.send_text("k 2\n")
        assert prompt.prompt(shell.prompt) == "k 2"
        assert list(prompt.history.get_strings()) == ["k 2"]
    assert "+k 2" in (state_directory() / "history").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "word", "wanted"),
    [
        ("!ana", "!ana", "!analyze"),
        ("u nt!KeBug", "nt!KeBug", "nt!KeBugCheckEx"),
        ("dt nt!_EPR", "nt!_EPR", "nt!_EPROCESS"),
        ("u fau", "fau", "faulty!"),
        ("? @$pro", "@$pro", "@$proc"),
    ],
)
def test_completion_offers_what_fits(
    command: str, word: str, wanted: str, parts: tuple[Owner, Shell, TextWriter]
) -> None:
    owner, shell, _ = parts
    assert wanted in CommandCompleter(owner, shell).candidates(command, word)


def test_completion_of_nonsense_is_empty(parts: tuple[Owner, Shell, TextWriter]) -> None:
    owner, shell, _ = parts
    assert CommandCompleter(owner, shell).candidates("u nosuch!x", "nosuch!x") == []


def test_the_lexer_keeps_every_character() -> None:
    document = Document('u nt!Ke*; .printf "%x", @rax + 0x10 $$ note\n')
    get = CommandLexer().lex_document(document)
    for number, line in enumerate(document.lines):
        assert "".join(piece[1] for piece in get(number)) == line


def test_an_interrupt_cancels_the_running_command(
    parts: tuple[Owner, Shell, TextWriter], capsys: pytest.CaptureFixture[str]
) -> None:
    owner, shell, writer = parts
    started = threading.Event()
    original = shell.session.cancel

    def watch() -> None:
        # The token changes when the job begins.
        while shell.session.cancel is original and not started.wait(0.01):
            pass
        owner.interrupt()

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert run_line(owner, shell, writer, ".sleep 0n3600000; .echo never")
    watcher.join(30)
    out = capsys.readouterr().out
    assert "error: cancelled" in out
    assert "never" not in out.replace("not run after that error: .echo never", "")
    assert run_line(owner, shell, writer, ".echo alive")
    assert "alive" in capsys.readouterr().out


def test_q_ends_the_loop(parts: tuple[Owner, Shell, TextWriter]) -> None:
    owner, shell, writer = parts
    assert not run_line(owner, shell, writer, "q")
    assert run_line(owner, shell, writer, "")


def test_an_internal_error_does_not_end_the_session(
    parts: tuple[Owner, Shell, TextWriter], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, shell, writer = parts

    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(shell.session.engine, "nearest", broken)
    assert run_line(owner, shell, writer, "ln rip")
    assert "internal error" in capsys.readouterr().out


def test_an_overgrown_history_keeps_its_newest_entries_whole(tmp_path: Path) -> None:
    place = tmp_path / "history"
    entries = [f"\n# 2026-01-01 00:00:{index:02}\n+.echo {index}\n+# second line\n" for index in range(10)]
    place.write_text("".join(entries), "utf-8")
    trim_history(place, limit=10)
    assert place.read_text("utf-8") == "".join(entries)
    trim_history(place, limit=3)
    assert place.read_text("utf-8") == "".join(entries[-3:]).lstrip()
    assert list(tmp_path.iterdir()) == [place]
    trim_history(tmp_path / "absent")
