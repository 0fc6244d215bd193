"""Requests as a recorded host wrote them, and the replies of a real kernel."""

from __future__ import annotations

import pytest

from kdive.errors import FormatError
from kdive.wire.kd import requests
from kdive.wire.kd.packets import Packet, PacketParser, PacketType
from kdive.wire.kd.requests import Api, Reply, parse_reply
from tests.wire.kd.recordings import recording

CONTEXT_ALL = 0x10001F


@pytest.fixture(scope="module")
def exchange() -> list[tuple[bytes, Reply | None]]:
    """Each request of the session with its reply, in order."""
    parsers = {"host": PacketParser(), "target": PacketParser()}
    found: list[tuple[bytes, Reply | None]] = []
    for direction, data in recording("errors-and-resync"):
        for item in parsers[direction].feed(data):
            if isinstance(item, Packet) and not item.control and item.type == PacketType.STATE_MANIPULATE:
                if direction == "host":
                    found.append((item.payload, None))
                else:
                    found[-1] = (found[-1][0], parse_reply(item.payload))
    return found


def reply_to(exchange: list[tuple[bytes, Reply | None]], payload: bytes) -> Reply:
    """The reply to exactly this request, byte for byte as the recorded host wrote it."""
    found = next((reply for sent, reply in exchange if sent == payload and reply is not None), None)
    assert found is not None, payload.hex()
    return found


def test_the_version_names_the_kernel(exchange: list[tuple[bytes, Reply | None]]) -> None:
    version = requests.parse_version(reply_to(exchange, requests.get_version()))
    assert (version.major, version.build, version.machine) == (0xC, 3790, 0x8664)
    assert version.kernel_base == 0xFFFFF80000400000
    assert version.module_list == 0xFFFFF800005FF0C8


def test_contexts_come_whole_and_in_parts(exchange: list[tuple[bytes, Reply | None]]) -> None:
    whole = reply_to(exchange, requests.get_context(CONTEXT_ALL, 0))
    part = reply_to(exchange, requests.get_context_part(0, 0x4D0, 0))
    assert len(whole.data) == len(part.data) == 0x4D0
    assert whole.data[0x30:0x34] == CONTEXT_ALL.to_bytes(4, "little")


def test_control_space_may_come_longer_than_asked(exchange: list[tuple[bytes, Reply | None]]) -> None:
    reply = reply_to(exchange, requests.read_control_space(2, 0xA8, 0))
    # The tail is stale memory: whoever writes it back destroys the target's registers.
    assert (reply.u32(12), len(reply.data)) == (0xD8, 0xD8)


def test_memory_that_is_there_in_part_comes_in_part(exchange: list[tuple[bytes, Reply | None]]) -> None:
    partial = reply_to(exchange, requests.read_memory(0xFFFFF78000000FF0, 0x40))
    assert partial.failed
    assert len(requests.transferred(partial)) == 16
    missing = reply_to(exchange, requests.read_memory(0x10, 0x10))
    assert missing.failed
    assert requests.transferred(missing) == b""
    good = reply_to(exchange, requests.read_memory(0xFFFFF78000000000, 0x400))
    assert not good.failed
    assert len(requests.transferred(good)) == 0x400


def test_physical_memory_ports_and_registers(exchange: list[tuple[bytes, Reply | None]]) -> None:
    assert len(requests.transferred(reply_to(exchange, requests.read_memory(0x1000, 0x20, physical=True)))) == 0x20
    assert reply_to(exchange, requests.read_memory(0x7FF000000000, 0x20, physical=True)).failed
    assert requests.msr_value(reply_to(exchange, requests.read_msr(0xC0000082, 0))) == 0xFFFFF80000405545
    assert reply_to(exchange, requests.read_io(0x3FD, 1)).u32(12) == 0x60
    assert reply_to(exchange, requests.get_bus_data(0, 0, 0, 0x40)).failed


def test_breakpoints_get_handles_and_a_second_at_one_place_is_refused(
    exchange: list[tuple[bytes, Reply | None]],
) -> None:
    sent = [
        reply
        for payload, reply in exchange
        if payload == requests.write_breakpoint(0xFFFFF800005055A0 + 0x800) or payload[:2] == b"\x34\x31"
    ]
    replies = [reply for reply in sent if reply is not None]
    assert [reply.failed for reply in replies[:3]] == [False, False, True]
    assert [requests.breakpoint_handle(reply) for reply in replies[:2]] == [1, 2]
    assert not reply_to(exchange, requests.restore_breakpoint(1)).failed


def test_going_on_and_stepping_are_written_as_recorded(exchange: list[tuple[bytes, Reply | None]]) -> None:
    written = [payload for payload, _ in exchange]
    assert requests.resume(requests.DBG_CONTINUE, trace=False) in written
    assert requests.resume(requests.DBG_CONTINUE, trace=True) in written


def test_an_unknown_request_is_refused_by_the_target(exchange: list[tuple[bytes, Reply | None]]) -> None:
    refused = [reply for payload, reply in exchange if payload[:2] == b"\x7f\x31" and reply is not None]
    assert refused
    assert all(reply.failed for reply in refused)


def test_a_short_reply_is_an_error() -> None:
    with pytest.raises(FormatError, match="a reply of 10 bytes"):
        parse_reply(bytes(10))


def test_a_partial_context_is_staged_in_chunks() -> None:
    payload = requests.set_context_part(0x200, b"abc", 0x4D0, 3)
    reply = parse_reply(payload)
    assert (reply.api, reply.processor) == (Api.SET_CONTEXT_EX, 3)
    assert (reply.u32(0), reply.u32(4), reply.u32(8), reply.data) == (0x200, 3, 0x4D0, b"abc")
