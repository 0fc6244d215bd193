"""The formats of .printf."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import KdiveError
from kdive.expr.printf import format_printf
from tests.expr.scope import BASE, World


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"%d", 0n10', "10"),
        ('"%x %X", ab, ab', "ab AB"),
        ('"%5d|%-5d|%05d", 1, 1, 1', "    1|1    |00001"),
        ('"%d", -1', "-1"),
        ('"%u", ffffffff', "4294967295"),
        ('"%I64x", rsp', f"{BASE:x}"),
        ('"%p", 10', "0000000000000010"),
        ('"%N", rsp', "fffff800`00001000"),
        ('"%y", nt!Function', "nt!Function+0x0"),
        ('"%c", 41', "A"),
        ('"%%"', "%"),
        ('"a\\tb\\n"', "a\tb\n"),
        ('"%ma", rsp+41', "".join(map(chr, range(0x41, 0x80))) + "\ufffd" * 128),
        ('"%d %d", 1', "1 %d"),
        ('"%s", "text"', "text"),
        ('"%d", (1 + 2)', "3"),
    ],
)
def test_conversions(text: str, shown: str) -> None:
    assert format_printf(text, World()) == shown


def test_a_missing_format_is_an_error() -> None:
    with pytest.raises(KdiveError):
        format_printf("%d, 1", World())


@given(st.text(max_size=40))
def test_no_format_raises_anything_but_our_errors(text: str) -> None:
    with contextlib.suppress(KdiveError):
        format_printf(f'"{text}", 1, 2', World())
