from __future__ import annotations

import pytest

from kdive.errors import UsageError
from kdive.expr.commandline import closing, split_arguments, split_commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("", []),
        (" ; ;", []),
        ("k", ["k"]),
        ("k; r ;lm", ["k", "r", "lm"]),
        ('bp nt!x "k;g"; lm', ['bp nt!x "k;g"', "lm"]),
        ('bp nt!x ".printf \\"a;b\\";g"; lm', ['bp nt!x ".printf \\"a;b\\";g"', "lm"]),
        (".if (1) { k; r }; lm", [".if (1) { k; r }", "lm"]),
        (".for (r $t0=0; @$t0<5; r $t0=@$t0+1) { k }; lm", [".for (r $t0=0; @$t0<5; r $t0=@$t0+1) { k }", "lm"]),
        (".foreach (x {k;r}) { .echo x }; lm", [".foreach (x {k;r}) { .echo x }", "lm"]),
        ("? (1;2)", ["? (1", "2)"]),
        ("* all of this; is a comment", []),
        ("k; * rest; r", ["k"]),
        ("k; $$ comment; r", ["k", "r"]),
        ("$$<file; k", ["$$<file", "k"]),
        (".echo } {; k", [".echo } {", "k"]),
        ('.echo "open; k', ['.echo "open; k']),
        ("k\nr", ["k", "r"]),
    ],
)
def test_lines_are_cut_at_bare_semicolons(line: str, commands: list[str]) -> None:
    assert split_commands(line) == commands


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", []),
        (" a  b ", ["a", "b"]),
        ('"a b" c', ["a b", "c"]),
        ('"say \\"hi\\""', ['say "hi"']),
        ('"C:\\dir\\file" x', ["C:\\dir\\file", "x"]),
        ('""', [""]),
        ('a"b c"d', ['a"b c"d']),
    ],
)
def test_arguments_are_cut_at_blanks_outside_quotes(text: str, arguments: list[str]) -> None:
    found = split_arguments(text)
    assert [argument.text for argument in found] == arguments
    for argument in found:
        assert argument.quoted == text[argument.start :].startswith('"')


def test_unclosed_quote_is_refused() -> None:
    with pytest.raises(UsageError, match="not closed"):
        split_arguments('a "b')


def test_brackets_in_quotes_and_comments_do_not_close() -> None:
    text = '{ .echo "}"; $$ } ;k }'
    assert closing(text, 0) == len(text) - 1
    assert closing("{ { }", 0) is None
