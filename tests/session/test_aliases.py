from __future__ import annotations

import pytest

from kdive.errors import CommandError, UsageError
from kdive.session.aliases import AliasTable


def table(**aliases: str) -> AliasTable:
    made = AliasTable()
    for name, equivalent in aliases.items():
        made.set(name, equivalent)
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "k 10"),
        (" x ", " k 10 "),
        ("x;x", "k 10;k 10"),
        ("xy", "xy"),
        ("yx", "yx"),
        ("${x}y", "k 10y"),
        ("y${x}", "yk 10"),
        ("x${x}", "xk 10"),
        ("${x}x", "k 10x"),
        ("${nosuch}", "${nosuch}"),
        ("${/n:x} ${/n:nosuch}", "x ${/n:nosuch}"),
        ("${/d:x}${/d:nosuch}", "10"),
        ("[${/f:x}] [${/f:nosuch}]", "[k 10] []"),
        ("${/v:x}", "${/v:x}"),
        ("as x y", "as x y"),
        ("ad x", "ad x"),
        ("as y ${x}", "as y k 10"),
        ("ask x", "ask k 10"),
        ("outer", "k 10 20"),
        ("self", "self 1"),
        ("(x)", "(x)"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert table(x="k 10", outer="x 20", self="self 1").expand(text) == expected


def test_set_replace_delete_and_list() -> None:
    aliases = table(a="1", b="2")
    aliases.set("${/v:a}", "3")
    assert aliases.items() == [("a", "3"), ("b", "2")]
    aliases.delete("a")
    assert aliases.get("a") is None
    with pytest.raises(CommandError, match="no alias"):
        aliases.delete("a")
    aliases.delete("*")
    assert aliases.items() == []


@pytest.mark.parametrize("name", ["", "a b", "a;b", "{x}", '"x"'])
def test_impossible_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        AliasTable().set(name, "k")


def test_deep_nesting_is_refused() -> None:
    aliases = table(**{f"a{i}": f"a{i + 1}" for i in range(30)})
    with pytest.raises(CommandError, match="nested too deeply"):
        aliases.expand("a0")


def test_exponential_growth_is_refused() -> None:
    aliases = table(**{f"a{i}": " ".join([f"a{i + 1}"] * 20) for i in range(12)})
    with pytest.raises(CommandError, match="too long"):
        aliases.expand("a0")


def test_scoped_names_are_restored() -> None:
    aliases = table(x="1")
    with aliases.scoped({"x": "2", "y": "3"}):
        assert aliases.expand("x y") == "2 3"
    assert aliases.items() == [("x", "1")]
