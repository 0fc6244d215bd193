"""Framing: packets out of bytes and into bytes.

A packet has a 16-byte header (leader, type, byte count, id, checksum), for data packets followed by the payload and a
trailer byte. Outside packets a single break-in byte asks the target to stop.

Source: the Windows Driver Kit's ``windbgkd.h``; recorded sessions with a real kernel.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING

from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA_LEADER = 0x30303030
CONTROL_LEADER = 0x69696969
BREAK_IN = b"\x62"
TRAILER = 0xAA
INITIAL_ID = 0x80800000
SYNC = 0x00000800
MAX_PAYLOAD = 0x1000
"""Most bytes of a payload; Windows' serial transport takes and sends at most 4000."""

_HEADER = struct.Struct("<IHHII")
HEADER_SIZE = _HEADER.size


class PacketType(IntEnum):
    """What a packet carries (``PACKET_TYPE_KD_*``)."""

    UNUSED = 0
    STATE_CHANGE32 = 1
    STATE_MANIPULATE = 2
    DEBUG_IO = 3
    ACKNOWLEDGE = 4
    RESEND = 5
    RESET = 6
    STATE_CHANGE64 = 7
    POLL_BREAKIN = 8
    TRACE_IO = 9
    CONTROL_REQUEST = 10
    FILE_IO = 11


class Packet(Record, frozen=True):
    """A packet that arrived whole and with the right checksum, or one to send.

    Attributes:
        type: What it carries; a number outside ``PacketType`` is kept.
        id: Its id, with the sync bit.
        payload: Empty for control packets.
        control: Whether it is a control packet.
    """

    type: int
    id: int
    payload: bytes = b""
    control: bool = False

    def encode(self) -> bytes:
        """Write the packet."""
        if self.control:
            return _HEADER.pack(CONTROL_LEADER, self.type, 0, self.id, 0)
        head = _HEADER.pack(DATA_LEADER, self.type, len(self.payload), self.id, checksum(self.payload))
        return b"".join((head, self.payload, bytes((TRAILER,))))


class BreakIn(Record, frozen=True):
    """The break-in byte."""


class Damage(Record, frozen=True):
    """Bytes that are no packet, or a data packet that cannot be trusted.

    Attributes:
        reason: What is wrong.
        size: How many bytes were dropped.
        packet: Whether it was a data packet, which the receiver must ask for again.
    """

    reason: str
    size: int
    packet: bool = False


Item = Packet | BreakIn | Damage


def checksum(payload: bytes) -> int:
    """The sum of the bytes."""
    return sum(payload) & 0xFFFFFFFF


class PacketParser:
    """Finds packets in a stream that arrives in any pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes that are waiting for the rest of their packet."""
        return len(self._buffer)

    @property
    def missing(self) -> int:
        """Bytes that the packet at the front still lacks, 0 if that cannot be told yet."""
        buffer = self._buffer
        if len(buffer) < HEADER_SIZE or buffer[0] != 0x30:
            return 0
        header: tuple[int, int, int, int, int] = _HEADER.unpack_from(buffer)
        return max(HEADER_SIZE + header[2] + 1 - len(buffer), 0) if header[2] <= MAX_PAYLOAD else 0

    def clear(self) -> None:
        """Drop what is waiting."""
        self._buffer.clear()

    def feed(self, data: bytes) -> Iterator[Item]:
        """Take bytes and yield what they complete."""
        self._buffer += data
        while (item := self._next()) is not None:
            yield item

    def _next(self) -> Item | None:
        buffer = self._buffer
        if not buffer:
            return None
        first = buffer[0]
        if first == BREAK_IN[0]:
            del buffer[:1]
            return BreakIn()
        if first not in (0x30, 0x69):
            return self._drop_junk()
        leader = bytes(buffer[:4])
        if leader != bytes((first,)) * len(leader):
            # A broken leader: what differs may be the start of something else.
            length = next(index for index, byte in enumerate(leader) if byte != first)
            del buffer[:length]
            return Damage("a leader is cut short", length)
        if len(buffer) < HEADER_SIZE:
            return None
        header: tuple[int, int, int, int, int] = _HEADER.unpack_from(buffer)
        _, type_, count, id_, expected = header
        if first == 0x69:
            if count:
                return self._skip_leader("a control packet with a payload")
            del buffer[:HEADER_SIZE]
            return Packet(type_, id_, control=True)
        if count > MAX_PAYLOAD or type_ > 0xFF:
            return self._skip_leader(f"a data packet of type {type_:#x} and {count} bytes", packet=True)
        end = HEADER_SIZE + count
        if len(buffer) < end + 1:
            return None
        payload = bytes(buffer[HEADER_SIZE:end])
        closed = buffer[end] == TRAILER
        if not closed or checksum(payload) != expected:
            # The length itself may be what was damaged: look for a packet inside.
            reason = "a wrong checksum" if closed else "no trailer byte"
            return self._skip_leader(reason, packet=True, whole=end + 1 if closed else 0)
        del buffer[: end + 1]
        return Packet(type_, id_, payload)

    def _skip_leader(self, reason: str, *, packet: bool = False, whole: int = 0) -> Damage:
        size = whole or 4
        del self._buffer[:size]
        return Damage(reason, size, packet)

    def _drop_junk(self) -> Damage:
        buffer = self._buffer
        ends = [place for place in (buffer.find(b"\x30"), buffer.find(b"\x69"), buffer.find(BREAK_IN)) if place > 0]
        size = min(ends, default=len(buffer))
        del buffer[:size]
        return Damage("bytes outside every packet", size)
