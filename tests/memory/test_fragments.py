"""Memory of loose pieces against a plain dictionary."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import MemoryAccessError
from kdive.memory.fragments import FragmentMemory

pieces = st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=20)), max_size=12)


@given(pieces, st.integers(0, 80), st.integers(0, 80))
def test_reads_equal_those_of_a_dictionary(parts: list[tuple[int, bytes]], address: int, size: int) -> None:
    plain: dict[int, int] = {}
    for start, data in parts:
        for index, byte in enumerate(data):
            plain.setdefault(start + index, byte)
    memory = FragmentMemory([(start, memoryview(data)) for start, data in parts])
    found = {at + index: byte for at, data in memory.read_available(address, size) for index, byte in enumerate(data)}
    assert found == {at: byte for at, byte in plain.items() if address <= at < address + size}
    runs = memory.read_available(address, size)
    assert all(a + len(data) < b for (a, data), (b, _) in itertools.pairwise(runs))
    covered = {at for region in memory.regions() for at in range(region.start, region.end)}
    assert covered == set(plain)


def test_an_absent_byte_is_named() -> None:
    memory = FragmentMemory([(0x100, memoryview(b"abcd"))], "not in the dump")
    with pytest.raises(MemoryAccessError) as caught:
        memory.read(0x102, 4)
    assert caught.value.address == 0x104
    assert caught.value.reason == "not in the dump"


def test_scalars_and_strings() -> None:
    memory = FragmentMemory(
        [(0, memoryview(b"\x01\x02\x03\x04\x05\x06\x07\x08hello\0" + "wide\0".encode("utf-16-le")))]
    )
    assert memory.u8(0) == 1
    assert memory.u16(0) == 0x0201
    assert memory.u32(0) == 0x04030201
    assert memory.u64(0) == 0x0807060504030201
    assert memory.cstring(8) == "hello"
    assert memory.wstring(14) == "wide"
