"""What crossed a wire, in words and as a recording: one JSON object a line.

A line holds ``t`` (seconds since the start), ``dir`` (``host`` or ``target``: who sent it), ``hex`` (the bytes) and
``note`` (what they are, for people; readers ignore it). Recordings of other programs that have the first three are read
too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast

from kdive.errors import FormatError
from kdive.record import Record
from kdive.wire.kd.packets import BreakIn, Damage, Packet, PacketParser, PacketType
from kdive.wire.kd.requests import Api, parse_reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Direction = Literal["host", "target"]
_DIRECTIONS: tuple[Direction, ...] = ("host", "target")
_MAX_TEXT = 60
_ADDRESSED = (
    Api.READ_VIRTUAL,
    Api.WRITE_VIRTUAL,
    Api.READ_PHYSICAL,
    Api.WRITE_PHYSICAL,
    Api.WRITE_BREAKPOINT,
    Api.READ_CONTROL_SPACE,
    Api.WRITE_CONTROL_SPACE,
)
_STATES = {0x3030: "exception", 0x3031: "load symbols", 0x3032: "command string"}
_STATUS_SUCCESS = 0


class Chunk(Record, frozen=True):
    """Bytes that went in one direction at once.

    Attributes:
        time: Seconds since the start of the recording.
        direction: Who sent them.
        data: The bytes.
    """

    time: float
    direction: Direction
    data: bytes


def describe(item: Packet | BreakIn | Damage, direction: Direction) -> str:
    """Say in a few words what a packet is."""
    match item:
        case BreakIn():
            return "break-in"
        case Damage():
            return f"{item.size} bytes dropped: {item.reason}"
        case Packet():
            name = _packet_name(item.type)
            if item.control:
                return f"{name} {item.id:08x}"
            return f"{name} {item.id:08x} {_payload(item, direction)}".rstrip()


def _packet_name(number: int) -> str:
    try:
        return PacketType(number).name.lower().replace("_", " ")
    except ValueError:
        return f"packet type {number}"


def _payload(packet: Packet, direction: Direction) -> str:
    payload = packet.payload
    kind = int.from_bytes(payload[:4], "little")
    match packet.type:
        case PacketType.STATE_MANIPULATE:
            try:
                return _manipulate(payload, direction)
            except FormatError as error:
                return error.what
        case PacketType.STATE_CHANGE64:
            counter = int.from_bytes(payload[24:32], "little")
            return f"{_STATES.get(kind, hex(kind))} at {counter:016x}"
        case PacketType.DEBUG_IO:
            text = payload[16:].rstrip(b"\0").decode("utf-8", "replace")
            return repr(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…")
        case _:
            return f"{len(payload):#x} bytes"


def _manipulate(payload: bytes, direction: Direction) -> str:
    message = parse_reply(payload)
    try:
        api = Api(message.api)
        words = api.name.lower().replace("_", " ")
    except ValueError:
        return f"request {message.api:#x}"
    if api in _ADDRESSED:
        words += f" {message.u64(0):016x} {message.u32(8):#x}"
    if direction == "target" and message.status != _STATUS_SUCCESS:
        words += f" status {message.status:#x}"
    return words


class Transcriber:
    """Makes the lines of a recording; a packet is named in the line that its last byte is in."""

    def __init__(self) -> None:
        self._parsers = {direction: PacketParser() for direction in _DIRECTIONS}

    def line(self, chunk: Chunk) -> str:
        """The line of a chunk, with its newline."""
        items = self._parsers[chunk.direction].feed(chunk.data)
        note = "; ".join(describe(item, chunk.direction) for item in items) or "part of a packet"
        fields = {"t": round(chunk.time, 4), "dir": chunk.direction, "hex": chunk.data.hex(), "note": note}
        return json.dumps(fields, ensure_ascii=False) + "\n"


def parse_lines(lines: Iterable[str]) -> Iterator[Chunk]:
    """Read the lines of a recording; empty ones are passed over.

    Raises:
        FormatError: A line is not of this form.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = cast("dict[str, object]", json.loads(line))
            direction, text, time = fields["dir"], fields["hex"], fields.get("t", 0)
            if direction not in _DIRECTIONS or not isinstance(text, str) or not isinstance(time, int | float):
                raise ValueError
            yield Chunk(float(time), direction, bytes.fromhex(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise FormatError(f"line {number} is not a line of a recording", where="recording") from None
