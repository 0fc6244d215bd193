from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.errors import ExpressionError
from kdive.expr.evaluator import evaluate
from kdive.expr.functions import matches
from kdive.symbols.interface import wildcard
from tests.expr.world import World


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("NtClose", "nt*", True),
        ("NtClose", "nt", False),
        ("NtClose", "*c*s?", True),
        ("abc", "a[a-c]c", True),
        ("adc", "a[a-c]c", False),
        ("ac", "ab#c", True),
        ("abbbc", "ab#c", True),
        ("ac", "ab+c", False),
        ("abbc", "ab+c", True),
        ("a*c", "a\\*c", True),
        ("abc", "a\\*c", False),
        ("", "*", True),
        ("", "?", False),
    ],
)
def test_wildcards(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, pattern) is expected


@given(st.text("aAb*", max_size=8), st.text("ab*?#+", max_size=7))
@settings(max_examples=500, deadline=None)
def test_wildcards_agree_with_those_of_symbol_search(text: str, pattern: str) -> None:
    assert matches(text, pattern) == (wildcard(pattern).fullmatch(text) is not None)


@pytest.mark.timeout(20)
def test_no_wildcard_takes_long() -> None:
    assert not matches("a" * 2000, "a##########b")
    assert not matches("a" * 2000, "*a" * 40 + "b")
    assert wildcard("a##########b").fullmatch("a" * 60) is None


def test_bad_set_is_refused_at_its_column() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate('1 + $spat("a", "[z-a]")', World())
    assert caught.value.column == 4
