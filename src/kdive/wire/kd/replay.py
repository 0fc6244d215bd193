"""A recorded target that answers again.

A recording is cut into moments: what the target says until it stops, and what it is asked while it stands. The replayed
target keeps numbers and acknowledgements of its own, so neither the timing nor the repeats of the recorded line matter.
A request is answered as it was in the present moment; memory that was read then in other pieces is put together from
them. What was never asked is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.wire.kd.packets import INITIAL_ID, SYNC, BreakIn, Damage, Packet, PacketParser, PacketType
from kdive.wire.kd.requests import HEADER_SIZE, Api, parse_reply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdive.wire.kd.transcript import Chunk

_SENDS_ON = (Api.CONTINUE, Api.CONTINUE2, Api.REBOOT, Api.CAUSE_BUGCHECK, Api.SWITCH_PROCESSOR)
_READS = (Api.READ_VIRTUAL, Api.READ_PHYSICAL)
_UNSUCCESSFUL = 0xC0000001
_STATUS = slice(8, 12)
_COUNT = slice(28, 32)

Key = tuple[int | bytes, ...]


@dataclass
class Said:
    """A packet that the target sent unasked.

    Attributes:
        type: What it carries.
        payload: Its payload.
        anew: Whether the target had begun to number its packets anew.
        asked: Whether the host had asked the target to stop before.
    """

    type: int
    payload: bytes
    anew: bool = False
    asked: bool = False


@dataclass
class Moment:
    """What the target said until it stood, and what it was asked then.

    Attributes:
        said: Its packets in order, the stop last.
        asked: Requests with their replies, in order.
        sent_on: The request that ended the moment, empty if the recording ends in it.
    """

    said: list[Said] = field(default_factory=list[Said])
    asked: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    sent_on: bytes = b""

    @cached_property
    def places(self) -> dict[Key, list[int]]:
        """Where in ``asked`` each question is, in order."""
        found: dict[Key, list[int]] = {}
        for index, (request, _) in enumerate(self.asked):
            found.setdefault(key_of(request), []).append(index)
        return found

    @cached_property
    def reads(self) -> list[tuple[int, int, bytes]]:
        """What was read of memory, the latest first: request, address, data."""
        replies = (parse_reply(reply) for _, reply in reversed(self.asked))
        return [(reply.api, reply.u64(0), reply.data) for reply in replies if reply.api in _READS]


def key_of(request: bytes) -> Key:
    """What makes two requests the same question."""
    parsed = parse_reply(request)
    match parsed.api:
        case Api.GET_VERSION:
            return (parsed.api,)
        case Api.GET_CONTEXT:
            return (parsed.api, parsed.processor)
        case Api.READ_CONTROL_SPACE:
            return (parsed.api, parsed.processor, parsed.u64(0))
        case Api.READ_VIRTUAL | Api.READ_PHYSICAL:
            return (parsed.api, parsed.u64(0), parsed.u32(8))
        case _:
            return (parsed.api, parsed.processor, request[16:])


class _Cutter:
    """Cuts a recording into moments."""

    def __init__(self) -> None:
        self.moments = [Moment()]
        self._standing = False
        self._request = b""
        self._last: dict[str, Packet] = {}
        self._asked_to_stop = False
        self._asked_anew = True

    def take(self, direction: str, item: Packet | BreakIn | Damage) -> None:
        match item:
            case BreakIn():
                self._asked_to_stop |= direction == "host"
            case Packet(type=PacketType.RESET, control=True):
                self._asked_anew |= direction == "host"
                self._last.clear()
            case Packet(control=False):
                if self._last.get(direction) == item:
                    return
                self._last[direction] = item
                if direction == "host":
                    self._host(item)
                else:
                    self._target(item)
            case _:
                pass

    def _host(self, packet: Packet) -> None:
        if packet.type != PacketType.STATE_MANIPULATE or len(packet.payload) < HEADER_SIZE:
            return
        if int.from_bytes(packet.payload[:4], "little") in _SENDS_ON:
            self.moments[-1].sent_on = packet.payload
            self.moments.append(Moment())
            self._standing = self._asked_to_stop = False
            self._request = b""
        else:
            self._request = packet.payload

    def _target(self, packet: Packet) -> None:
        if packet.type == PacketType.STATE_MANIPULATE:
            if self._request and packet.payload[:4] == self._request[:4]:
                self.moments[-1].asked.append((self._request, packet.payload))
                self._request = b""
            return
        anew = bool(packet.id & SYNC) and not self._asked_anew
        self._asked_anew = False
        if anew and self._standing:
            # It restarted without being sent on.
            self.moments.append(Moment())
            self._standing = False
        if packet.type == PacketType.STATE_CHANGE64:
            if self._standing:
                # The same stop, reported again after a reset.
                return
            self._standing = True
        self.moments[-1].said.append(Said(packet.type, packet.payload, anew, self._asked_to_stop))


def cut(chunks: Iterable[Chunk]) -> list[Moment]:
    """Cut a recording into moments.

    Raises:
        FormatError: There is nothing in it that a target has said.
    """
    parsers = {"host": PacketParser(), "target": PacketParser()}
    cutter = _Cutter()
    for chunk in chunks:
        for item in parsers[chunk.direction].feed(chunk.data):
            cutter.take(chunk.direction, item)
    moments = cutter.moments
    while moments and not moments[-1].said:
        moments.pop()
    if not moments:
        raise FormatError("no packet of a KD target is in it", where="recording")
    return moments


class ReplayedTarget:
    """The target's end of a link, fed with the host's bytes.

    Args:
        moments: The recording.

    Attributes:
        refused: Requests that were not in the recording.
        diverged: How often the target was sent on in another way than it was.
    """

    def __init__(self, moments: list[Moment]) -> None:
        self.refused = 0
        self.diverged = 0
        self._moments = moments
        self._index = 0
        self._cursor = 0
        self._to_say = list(moments[0].said)
        self._stop: Said | None = None
        self._held = True
        self._parser = PacketParser()
        self._out = bytearray()
        self._queue: list[tuple[int, bytes, bool]] = []
        self._under_way: Packet | None = None
        self._id, self._expected = INITIAL_ID, INITIAL_ID

    @property
    def ended(self) -> bool:
        """Whether the target runs and nothing more of it was recorded."""
        return self._index >= len(self._moments) and not self._out and self._under_way is None

    def outgoing(self) -> bytes:
        """Take the bytes that the target sends."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def receive(self, data: bytes) -> None:
        """Take bytes of the host."""
        for item in self._parser.feed(data):
            match item:
                case BreakIn():
                    self._held = False
                    self._say()
                case Packet(type=PacketType.RESET, control=True):
                    self._reset()
                case Packet(type=PacketType.RESEND, control=True):
                    if self._under_way is not None:
                        self._out += self._under_way.encode()
                case Packet(type=PacketType.ACKNOWLEDGE, control=True):
                    self._acknowledged(item.id)
                case Packet(control=False):
                    self._out += Packet(PacketType.ACKNOWLEDGE, item.id & ~SYNC, control=True).encode()
                    if item.id & ~SYNC == self._expected:
                        self._expected ^= 1
                        if item.type == PacketType.STATE_MANIPULATE and len(item.payload) >= HEADER_SIZE:
                            self._asked(item.payload)
                case _:
                    pass

    # --- the link --------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._out += Packet(PacketType.RESET, 0, control=True).encode()
        self._id, self._expected, self._under_way = INITIAL_ID | SYNC, INITIAL_ID, None
        self._queue.clear()
        self._held = False
        if self._stop is not None:
            self._send(self._stop.type, self._stop.payload)
        else:
            self._say()

    def _acknowledged(self, id_: int) -> None:
        if self._under_way is not None and id_ & ~SYNC == self._under_way.id & ~SYNC:
            self._under_way = None
            self._id = (self._id & ~SYNC) ^ 1
            self._advance()

    def _send(self, type_: int, payload: bytes, *, anew: bool = False) -> None:
        self._queue.append((type_, payload, anew))
        self._advance()

    def _advance(self) -> None:
        if self._under_way is None and self._queue:
            type_, payload, anew = self._queue.pop(0)
            if anew:
                self._id, self._expected = INITIAL_ID | SYNC, INITIAL_ID
            self._under_way = Packet(type_, self._id, payload)
            self._out += self._under_way.encode()

    # --- what it says ----------------------------------------------------------------------------------------------

    def _say(self) -> None:
        """Say what comes next; a stop that was asked for then waits to be asked for."""
        while self._to_say:
            said = self._to_say[0]
            stop = said.type == PacketType.STATE_CHANGE64
            if stop and said.asked and self._held:
                return
            del self._to_say[0]
            self._send(said.type, said.payload, anew=said.anew)
            if stop:
                self._stop = said

    def _asked(self, request: bytes) -> None:
        if self._stop is None:
            return
        if int.from_bytes(request[:4], "little") in _SENDS_ON:
            self._sent_on(request)
            return
        reply = self._reply(request)
        if reply is None:
            self.refused += 1
            reply = bytearray(request[:HEADER_SIZE])
            reply[_STATUS] = _UNSUCCESSFUL.to_bytes(4, "little")
            if int.from_bytes(request[:4], "little") in _READS:
                reply[_COUNT] = bytes(4)
        self._send(PacketType.STATE_MANIPULATE, bytes(reply))

    def _sent_on(self, request: bytes) -> None:
        recorded = self._moments[self._index].sent_on
        self.diverged += bool(recorded) and key_of(recorded) != key_of(request)
        self._stop = None
        self._held = True
        self._cursor = 0
        self._index += 1
        self._to_say = list(self._moments[self._index].said) if self._index < len(self._moments) else []
        self._say()

    def _reply(self, request: bytes) -> bytes | None:
        key = key_of(request)
        moment = self._moments[self._index]
        places = moment.places.get(key)
        if places:
            # As it was asked next, else as it was asked last.
            index = next((place for place in places if place >= self._cursor), places[-1])
            self._cursor = max(self._cursor, index + 1)
            return moment.asked[index][1]
        if parse_reply(request).api in _READS:
            return self._covered(request)
        return None

    def _covered(self, request: bytes) -> bytes | None:
        """Answer a read from what was read in other pieces, in this moment or the latest one before."""
        parsed = parse_reply(request)
        start, size = parsed.u64(0), parsed.u32(8)
        for moment in self._moments[self._index :: -1]:
            for api, address, known in moment.reads:
                offset = start - address
                if api == parsed.api and 0 <= offset < len(known):
                    data = known[offset : offset + size]
                    status = 0 if len(data) == size else _UNSUCCESSFUL
                    head = bytearray(request[:HEADER_SIZE])
                    head[_STATUS] = status.to_bytes(4, "little")
                    head[_COUNT] = len(data).to_bytes(4, "little")
                    return bytes(head) + data
        return None
