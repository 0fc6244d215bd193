"""A KD link with a transport and a clock: requests with replies, and what the target says by itself."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from kdive.errors import FormatError, TargetError
from kdive.record import Record
from kdive.targets.driver_files import DriverFiles
from kdive.wire.kd import requests
from kdive.wire.kd.link import HostLink, LinkDead, Received, Restarted
from kdive.wire.kd.packets import PacketType
from kdive.wire.kd.requests import Api, Reply, parse_reply
from kdive.wire.kd.states import (
    CommandString,
    DebugPrint,
    DebugPrompt,
    ExceptionStop,
    ImageChange,
    parse_debug_io,
    parse_state_change,
    prompt_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.arch.context import MachineName
    from kdive.cancel import CancelToken
    from kdive.targets.recording import Recorder
    from kdive.targets.transport import Transport

REQUEST_DEADLINE = 5.0
ACKNOWLEDGE_DEADLINE = 1.0
SILENCE = 0.4
"""Seconds without a byte after which the rest of a packet, or a whole reply, counts as lost."""

_SLICE = 0.05
_LEAST_TRANSFER = 0x40
_CLEAN_RUN = 64
_MAX_EVENTS = 4096
_MAX_OUTPUT = 4096


class RestartedMarker(Record, frozen=True):
    """The target began to number its packets anew: it has restarted."""


KdEvent = ExceptionStop | ImageChange | CommandString | DebugPrompt | RestartedMarker


class KdConnection:
    """A link to a target.

    Args:
        transport: The byte stream; closed with the connection.
        recorder: Writes down all that crosses the wire.

    Attributes:
        machine: Architecture that state changes are decoded for.
        link: The link, for its counters.
        recorder: Writes down what crosses the wire, if anything does.
        output: What the target has printed, oldest first.
        output_lost: How many prints were pushed out before anybody took them.
        files: Files that the target may have.
        requests: How many requests were made.
        transfer_size: Bytes that a read should ask for: fewer on a line that spoils long packets.
        mute: Says why the target would not answer a request now; empty if it would.
    """

    def __init__(self, transport: Transport, recorder: Recorder | None = None) -> None:
        self.transport = transport
        self.link = HostLink()
        self.machine: MachineName = "amd64"
        self.output: deque[str] = deque(maxlen=_MAX_OUTPUT)
        self.output_lost = 0
        self.files = DriverFiles()
        self.requests = 0
        self.transfer_size = requests.MAX_TRANSFER
        self.mute: Callable[[], str] = str
        self._clean = 0
        self.recorder = recorder
        self._events: deque[KdEvent] = deque()
        self._replies: deque[Reply] = deque()
        self._sent_at = 0.0
        self._heard_at = 0.0

    def close(self) -> None:
        """Close the transport and the recording."""
        self.transport.close()
        self.files.close()
        if self.recorder is not None:
            self.recorder.close()

    # --- the pump --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what the link has to say."""
        data = self.link.outgoing()
        if data:
            if self.recorder is not None:
                self.recorder("host", data)
            self._sent_at = time.monotonic()
            self.transport.write(data)

    def pump(self, seconds: float) -> bool:
        """Read once, waiting at most so long, and take in what came; say whether anything did.

        Raises:
            TargetError: The connection is broken, or the target no longer acknowledges.
        """
        self.flush()
        data = self.transport.read(seconds, self.link.missing)
        now = time.monotonic()
        if data is None:
            if self.link.in_the_middle and now - self._heard_at > SILENCE:
                self._heard_at = now
                self.link.ask_again()
                self.flush()
            if not self.link.idle and time.monotonic() - self._sent_at > ACKNOWLEDGE_DEADLINE:
                dead = self.link.overdue()
                if isinstance(dead, LinkDead):
                    raise TargetError(
                        f"the target does not acknowledge: a packet was sent {dead.tries} times",
                        where=self.transport.description,
                        hint="it may have stopped, restarted, or have another debugger",
                    )
                self.flush()
            return False
        self._heard_at = now
        if self.recorder is not None:
            self.recorder("target", data)
        for event in self.link.receive(data):
            match event:
                case Received():
                    self._take(event)
                case Restarted():
                    self._replies.clear()
                    self._note(RestartedMarker())
                case _:
                    pass
        self.flush()
        return True

    def _note(self, event: KdEvent) -> None:
        if len(self._events) < _MAX_EVENTS:
            self._events.append(event)

    def _take(self, packet: Received) -> None:
        try:
            match packet.type:
                case PacketType.STATE_MANIPULATE:
                    self._replies.append(parse_reply(packet.payload))
                case PacketType.STATE_CHANGE64:
                    self._note(parse_state_change(packet.payload, self.machine))
                case PacketType.DEBUG_IO:
                    said = parse_debug_io(packet.payload)
                    if isinstance(said, DebugPrint):
                        self._print(said.text)
                    else:
                        self._note(said)
                case PacketType.FILE_IO:
                    self.link.send(PacketType.FILE_IO, self.files.answer(packet.payload))
                case _:
                    pass
        except FormatError as error:
            self._print(f"kdive: {error.what}\n")

    def _print(self, text: str) -> None:
        self.output_lost += len(self.output) == self.output.maxlen
        self.output.append(text)

    # --- events ----------------------------------------------------------------------------------------------------

    def next_event(self, seconds: float, cancel: CancelToken | None = None) -> KdEvent | None:
        """Wait for what the target says next, at most so long.

        Raises:
            TargetError: The connection is broken.
            CancelledError: The token was cancelled.
        """
        end = time.monotonic() + seconds
        while not self._events:
            if cancel is not None:
                cancel.check()
            left = end - time.monotonic()
            if not self.pump(min(max(left, 0), _SLICE)) and left <= 0:
                return None
        return self._events.popleft()

    def put_back(self, event: KdEvent) -> None:
        """Give an event back, to be taken next."""
        self._events.appendleft(event)

    def forget_events(self) -> None:
        """Drop stops that were reported and not taken: the target has been sent on."""
        self._events.clear()

    @property
    def has_event(self) -> bool:
        """Whether something is waiting to be taken."""
        return bool(self._events)

    @property
    def has_restarted(self) -> bool:
        """Whether the target has begun anew, and nobody has taken that yet."""
        return any(isinstance(event, RestartedMarker) for event in self._events)

    # --- requests --------------------------------------------------------------------------------------------------

    def ask(self, payload: bytes, deadline: float = REQUEST_DEADLINE) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            TargetError: None came, the target restarted meanwhile, or it does not stand still.
        """
        reason = self.mute()
        if reason:
            # Asked nevertheless, it would not answer, and take what was sent for something else when it stops.
            raise TargetError(reason, hint="stop it first: Ctrl+C, break, or the interrupt tool")
        api = int.from_bytes(payload[:4], "little")
        self._replies.clear()
        self.requests += 1
        self.link.send(PacketType.STATE_MANIPULATE, payload)
        damaged = self.link.counters.damaged
        try:
            return self._reply_to(api, payload, deadline)
        finally:
            self._learn(self.link.counters.damaged - damaged)

    def _learn(self, damaged: int) -> None:
        """Ask for less after damage, and for more again when the line has been clean for a while."""
        if damaged:
            self._clean = 0
            self.transfer_size = max(self.transfer_size >> min(damaged, 2), _LEAST_TRANSFER)
        elif self.transfer_size < requests.MAX_TRANSFER:
            self._clean += 1
            if self._clean >= _CLEAN_RUN:
                self._clean = 0
                self.transfer_size = min(self.transfer_size * 2, requests.MAX_TRANSFER)

    def _reply_to(self, api: int, payload: bytes, deadline: float) -> Reply:
        start = time.monotonic()
        end, asked_again = start + deadline, 0
        while True:
            while self._replies:
                reply = self._replies.popleft()
                if reply.api == api:
                    return reply
            silent = time.monotonic() - max(self._heard_at, start)
            if self.link.idle and silent > SILENCE:
                # The reply was lost on its way; if asking for it does not help, the request was not understood.
                self._heard_at = time.monotonic()
                asked_again += 1
                if asked_again % 2:
                    self.link.ask_again()
                else:
                    self.link.send(PacketType.STATE_MANIPULATE, payload)
            if self.has_restarted:
                raise TargetError("the target restarted", where=self.transport.description)
            left = end - time.monotonic()
            if left <= 0:
                self.link.abandon()
                raise TargetError(
                    f"no answer to {_name(api)} within {deadline:g} s",
                    where=self.transport.description,
                    hint="the target may be running, or the line may be bad; !kdstats counts what crossed it",
                )
            self.pump(min(left, _SLICE))

    def require(self, payload: bytes, what: str) -> Reply:
        """Ask, and make a refusal an error.

        Raises:
            TargetError: The target refused, or did not answer.
        """
        reply = self.ask(payload)
        if reply.failed:
            raise TargetError(f"the target refused to {what}: status {reply.status:#x}")
        return reply

    def tell(self, payload: bytes) -> None:
        """Send a request that has no reply (going on, restarting), and see it acknowledged.

        Raises:
            TargetError: It was not acknowledged.
        """
        self.requests += 1
        self.link.send(PacketType.STATE_MANIPULATE, payload)
        end = time.monotonic() + REQUEST_DEADLINE
        while not self.link.idle:
            if time.monotonic() > end:
                self.link.abandon()
                raise TargetError("the target did not acknowledge", where=self.transport.description)
            self.pump(_SLICE)

    def answer(self, prompt: DebugPrompt, text: str) -> None:
        """Answer a question of the target."""
        self.link.send(PacketType.DEBUG_IO, prompt_answer(prompt, text))
        self.pump(0)

    def break_in(self) -> None:
        """Ask the target to stop."""
        self.link.break_in()
        self.flush()

    def reset(self) -> None:
        """Number packets anew at both ends."""
        self.link.reset()
        self.flush()

    def version(self, deadline: float = REQUEST_DEADLINE) -> requests.TargetVersion:
        """Ask who is there.

        Raises:
            TargetError: No answer.
        """
        return requests.parse_version(self.ask(requests.get_version(), deadline))


def _name(api: int) -> str:
    try:
        return Api(api).name.lower().replace("_", " ")
    except ValueError:
        return f"request {api:#x}"
