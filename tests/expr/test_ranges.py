"""Address ranges."""

from __future__ import annotations

import pytest

from kdive.errors import ExpressionError
from kdive.expr.ranges import parse_range
from tests.expr.scope import BASE, World


@pytest.mark.parametrize(
    ("text", "start", "count", "rest"),
    [
        ("rsp", BASE, 16, ""),
        ("rsp L8", BASE, 8, ""),
        ("rsp l8", BASE, 8, ""),
        ("rsp L 8", BASE, 8, ""),
        ("rsp L0n10", BASE, 10, ""),
        ("rsp+8 L4 41", BASE + 8, 4, " 41"),
        ("rsp L?20000000", BASE, 0x20000000, ""),
        ("rsp L-4", BASE - 16, 4, ""),
        ("rsp rsp+f", BASE, 4, ""),
        ("rsp 20", BASE, 8, ""),
        ("rsp L4 nt!Count", BASE, 4, " nt!Count"),
        ("rsp L(2+2)", BASE, 4, ""),
    ],
)
def test_forms_of_a_range(text: str, start: int, count: int, rest: str) -> None:
    found = parse_range(text, World(), 4, 16)
    assert (found.start, found.count, found.rest) == (start, count, rest)
    assert found.size == count * 4


def test_a_huge_range_needs_a_question_mark() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_range("rsp L10000001", World(), 4, 16)
    assert caught.value.hint == "L?<count> lifts it"


def test_even_a_lifted_range_has_an_end() -> None:
    with pytest.raises(ExpressionError):
        parse_range("rsp L?ffffffffffffffff", World(), 4, 16)
