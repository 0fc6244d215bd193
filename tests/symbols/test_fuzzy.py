"""Names by parts of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.symbols.fuzzy import parse_terms, score, widest_pattern
from kdive.symbols.interface import wildcard

NAMES = [
    "KeBugCheckEx",
    "KeBugCheck",
    "KiBugCheckDispatch",
    "MmAllocatePagesForMdl",
    "ExFreePoolWithTag",
    "ExAllocatePool2",
    "MiFreePoolPages",
    "KdpStub",
]


def best(query: str) -> list[str]:
    terms = parse_terms(query)
    pattern = wildcard(widest_pattern(terms))
    ranked = [(score(name, terms), name) for name in NAMES if pattern.fullmatch(name)]
    return [name for rank, name in sorted(ranked, key=lambda pair: (-(pair[0] or 0), len(pair[1]))) if rank is not None]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kebug", ["KeBugCheck", "KeBugCheckEx"]),
        ("kbc", ["KeBugCheck", "KeBugCheckEx", "KiBugCheckDispatch"]),
        ("bugcheck ex$", ["KeBugCheckEx"]),
        ("^mm alloc", ["MmAllocatePagesForMdl"]),
        ("'pool free !ex", ["MiFreePoolPages"]),
        ("pool alloc", ["ExAllocatePool2"]),
        ("freepool", ["MiFreePoolPages", "ExFreePoolWithTag"]),
        ("nothing", []),
        ("'kbc", []),
    ],
)
def test_the_name_meant_comes_first(query: str, expected: list[str]) -> None:
    assert best(query) == expected


@given(st.text(alphabet="KeBugCheckEx_", min_size=1, max_size=12), st.data())
def test_letters_in_order_always_match_and_the_wildcard_lets_them_through(name: str, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    query = "".join(letter for letter, keep in zip(name, kept, strict=True) if keep)
    terms = parse_terms(query)
    if terms:
        assert score(name, terms) is not None
        assert wildcard(widest_pattern(terms)).fullmatch(name)
