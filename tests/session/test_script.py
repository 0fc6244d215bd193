from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, CommandError, KdiveError
from kdive.expr.evaluator import evaluate, evaluate_prefix
from kdive.expr.printf import format_printf
from kdive.expr.values import Value
from kdive.session.aliases import AliasTable
from kdive.session.script import Interpreter, LineAborted
from tests.expr.world import World


class Host:
    """Runs a handful of commands over the synthetic target and keeps what they print."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.world = World()
        self.aliases = AliasTable()
        self.cancel = CancelToken()
        self.files = files or {}
        self.output = ""
        self.commands: list[str] = []
        self.interpreter = Interpreter(self)
        self.budget = 10_000

    def execute(self, command: str) -> None:
        self.commands.append(command)
        self.budget -= 1
        if self.budget < 0:
            self.cancel.cancel()
        name, _, rest = command.partition(" ")
        if name == "r":
            target, _, expression = rest.partition("=")
            self.world.variables[target.strip().lstrip("@$")] = Value(self.evaluate(expression).number)
        elif name == ".printf":
            self.write(format_printf(rest, self.world))
        elif name == ".echo":
            self.write(rest + "\n")
        elif name in ("as", "aS"):
            alias, _, text = rest.partition(" ")
            self.aliases.set(alias, text)
        elif name == "fail":
            raise CommandError("it failed", hint="do not")
        elif name == "run":
            self.interpreter.run(rest.strip('"'))
        elif name not in ("k", "lm", "g"):
            raise CommandError(f"unknown command '{name}'")

    def evaluate(self, expression: str) -> Value:
        return evaluate(expression, self.world)

    def raw_end(self, text: str, position: int) -> int | None:
        del text, position

    def evaluate_prefix(self, text: str) -> tuple[Value, str]:
        return evaluate_prefix(text, self.world)

    def write(self, text: str) -> None:
        self.output += text

    def capture(self, commands: str) -> str:
        before, self.output = self.output, ""
        try:
            self.interpreter.run(commands)
            return self.output
        finally:
            self.output = before

    def read_script(self, path: str) -> str:
        if path not in self.files:
            raise CommandError(f"no file {path}")
        return self.files[path]


def run(line: str, files: dict[str, str] | None = None) -> str:
    host = Host(files)
    host.interpreter.run(line)
    return host.output


COUNT = "r $t0 = 0; "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        (".echo a; .echo b", "a\nb\n"),
        (".echo a; * .echo b; .echo c", "a\n"),
        (".echo a; $$ .echo b; .echo c", "a\nc\n"),
        (".if (1) {.echo a} .else {.echo b}", "a\n"),
        (".if (0) {.echo a} .else {.echo b}", "b\n"),
        (".if(0){.echo a}.elsif(1){.echo b}.else{.echo c};.echo d", "b\nd\n"),
        (".if 0 { .echo a } .elsif 0 { .echo b }; .echo c", "c\n"),
        (".if (0) { .echo a }\n.else\n{\n.echo b\n}\n.echo c", "b\nc\n"),
        ('.if ($scmp("{", "{") == 0) { .echo a }', "a\n"),
        (".if (1) { .if (0) { .echo a } .else { .echo b } } .else { .echo c }", "b\n"),
        ('.for (r $t0 = 0; $t0 < 3; r $t0 = $t0 + 1) { .printf "%d ", $t0 }', "0 1 2 "),
        (".for (r $t0 = 0; $t0 < (2+1); r $t0 = $t0 + 1) { .if ($t0 == 1) { .continue }; .echo x }", "x\nx\n"),
        (".for (r $t0 = 0; ; r $t0 = $t0 + 1) { .if ($t0 == 2) { .break }; .echo x }; .echo y", "x\nx\ny\n"),
        (COUNT + ".while ($t0 < 3) { r $t0 = $t0 + 1; .echo x }", "x\nx\nx\n"),
        (COUNT + ".do { r $t0 = $t0 + 1; .echo x } ($t0 < 2); .echo y", "x\nx\ny\n"),
        (COUNT + ".do { .echo x; .continue; .echo z } (0)", "x\n"),
        (".while (1) { .while (1) { .break }; .echo x; .break }", "x\n"),
        (".block { .echo a; .echo b }; .echo c", "a\nb\nc\n"),
        (".block { $$ don't } worry;\n.echo a }", "a\n"),
        (".catch { .echo a; fail; .echo b }; .echo c", "a\nerror: it failed\nc\n"),
        (".catch { .echo a; .leave; .echo b }; .echo c", "a\nc\n"),
        ("j 1 .echo a ; .echo b", "a\n"),
        ("j 0 .echo a ; .echo b", "b\n"),
        ("j (rsp == 1000) '.echo a; .echo b' ; '.echo c'; .echo d", "a\nb\nd\n"),
        ("j(0) '.echo a; .echo b' ; '.echo c' ; .echo d", "c\nd\n"),
        ("j 0 '.echo a'", ""),
        (".foreach (t { .echo a b c }) { .echo <${t}> t }", "<a> a\n<b> b\n<c> c\n"),
        (".foreach /pS 1 /ps 1 (t { .echo a b c d e }) { .echo t }", "b\nd\n"),
        ('.foreach /s (t "x y;z") { .echo t }', "x\ny;z\n"),
        ('.foreach /f (t "in.txt") { .echo t }', "1\n2\n"),
        ('.foreach (t { .echo a b c }) { .if ($scmp("${t}", "b") == 0) { .break }; .echo t }', "a\n"),
        ('.foreach /s (t "a;b") { j 1 .echo t ; .echo no }', "a;b\n"),
        (".foreach /s (t \"a;b\") { j ($t0 == 'a') '.echo no' ; '.echo t;.echo x' }", "a;b\nx\n"),
        (
            'aS say .echo t; .foreach /s (t "a;b ${say}") { say ; .echo ${t}${/d:t}${/d:no} }',
            "a;b\na;b10\n.echo\n.echo10\nt\nt10\n",
        ),
        ("as x .echo hi; x", ""),
        ("aS x .echo hi; x", "hi\n"),
        ("as x .echo hi;.echo there\nx", "hi\n.echo there\n"[:3] + "there\n"),
        ('aS n 5; .if (${n} == 5) { .printf "%d", n }', "5"),
        (".block { as ${/v:y} 7 }; .echo ${y} ${/d:y} ${/n:y} ${/f:z}.", "7 1 y .\n"),
        ('$$>a<args.txt one "two three"; .echo z', "one+two three+1+0\nz\n"),
        ("$<plain.txt", "1\n2\n"),
        ("$$<plain.txt; .echo 3", "1\n2\n3\n"),
        ("$><block.txt", "a\nb\n"),
        ("$$><block.txt", "a\nb\n"),
        ('run ".echo a; .echo b"; .echo c', "a\nb\nc\n"),
    ],
)
def test_control_flow(line: str, expected: str) -> None:
    files = {
        "in.txt": "1\n2\n",
        "args.txt": ".echo ${$arg1}+${$arg2}+${/d:$arg1}+${/d:$arg3}",
        "plain.txt": ".echo 1\r\n$$ comment; \r\n.echo 2\r\n",
        "block.txt": ".if (1)\n{\n  .echo a\n  * note; with { \n  .echo b\n}\n.else\n{\n  .echo c\n}\n",
    }
    assert run(line, files) == expected


@pytest.mark.parametrize(
    ("line", "what", "not_run"),
    [
        ("fail; .echo a; .echo b", "it failed", ".echo a; .echo b"),
        (".echo a; fail", "it failed", ""),
        (".if (1) { fail; .echo a }; .echo b", "it failed", ".echo a; .echo b"),
        (".for (r $t0 = 0; $t0 < 3; r $t0 = $t0 + 1) { fail }; .echo b", "it failed", ".echo b"),
        (".if (nosuch) { .echo a }; .echo b", "Couldn't resolve", ".echo b"),
        ("j 1 'fail; .echo a' ; '.echo b'; .echo c", "it failed", ".echo a; .echo c"),
        (".else { k }", "without .if", ".else { k }"),
        (".if (1) k", "{ commands }", ".if (1) k"),
        (".if (1) { k", "not closed", ".if (1) { k"),
        (".if { k }", "condition", ".if { k }"),
        (".for (k) { k }", "three parts", ".for (k) { k }"),
        (".for k { k }", "first", ".for k { k }"),
        (".while (1)", "commands", ".while (1)"),
        (".do { k }; k", "condition", ".do { k }; k"),
        (".foreach t { k }", "variable", ".foreach t { k }"),
        (".foreach (t) { k }", "variable", ".foreach (t) { k }"),
        (".foreach (t x) { k }", "commands", ".foreach (t x) { k }"),
        (".break", "not inside", ""),
        (".catch { .break }", "not inside", ""),
        ("$$>a<", "file name", ""),
        ("$$<nosuch; k", "no file", "k"),
        ("$$<loop.txt", "script files are nested too deeply", ""),
    ],
)
def test_a_failing_command_ends_its_line_and_says_what_was_not_run(line: str, what: str, not_run: str) -> None:
    with pytest.raises(LineAborted, match=what) as caught:
        run(line, {"loop.txt": "$$<loop.txt"})
    assert caught.value.not_run == not_run
    assert isinstance(caught.value.original, KdiveError)
    assert not isinstance(caught.value.original, LineAborted)


def test_the_original_error_keeps_its_hint() -> None:
    with pytest.raises(LineAborted) as caught:
        run("fail")
    assert (caught.value.what, caught.value.hint) == ("it failed", "do not")


@pytest.mark.parametrize("line", [".while (1) { k }", ".for (;;) { }", ".do { } (1)", ".while (1) { .continue }"])
def test_endless_loops_end_at_the_cancel_token(line: str) -> None:
    host = Host()
    host.budget = 50
    if "k" not in line:
        host.cancel.cancel()
    with pytest.raises(CancelledError):
        host.interpreter.run(line)


def test_deeply_nested_blocks_are_refused() -> None:
    depth = 5_000
    with pytest.raises(LineAborted, match="nested too deeply"):
        run(".block {" * depth + "k" + "}" * depth)


def test_alias_of_itself_is_not_replaced_again() -> None:
    host = Host()
    host.aliases.set("k", "k 10")
    host.interpreter.run("k; .if (1) { k }")
    assert host.commands == ["k 10", "k 10"]


def test_alias_may_hold_control_flow() -> None:
    host = Host()
    host.aliases.set("twice", ".for (r $t0 = 0; $t0 < 2; r $t0 = $t0 + 1) { .echo x }")
    host.interpreter.run("twice; .echo y")
    assert host.output == "x\nx\ny\n"


def test_loop_variable_and_script_arguments_do_not_outlive_their_statement() -> None:
    host = Host({"a.txt": ".echo ${$arg1}"})
    host.interpreter.run(".foreach (t { .echo a }) { .echo t }; $$>a<a.txt b")
    assert host.aliases.items() == []


def test_an_interpreter_is_usable_after_an_error() -> None:
    host = Host({"bad.txt": ".block { fail }"})
    for _ in range(40):
        with pytest.raises(LineAborted):
            host.interpreter.run("$$<bad.txt")
    host.interpreter.run(".block { .echo fine }")
    assert host.output == "fine\n"


def test_a_command_that_runs_itself_is_stopped() -> None:
    host = Host()
    host.aliases.set("again", 'run "again"')
    with pytest.raises(LineAborted, match="nested too deeply"):
        host.interpreter.run("again")


def test_arbitrary_text_raises_nothing_but_the_documented_errors() -> None:
    pieces = st.sampled_from(
        [
            *(
                ".if",
                ".else",
                ".for",
                ".foreach",
                ".while",
                ".do",
                ".block",
                ".catch",
                ".break",
                "j",
                "$$>a<",
                "$<",
                "as",
            ),
            *(
                "(",
                ")",
                "{",
                "}",
                ";",
                '"',
                "'",
                "0",
                "1",
                "k",
                "/s",
                "/pS",
                "$$",
                "*",
                "${",
                "}",
                "${t}",
                " ",
                " ",
                "\n",
            ),
        ]
    )

    @given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=20).map(" ".join), st.lists(pieces).map("".join)))
    @settings(max_examples=400, deadline=None)
    def check(text: str) -> None:
        host = Host({"1": "k"})
        host.budget = 30
        with suppress(LineAborted, CancelledError):
            host.interpreter.run(text.replace(".while", ".block"))

    check()
