"""Finding commands by what is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.index import MODULES
from kdive.commands.unavailable import unavailable
from kdive.errors import CapabilityError, CommandError
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dispatcher(cache: Path) -> Dispatcher:
    options = SessionOptions(symbol_path="", isf_directories=(SAMPLE / "isf",), offline=True, cache=cache)
    session = Session(open_dump(SAMPLE / "crash.dmp"), options)
    return Dispatcher(session, lambda *_: None, TextRenderer().plain)


@pytest.mark.parametrize(
    ("typed", "name", "arguments"),
    [
        ("k", "k", ""),
        ("k 5", "k", "5"),
        ("k5", "k", "5"),
        ("knf", "kn", "f"),
        ("kvn 3", "kv", "n 3"),
        ("lmvm nt", "lmv", "m nt"),
        ("lmkv", "lm", "kv"),
        ("lm m nt", "lm", "m nt"),
        ("~", "~", ""),
        ("~1s", "~", "1s"),
        ("db@rsp", "db", "@rsp"),
        ("dt nt!_EPROCESS", "dt", "nt!_EPROCESS"),
        ("? 1", "?", "1"),
        ("?1+1", "?", "1+1"),
        ("?? 1", "??", "1"),
        ("!PROCESS 0 0", "!PROCESS", "0 0"),
        (".sympath+ x", ".sympath+", "x"),
        ("# call", "#", "call"),
        ("dlb rsp", "dl", "b rsp"),
        ("r", "r", ""),
        ("s -b rsp L4 0", "s", "-b rsp L4 0"),
    ],
)
def test_names_and_arguments_are_parted(typed: str, name: str, arguments: str, dispatcher: Dispatcher) -> None:
    _, found, rest = dispatcher.resolve(typed)
    assert (found, rest) == (name, arguments)


@pytest.mark.parametrize(
    ("typed", "near"),
    [("!analyse", "!analyze"), ("vertargt", "vertarget"), (".symfx", ".symfix"), ("!proces 0", "!process")],
)
def test_a_typo_names_the_nearest_commands(typed: str, near: str, dispatcher: Dispatcher) -> None:
    with pytest.raises(CommandError) as caught:
        dispatcher.resolve(typed)
    assert near in (caught.value.hint or "")


@pytest.mark.parametrize("typed", ["kx", "lmz", "dbx", "zzz", "!nothing", ".nothing"])
def test_what_no_command_takes_is_unknown(typed: str, dispatcher: Dispatcher) -> None:
    with pytest.raises(CommandError, match="unknown command"):
        dispatcher.resolve(typed)


@pytest.mark.parametrize(
    ("typed", "part"),
    [("g", "needs execution control"), ("bp nt!x", "needs breakpoints"), ("eb rsp 1", "needs memory write")],
)
def test_commands_of_live_targets_say_why_not(typed: str, part: str, dispatcher: Dispatcher) -> None:
    error = dispatcher.run(typed).error
    assert isinstance(error, CapabilityError)
    assert part in error.what
    assert error.hint is not None
    assert "a dump shows one moment" in error.hint


def test_no_command_is_both_there_and_unavailable() -> None:
    for names in MODULES.values():
        assert not [name for name in names if unavailable(name)]


def test_a_command_that_the_target_cannot_serve_is_refused(cache: Path) -> None:
    from tests.conftest import AMDPPM
    from tests.data import need

    session = Session(open_dump(need(AMDPPM)), SessionOptions(symbol_path="", offline=True, cache=cache))
    outcome = Dispatcher(session, lambda *_: None, TextRenderer().plain).run("!pte rip; k")
    assert isinstance(outcome.error, CapabilityError)
    assert "physical memory" in str(outcome.error)
    assert outcome.not_run == "k"


@pytest.mark.parametrize(
    ("line", "path", "commands"),
    [
        (".sympath /a;/b", "/a;/b", 1),
        (".sympath srv*/c*https://host/s;/b; .echo x", "srv*/c*https://host/s;/b", 2),
        (".sympath /a;.echo", "/a;.echo", 1),
        (".sympath /a\n.echo x", "/a", 2),
        (".sympath /a; /b", "/a;/b", 1),
    ],
)
def test_a_path_keeps_its_semicolons(line: str, path: str, commands: int, dispatcher: Dispatcher) -> None:
    outcome = dispatcher.run(line)
    assert outcome.error is None
    assert len(outcome.results) == commands
    assert dispatcher.session.store.path == path
