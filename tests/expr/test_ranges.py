from __future__ import annotations

import pytest

from kdive.errors import ExpressionError
from kdive.expr.ranges import parse_range
from tests.expr.world import STACK, World


@pytest.mark.parametrize(
    ("text", "size", "start", "count", "rest"),
    [
        ("rsp", 4, STACK, 32, ""),
        ("rsp l8", 8, STACK, 8, ""),
        ("poi(nt!PsInitialSystemProcess) L10", 1, 0xFFFFC00012340000, 16, ""),
        ("@rsp L?100 4d 5a", 1, STACK, 0x100, "4d 5a"),
        ("rsp L0n10", 4, STACK, 10, ""),
        ("rsp L 10", 4, STACK, 16, ""),
        ("rsp L(2*3)", 4, STACK, 6, ""),
        ("rsp L@rbx", 4, STACK, 3, ""),
        ("rsp Lpoi(rsp) & 0f", 4, STACK, 0, ""),
        ("rsp L-2", 8, STACK - 16, 2, ""),
        ("1000 100f", 1, 0x1000, 16, ""),
        ("1000 100f", 4, 0x1000, 4, ""),
        ("1000 1010", 4, 0x1000, 5, ""),
        ("1000 1000", 4, 0x1000, 1, ""),
        ("1000 20", 4, 0x1000, 8, ""),
        ("1000 rsp+7 x", 1, 0x1000, 8, "x"),
        ('rsp "text"', 1, STACK, 32, '"text"'),
        ("0 L?7fffffff 4d", 1, 0, 0x7FFFFFFF, "4d"),
        ("ffffffff`fffffff0", 8, 0xFFFFFFFFFFFFFFF0, 2, ""),
    ],
)
def test_ranges(text: str, size: int, start: int, count: int, rest: str) -> None:
    if count == 0:
        with pytest.raises(ExpressionError, match="empty"):
            parse_range(text, World(), size, 32)
        return
    found = parse_range(text, World(), size, 32)
    assert (found.start, found.count, found.rest) == (start, count, rest)
    assert found.size == count * size
    assert found.end == start + found.size


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "missing"),
        ("rsp L0", "empty"),
        ("rsp L", "count"),
        ("rsp L10000001", "256 MiB"),
        ("0 10000001", "256 MiB"),
        ("10 L-20", "leaves"),
        ("ffffffff`ffffffff L2", "leaves"),
        ("ffffffff`ffffffff L?ffffffff`ffffffff", "leaves"),
        ("rsp Lzz", "resolve"),
        ("1000 0", "empty"),
    ],
)
def test_wrong_ranges(text: str, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        parse_range(text, World(), 1, 32)


def test_question_mark_lifts_the_limit() -> None:
    assert parse_range("0 L?100000000", World(), 1, 1).count == 1 << 32


def test_limit_counts_bytes_not_elements() -> None:
    assert parse_range("0 L8000000", World(), 2, 1).size == 256 << 20
    with pytest.raises(ExpressionError, match="256 MiB"):
        parse_range("0 L8000001", World(), 2, 1)


def test_end_can_be_left_to_the_command() -> None:
    assert parse_range("rsp 5", World(), 1, 16, allow_end=False).rest == "5"


def test_errors_point_into_the_whole_text() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_range("rsp L @nosuch", World(), 1, 16)
    assert (caught.value.text, caught.value.column) == ("rsp L @nosuch", 6)
