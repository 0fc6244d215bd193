"""The bounds that hold while damaged inputs are read do catch something."""

from __future__ import annotations

import time

import pytest

from tests.fuzz.limits import BYTES, SECONDS, bounded


def compute_for(seconds: float) -> None:
    start = time.process_time()
    while time.process_time() - start <= seconds:
        pass


def test_a_huge_allocation_is_caught() -> None:
    with pytest.raises(MemoryError), bounded("this"):
        bytearray(2 * BYTES)


def test_a_long_computation_is_caught() -> None:
    with pytest.raises(AssertionError, match="this took"), bounded("this"):
        compute_for(SECONDS)


def test_the_bound_on_memory_ends_with_the_body() -> None:
    with bounded("this"):
        pass
    assert len(bytearray(BYTES + (64 << 20)))
