"""Framing against real sessions, in any split, and against damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.wire.kd.packets import BREAK_IN, BreakIn, Damage, Item, Packet, PacketParser, PacketType, checksum
from tests.wire.kd.recordings import NAMES, Direction, side

# What a session's last packet lacks, and the one packet that was spoilt on purpose.
CUT_OFF = {("breakpoint-and-steps", "target"): 131, ("errors-and-resync", "target"): 119}
SPOILT = {("errors-and-resync", "host"): ["a wrong checksum"]}


def parse(data: bytes, pieces: list[int] | None = None) -> tuple[list[Item], int]:
    parser = PacketParser()
    items: list[Item] = []
    start = 0
    for end in [*(pieces or []), len(data)]:
        items += parser.feed(data[start:end])
        start = end
    return items, parser.pending


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["host", "target"])
def test_real_sessions_decode_without_a_remainder(name: str, direction: Direction) -> None:
    data = side(name, direction)
    items, pending = parse(data)
    assert pending == CUT_OFF.get((name, direction), 0)
    assert [item.reason for item in items if isinstance(item, Damage)] == SPOILT.get((name, direction), [])
    written = b"".join(
        item.encode() if isinstance(item, Packet) else BREAK_IN if isinstance(item, BreakIn) else b"" for item in items
    )
    spoilt = sum(item.size for item in items if isinstance(item, Damage))
    assert len(written) + spoilt + pending == len(data)
    if not spoilt:
        assert written == data[: len(data) - pending]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["host", "target"])
def test_the_split_does_not_matter_byte_by_byte(name: str, direction: Direction) -> None:
    data = side(name, direction)
    assert parse(data, list(range(len(data)))) == parse(data)


@settings(deadline=None)
@given(st.lists(st.integers(0, 20000), max_size=60))
def test_the_split_does_not_matter_anywhere(cuts: list[int]) -> None:
    data = side("errors-and-resync", "target")[:20000]
    assert parse(data, sorted(cut for cut in cuts if cut < len(data))) == parse(data)


PACKETS = st.one_of(
    st.builds(Packet, st.sampled_from([2, 3, 7, 11]), st.integers(0, 0xFFFFFFFF), st.binary(max_size=300)),
    st.builds(Packet, st.sampled_from([4, 5, 6]), st.integers(0, 0xFFFFFFFF), st.just(b""), st.just(True)),
    st.builds(BreakIn),
)


@given(st.lists(PACKETS, max_size=8))
def test_what_is_written_is_read_back(packets: list[Packet | BreakIn]) -> None:
    data = b"".join(packet.encode() if isinstance(packet, Packet) else BREAK_IN for packet in packets)
    assert parse(data) == (packets, 0)


@given(st.lists(PACKETS, min_size=2, max_size=8), st.data())
def test_after_damage_later_packets_are_found_again(packets: list[Packet | BreakIn], data: st.DataObject) -> None:
    whole = [packet.encode() if isinstance(packet, Packet) else BREAK_IN for packet in packets]
    spoilt = bytearray(whole[0])
    place = data.draw(st.integers(0, len(spoilt) - 1))
    spoilt[place] ^= data.draw(st.integers(1, 255))
    # Enough good packets behind it complete whatever length the damaged one claims.
    last = Packet(PacketType.DEBUG_IO, 0x80800000, b"\x01" * 400)
    items, _ = parse(bytes(spoilt) + b"".join(whole[1:]) + last.encode() * 12)
    assert last in items
    assert sum(item == last for item in items) >= 1


@given(st.binary(max_size=2000))
def test_noise_never_raises_and_never_grows(noise: bytes) -> None:
    parser = PacketParser()
    for start in range(0, len(noise), 7):
        for item in parser.feed(noise[start : start + 7]):
            assert isinstance(item, Packet | BreakIn | Damage)
    assert parser.pending <= 0x1000 + 17


def test_the_checksum_is_the_sum_of_the_bytes() -> None:
    assert checksum(b"\xff" * 10) == 2550
    assert checksum(b"") == 0
