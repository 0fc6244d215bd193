"""The host's end of a link: ids, acknowledgements, repeats, resets.

One data packet is under way at a time: the next is sent when the target has acknowledged it. The state machine is fed
bytes and asked for bytes; whoever drives it owns the clock and tells it when an answer is overdue.

Source: ``windbgkd.h``; the behaviour of a real kernel, recorded.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kdive.record import Record
from kdive.wire.kd.packets import BREAK_IN, INITIAL_ID, SYNC, BreakIn, Damage, Packet, PacketParser, PacketType

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RESENDS = 5
"""How often a packet is sent again before the link counts as dead."""


class Received(Record, frozen=True):
    """A data packet arrived, in order and for the first time."""

    type: int
    payload: bytes


class Restarted(Record, frozen=True):
    """The target starts numbering anew: it has booted, or given up on us."""


class Delivered(Record, frozen=True):
    """The target has acknowledged the packet that was under way."""


class LinkDead(Record, frozen=True):
    """A packet was sent again and again without an answer."""

    tries: int


LinkEvent = Received | Restarted | Delivered | LinkDead


class LinkCounters(Record):
    """What went over the link, for ``!kdstats`` and for saying what is wrong with a line."""

    sent: int = 0
    received: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    resent: int = 0
    damaged: int = 0
    duplicates: int = 0
    resets: int = 0
    target_resets: int = 0
    junk: int = 0


class HostLink:
    """The host's end.

    Attributes:
        counters: What went over the link so far.
        agreed: Whether the target is known to count as we do: it has sent the first of its numbers.
    """

    def __init__(self) -> None:
        self.counters = LinkCounters()
        self.agreed = False
        self._parser = PacketParser()
        self._queue: deque[tuple[int, bytes]] = deque()
        self._under_way: Packet | None = None
        self._tries = 0
        self._next_id = INITIAL_ID
        self._expected: int | None = None
        """Id that the target's next packet must have; None before the first: any is taken."""
        self._last: Packet | None = None
        self._sync_awaited = False
        """A reset was exchanged: the target's next number carries the sync bit, which then tells of no restart."""
        self._out = bytearray()
        self._reset_answered = False

    # --- what the driver of the link does ---------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing is under way or waiting."""
        return self._under_way is None and not self._queue

    def send(self, type_: int, payload: bytes) -> None:
        """Queue a data packet."""
        self._queue.append((type_, payload))
        self._advance()

    def break_in(self) -> None:
        """Ask the target to stop."""
        self._out += BREAK_IN

    def reset(self) -> None:
        """Ask the target to number anew; what was under way is sent again under its new number."""
        self._renumber()
        self._control(PacketType.RESET, 0)
        # The target answers a reset with one of its own, which asks for nothing.
        self._reset_answered = True
        self.counters.resets += 1

    def abandon(self) -> None:
        """Forget what is under way and waiting."""
        self._queue.clear()
        self._under_way = None

    def outgoing(self) -> bytes:
        """Take the bytes to write to the transport."""
        data = bytes(self._out)
        self._out.clear()
        self.counters.bytes_out += len(data)
        return data

    def overdue(self) -> LinkEvent | None:
        """Say that the packet under way was not acknowledged in time: it is sent again, or the link is dead."""
        if self._under_way is None:
            return None
        if self._tries >= MAX_RESENDS:
            tries = self._tries
            self.abandon()
            return LinkDead(tries)
        self._transmit()
        return None

    def ask_again(self) -> None:
        """Ask the target to send its last packet again: a part of it was lost, or all of it."""
        self._parser.clear()
        self.counters.damaged += 1
        self._control(PacketType.RESEND, 0)

    @property
    def in_the_middle(self) -> bool:
        """Whether the rest of a packet is awaited."""
        return self._parser.pending > 0

    @property
    def missing(self) -> int:
        """Bytes that the packet that is arriving still lacks, 0 if that cannot be told."""
        return self._parser.missing

    def receive(self, data: bytes) -> Iterator[LinkEvent]:
        """Take bytes from the transport and yield what happened."""
        self.counters.bytes_in += len(data)
        for item in self._parser.feed(data):
            match item:
                case Damage():
                    self._damaged(item)
                case BreakIn():
                    self.counters.junk += 1
                case Packet(control=True):
                    yield from self._controlled(item)
                case Packet():
                    yield from self._arrived(item)

    # --- what follows from it ---------------------------------------------------------------------------------------

    def _control(self, type_: PacketType, id_: int) -> None:
        self._out += Packet(type_, id_, control=True).encode()

    def _advance(self) -> None:
        if self._under_way is None and self._queue:
            type_, payload = self._queue.popleft()
            self._under_way = Packet(type_, self._next_id, payload)
            self._tries = 0
            self.counters.sent += 1
            self._transmit()

    def _transmit(self) -> None:
        if self._under_way is not None:
            self._tries += 1
            self.counters.resent += self._tries > 1
            self._out += self._under_way.encode()

    def _renumber(self) -> None:
        self._sync_awaited = True
        self._next_id = INITIAL_ID
        self._expected = None
        self._last = None
        if self._under_way is not None:
            self._under_way = Packet(self._under_way.type, self._next_id, self._under_way.payload)
            self._tries = 0

    def _damaged(self, item: Damage) -> None:
        if item.packet:
            self.counters.damaged += 1
            self._control(PacketType.RESEND, 0)
        else:
            self.counters.junk += item.size

    def _controlled(self, packet: Packet) -> Iterator[LinkEvent]:
        match packet.type:
            case PacketType.ACKNOWLEDGE:
                under_way = self._under_way
                if under_way is not None and packet.id & ~SYNC == under_way.id & ~SYNC:
                    self._under_way = None
                    self._next_id = (under_way.id & ~SYNC) ^ 1
                    yield Delivered()
                    self._advance()
            case PacketType.RESEND:
                if self._tries <= MAX_RESENDS:
                    self._transmit()
            case PacketType.RESET:
                self.counters.resets += 1
                self.counters.target_resets += 1
                self._renumber()
                if self._reset_answered:
                    self._reset_answered = False
                    self._transmit()
                else:
                    # Once only: two ends that answer each reset with another never stop.
                    self._control(PacketType.RESET, 0)
                    self._reset_answered = True
                    yield Restarted()
            case _:
                self.counters.junk += 1

    def _arrived(self, packet: Packet) -> Iterator[LinkEvent]:
        plain = packet.id & ~SYNC
        if plain & ~1 != INITIAL_ID:
            self.counters.damaged += 1
            self._control(PacketType.RESEND, 0)
            return
        self._control(PacketType.ACKNOWLEDGE, plain)
        if packet == self._last or (self._expected not in (None, plain) and not packet.id & SYNC):
            # Our acknowledgement was lost, so the target has sent it again.
            self.counters.duplicates += 1
            return
        restarted = bool(packet.id & SYNC) and self._expected is not None and not self._sync_awaited
        if packet.id & SYNC:
            # What was on its way before our reset arrived tells nothing of it.
            self._sync_awaited = self._reset_answered = False
            self.agreed = True
        if restarted:
            self._renumber()
            self._sync_awaited = False
            yield Restarted()
        self._expected = plain ^ 1
        self._last = packet
        self.counters.received += 1
        yield Received(packet.type, packet.payload)
