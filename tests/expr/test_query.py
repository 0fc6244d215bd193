"""Queries over objects, sequences, strings and typed memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import CancelledError, ExpressionError, KdiveError
from kdive.expr.query.evaluator import Objects, evaluate_query
from kdive.expr.query.model import ModelObject, Sequence, numbered
from kdive.expr.values import Value
from tests.expr.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.expr.query.model import ModelValue

PEOPLE = [("System", 4, 3), ("smss", 420, 1), ("svchost", 900, 2), ("svchost", 904, 3)]


def people(rows: list[tuple[str, int, int]] = PEOPLE) -> Sequence:
    def pairs() -> Iterator[tuple[int, ModelValue]]:
        for name, pid, threads in rows:
            parts = numbered(lambda threads=threads: (Value(number) for number in range(threads)))
            yield (
                pid,
                ModelObject(
                    name,
                    {
                        "Name": lambda name=name: name,
                        "Id": lambda pid=pid: Value(pid),
                        "Threads": lambda parts=parts: parts,
                        "Nothing": lambda: None,
                    },
                    {"Plus": lambda number, pid=pid: Value(pid + number.number)},
                ),
            )

    return Sequence(pairs)


def plain(value: ModelValue) -> object:
    match value:
        case Value():
            return value.number
        case Sequence():
            return [plain(item) for item in value.values()]
        case ModelObject():
            return value.display or {name: plain(value.get(name)) for name in value.names()}
        case _:
            return value


def run(text: str) -> object:
    objects = Objects({"P": people}, {"first": lambda: people().at(4)}, lambda value: f"<{plain(value)}>", lambda: None)
    return plain(evaluate_query(text, World(), objects))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P.Count()", 4),
        ("P.Count(p => p.Id > 500)", 2),
        ('P.Where(p => p.Name == "svchost").Select(p => p.Id)', [900, 904]),
        ('P.Where((p) => p.Name.Contains("s") && !p.Name.StartsWith("sv")).First().Name', "System"),
        ("P.OrderBy(p => p.Name).Select(p => p.Id)", [4, 420, 900, 904]),
        ("P.OrderByDescending(p => p.Id).Select(p => p.Id)", [904, 900, 420, 4]),
        ("P.Any(p => p.Id == 4)", 1),
        ("P.Any(p => p.Id == 5)", 0),
        ("P.All(p => p.Id >= 4)", 1),
        ("P.Last().Id", 904),
        ("P.Skip(1).Take(2).Select(p => p.Id)", [420, 900]),
        ("P.TakeWhile(p => p.Id < 900).Count()", 2),
        ("P.SkipWhile(p => p.Id < 900).Count()", 2),
        ("P.Flatten(p => p.Threads).Count()", 9),
        ("P.Select(p => p.Threads).Flatten()", [0, 1, 2, 0, 0, 1, 0, 1, 2]),
        (
            "P.GroupBy(p => p.Name).Select(g => new { N = g.Key, C = g.Count, I = g.Values.Select(p => p.Id) })",
            [
                {"N": "System", "C": 1, "I": [4]},
                {"N": "smss", "C": 1, "I": [420]},
                {"N": "svchost", "C": 2, "I": [900, 904]},
            ],
        ),
        ("P.Select(p => p.Name).Distinct().Count()", 3),
        ("P.Select(p => p.Id).Contains(420)", 1),
        ("P.Select(p => p.Id).Sum()", 2228),
        ("P.Sum(p => p.Threads.Count())", 9),
        ("P.Min(p => p.Id)", 4),
        ("P.Max(p => p.Name)", "svchost"),
        ("P.Select(p => p.Id).Concat(P.Select(p => 1)).Count()", 8),
        ("P.Select(p => p.Id).Reverse()", [904, 900, 420, 4]),
        ("P[420].Name", "smss"),
        ("P[0x1a4].name", "smss"),
        ("@$first.Plus(3)", 7),
        ("@$first.Nothing == @$first.Nothing", 1),
        ('"ab" + "cd"', "abcd"),
        ('"abcd".Substring(1, 2).ToUpper()', "BC"),
        ('"abc".IndexOf("c") + "abc".Length', 5),
        ('"a" < "b" ? 1 : 2', 1),
        ("P.First().ToDisplayString()", "<System>"),
        ('new { A = 1 + 1, B = "x" }', {"A": 2, "B": "x"}),
        # Typed memory by the C++ rules, pointers followed by either spelling.
        ("((nt!_EPROCESS*)@$proc)->Pid", 420),
        ("@$proc.Pid", 420),
        ("@$proc->Parent.Inner.Low", 7),
        ("@$proc->Words[1]", 0x2222),
        ("@$proc->Words.Select(w => w & 0xff)", [0x11, 0x22, 0x33, 0xFF]),
        ("@$proc->Words.Where(w => w > 0x3000).Count()", 2),
        ("sizeof(nt!_EPROCESS) + (int)-1", 0x3F),
        ("@rax + 1", 0x11),
    ],
)
def test_queries(text: str, expected: object) -> None:
    assert run(text) == expected


def test_inner_lambdas_see_the_parameters_around_them_even_when_walked_later() -> None:
    assert run("P.Select(p => p.Threads.Where(t => t < p.Threads.Count() - 1).Count())") == [2, 0, 1, 2]
    assert run("P.Select(p => p.Threads.Select(t => t + p.Id))")[3] == [904, 905, 906]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("P.Wher(p => 1)", "a sequence has no method 'Wher'", "it has Where"),
        ("P.Where(1)", "a lambda is needed", None),
        ("P.Where()", "Where takes 1 argument(s), not 0", None),
        ("P.First().Nam", "System has no property 'Nam'", "it has Name, Id, Threads, Nothing"),
        ("P.Name", "a sequence has no property 'Name'", "Select(x => x.Name)"),
        ("P.First() + 1", "'+' cannot take an object and a value", None),
        ("P.OrderBy(p => p)", "an object has no order", "compare one of its properties"),
        ("P[5]", "there is no element [0x5]", None),
        ("P.First(p => p.Id == 1)", "no element is first", None),
        ('"a" * "b"', "strings do not know '*'", None),
        ('"a".Foo()', "a string has no method 'Foo'", None),
        ("@$first.Foo()", "an object has no method 'Foo'", "it has Plus"),
        ("new { 1 }", "name = value is expected", None),
        ('P.Take("a")', "a number is needed, not a string", None),
        ("P.Where(p => p.Id", "')' expected", None),
    ],
)
def test_mistakes_are_named_with_their_place(text: str, what: str, hint: str | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        run(text)
    assert what in caught.value.what
    # What goes wrong while a sequence is walked has no place in the text.
    assert caught.value.text in (text, "")
    assert hint is None or (caught.value.hint is not None and hint in caught.value.hint)


def test_an_endless_sequence_ends_with_the_cancel_check() -> None:
    steps = iter(range(1000))

    def check() -> None:
        if next(steps, None) is None:
            raise CancelledError

    def forever() -> Iterator[ModelValue]:
        while True:
            yield Value(0)

    objects = Objects({"E": lambda: numbered(forever)}, {}, lambda _: "", check)
    with pytest.raises(CancelledError):
        evaluate_query("E.Where(x => x == 1).Count()", World(), objects)


@given(st.text(alphabet="P.()=>px\"'{}[]new,WhereSelctId @$+1!&* ", max_size=40))
def test_any_text_gives_a_value_or_an_error_of_ours(text: str) -> None:
    try:
        run(text)
    except KdiveError:
        return


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99), st.integers(0, 3)), max_size=12))
def test_sequence_methods_agree_with_python(rows: list[tuple[str, int, int]]) -> None:
    def ask(text: str) -> object:
        return plain(evaluate_query(text, World(), Objects({"P": lambda: people(rows)}, {}, str, lambda: None)))

    assert ask("P.Where(p => p.Id > 50).Select(p => p.Name)") == [name for name, pid, _ in rows if pid > 50]
    assert ask("P.OrderBy(p => p.Id).Select(p => p.Id)") == sorted(pid for _, pid, _ in rows)
    assert ask("P.Select(p => p.Name).Distinct()") == list(dict.fromkeys(name for name, _, _ in rows))
    assert ask("P.Flatten(p => p.Threads).Count()") == sum(threads for _, _, threads in rows)
    assert ask("P.GroupBy(p => p.Name).Sum(g => g.Count)") == len(rows)
