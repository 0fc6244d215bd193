"""Lists of commands, control flow, loops, aliases and script files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, CommandError, KdiveError, UsageError
from kdive.expr.evaluator import evaluate
from kdive.session.aliases import AliasTable
from kdive.session.script import Interpreter, LineAborted
from tests.expr.scope import World

if TYPE_CHECKING:
    from kdive.expr.values import Value


class Host:
    """Records commands. ``fail`` fails, ``set NAME VALUE`` sets a variable, ``say TEXT`` speaks, others just run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.cancel = CancelToken()
        self.aliases = AliasTable()
        self.world = World()
        self.files: dict[str, str] = {}
        self.spoken: list[str] | None = None

    def execute(self, command: str) -> None:
        word, _, rest = command.partition(" ")
        if word == "fail":
            raise CommandError("it failed")
        if word == "cancel":
            self.cancel.cancel()
        if word == "set":
            name, _, text = rest.partition(" ")
            self.world.variables[name] = evaluate(text, self.world)
        if word == "as":
            name, _, text = rest.partition(" ")
            self.aliases.set(name, text)
        if word == "say" and self.spoken is not None:
            self.spoken.append(rest)
            return
        self.ran.append(command)

    def evaluate(self, expression: str) -> Value:
        return evaluate(expression, self.world)

    def capture(self, commands: str) -> str:
        self.spoken = []
        Interpreter(self).run(commands)
        text, self.spoken = "\n".join(self.spoken), None
        return text

    def read_script(self, path: str) -> str:
        if path not in self.files:
            raise CommandError(f"no file {path}")
        return self.files[path]


def ran(line: str, host: Host | None = None) -> list[str]:
    host = host or Host()
    Interpreter(host).run(line)
    return host.ran


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a; b ;c", ["a", "b", "c"]),
        ("", []),
        (";;a;;", ["a"]),
        ('say "a;b"; c', ['say "a;b"', "c"]),
        ("* a; b", []),
        ("a; $$ b ; c", ["a", "c"]),
        ("a\nb", ["a", "b"]),
        (".if (1) { a; b }", ["a", "b"]),
        (".if (0) { a } .else { b }", ["b"]),
        (".if (0) { a } .elsif (1) { b } .else { c }", ["b"]),
        (".if (0) { a } .elsif (0) { b }; d", ["d"]),
        (".if (1) { .if (0) { a } .else { b } } .else { c }; d", ["b", "d"]),
        (".block { a; b }; c", ["a", "b", "c"]),
        ("j 1 a ; b", ["a"]),
        ("j 0 a ; b", ["b"]),
        ("j (1 == 2) 'a; b' ; 'c; d'", ["c", "d"]),
        ("j 1 'a; b' ; 'c'", ["a", "b"]),
        ('.foreach /s (x "1 2 3") { say x }', ["say 1", "say 2", "say 3"]),
        ('.foreach /pS 1 /ps 1 /s (x "1 2 3 4") { say x }', ["say 2", "say 4"]),
        (".foreach (x { say a b; say c }) { run <x> ${x} }", ["run <a> a", "run <b> b", "run <c> c"]),
    ],
)
def test_what_a_line_runs(line: str, commands: list[str]) -> None:
    assert ran(line) == commands


def test_loops_count() -> None:
    line = ".for (set t0 0; @$t0 < 3; set t0 @$t0+1) { run }"
    assert ran(line).count("run") == 3
    assert ran("set t0 0; .while (@$t0 < 2) { run; set t0 @$t0+1 }").count("run") == 2
    assert ran("set t0 0; .do { run; set t0 @$t0+1 } (@$t0 < 2)").count("run") == 2


def test_break_and_continue_steer_the_innermost_loop() -> None:
    line = ".for (set t0 0; @$t0 < 4; set t0 @$t0+1) { .if (@$t0 == 1) { .continue }; .if (@$t0 == 3) { .break }; run }"
    assert ran(line).count("run") == 2


@pytest.mark.parametrize("line", [".break", ".continue", ".if (1) { .break }", ".else { a }"])
def test_stray_tokens_are_errors(line: str) -> None:
    with pytest.raises(KdiveError):
        ran(line)


@pytest.mark.parametrize(
    "line", [".if (1) a", ".if 1 { a }", ".for (a) b", ".foreach (x) {a}", ".while (1", ".if (1) {"]
)
def test_bad_syntax_is_named(line: str) -> None:
    with pytest.raises(UsageError):
        ran(line)


def test_a_failing_command_ends_its_line_and_names_the_rest() -> None:
    host = Host()
    with pytest.raises(LineAborted) as caught:
        ran("a; fail; b; c", host)
    assert host.ran == ["a"]
    assert caught.value.not_run == "b; c"
    assert caught.value.error.what == "it failed"


def test_what_was_not_run_includes_the_outer_line() -> None:
    with pytest.raises(LineAborted) as caught:
        ran(".if (1) { fail; b }; c")
    assert caught.value.not_run == "b; c"


def test_an_endless_loop_can_be_cancelled() -> None:
    with pytest.raises((CancelledError, LineAborted)) as caught:
        ran("set t0 0; .while (1) { set t0 @$t0+1; .if (@$t0 == 5) { cancel } }")
    error = caught.value
    assert isinstance(error.error if isinstance(error, LineAborted) else error, CancelledError)


def test_aliases_replace_words_and_braces() -> None:
    host = Host()
    host.aliases.set("who", "run me")
    assert ran("who; x ${who}y; whom", host) == ["run me", "x run mey", "whom"]


def test_an_alias_may_hold_several_commands() -> None:
    host = Host()
    host.aliases.set("both", "a; b")
    assert ran("both; c", host) == ["a", "b", "c"]


def test_alias_switches() -> None:
    host = Host()
    host.aliases.set("x", "1")
    line = "run ${/d:x} ${/d:nothing} ${/n:x} ${/f:nothing}. ${nothing}"
    assert ran(line, host) == ["run 1 0 x . ${nothing}"]


def test_an_alias_of_itself_is_an_error() -> None:
    host = Host()
    host.aliases.set("a", "a a")
    with pytest.raises(KdiveError, match="leads back"):
        ran("a", host)


def test_script_files_run_with_arguments() -> None:
    host = Host()
    host.files["s"] = "* a comment\nrun ${$arg1} ${$arg2}\n.if (1)\n{\n inner\n}\n"
    assert ran('$$>a< s one "two three"', host) == ["run one two three", "inner"]


def test_line_by_line_scripts_and_what_follows_them() -> None:
    host = Host()
    host.files["s"] = "a\nb\n"
    assert ran("$$< s; c", host) == ["a", "b", "c"]


def test_a_missing_script_is_an_error() -> None:
    with pytest.raises(KdiveError, match="no file"):
        ran("$< nothing")


def test_scripts_that_call_themselves_end() -> None:
    host = Host()
    host.files["s"] = "$$>< s"
    with pytest.raises(KdiveError, match="nested"):
        ran("$$>< s", host)


def test_commands_nested_too_deep_are_refused() -> None:
    depth = 500
    with pytest.raises(KdiveError):
        ran(".block {" * depth + "a" + "}" * depth)
