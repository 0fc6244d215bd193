"""The target's side of KD, over the memory of the sample dump: it stops, steps and goes on by a plan.

It behaves as real kernels were seen to: one packet at a time, a table of 32 breakpoints, those near a stop removed at
the stop, an ``int3`` in the code that stops again until somebody moves past it.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

from kdive.arch.amd64.context import CONTEXT_SIZE, update_context
from kdive.targets.dump import open_dump
from kdive.wire.kd.packets import INITIAL_ID, SYNC, BreakIn, Damage, Packet, PacketParser, PacketType
from kdive.wire.kd.requests import Api, parse_reply
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterable

UNSUCCESSFUL = 0xC0000001
BREAKPOINT, SINGLE_STEP = 0x80000003, 0x80000004
WAIT = 20.0
KERNEL = 0xFFFFF80000200000
DATA_LIST = KERNEL + 0x3FF0
"""Where the list of debugger data blocks begins: room that the sample's kernel does not use."""


class FakeKd:
    """A target on one end of a socket pair; it runs on a thread of its own.

    Args:
        plan: Addresses that its execution passes through, in order, while it runs; one with a number behind it is
            where that debug register fires.
        halted: Whether an earlier debugger has left it standing.
        id_: Number of its next packet.
        prints: What it prints when it is sent on.
    """

    def __init__(
        self,
        plan: Iterable[int | tuple[int, int]] = (),
        *,
        halted: bool = False,
        id_: int = INITIAL_ID,
        expected: int = INITIAL_ID,
        prints: Iterable[str] = (),
    ) -> None:
        self.near, self._far = socket.socketpair()
        self.dump = open_dump(SAMPLE / "crash.dmp")
        header = self.dump.dump.header
        context = self.dump.crash_context()
        assert context is not None
        self.raw = header.context.ljust(CONTEXT_SIZE, b"\0")[:CONTEXT_SIZE]
        self.ip = context.ip
        self.header = header
        block = (header.kd_debugger_data_block or 0).to_bytes(8, "little")
        self.writes: dict[int, int] = dict(enumerate(block, DATA_LIST))
        self.table: dict[int, int] = {}
        self.requests: list[int] = []
        self.resumes: list[tuple[int, bool]] = []
        self.control_space_extra = b"\xee" * 0x30
        self.closed = threading.Event()
        self.went_on = threading.Event()
        self.may_step = threading.Event()
        self.may_step.set()
        self.plan = list(plan)
        self._prints = list(prints)
        self._halted = halted
        self._id, self._expected = id_, expected
        self._parser = PacketParser()
        self._sent: Packet | None = None
        self._queue: list[tuple[int, bytes]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(WAIT)
        assert not self._thread.is_alive()

    @property
    def running(self) -> bool:
        return not self._halted

    # --- transport ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._far.settimeout(WAIT)
        if self._halted:
            self._report(BREAKPOINT)
        while True:
            try:
                data = self._far.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                self.closed.set()
                self._far.close()
                return
            for item in self._parser.feed(data):
                self._take(item)

    def _write(self, packet: Packet) -> None:
        self._far.sendall(packet.encode())

    def _send(self, type_: int, payload: bytes) -> None:
        self._queue.append((type_, payload))
        self._advance()

    def _advance(self) -> None:
        if self._sent is None and self._queue:
            type_, payload = self._queue.pop(0)
            self._sent = Packet(type_, self._id, payload)
            self._write(self._sent)

    def _take(self, item: Packet | BreakIn | Damage) -> None:
        match item:
            case BreakIn():
                if not self._halted:
                    self._stop(BREAKPOINT)
            case Damage():
                self._write(Packet(PacketType.RESEND, 0, control=True))
            case Packet(type=PacketType.ACKNOWLEDGE):
                if self._sent is not None and item.id == self._sent.id & ~SYNC:
                    self._sent = None
                    self._id = (self._id & ~SYNC) ^ 1
                    self._advance()
            case Packet(type=PacketType.RESEND):
                if self._sent is not None:
                    self._write(self._sent)
            case Packet(type=PacketType.RESET):
                self._id, self._expected, self._sent = INITIAL_ID | SYNC, INITIAL_ID, None
                self._queue.clear()
                self._write(Packet(PacketType.RESET, 0, control=True))
                if self._halted:
                    self._report(BREAKPOINT)
            case Packet(control=False):
                self._write(Packet(PacketType.ACKNOWLEDGE, item.id & ~SYNC, control=True))
                if item.id & ~SYNC == self._expected:
                    self._expected ^= 1
                    self._answer(item.payload)
            case _:
                raise AssertionError(item)

    # --- running -----------------------------------------------------------------------------------------------------

    def _report(self, code: int, fired: int = 0) -> None:
        head = struct.pack("<IHHI4xQQ", 0x3030, 0, 0, 1, 0, self.ip)
        record = struct.pack("<IIQQI4x", code, 0, 0, self.ip, 0)
        body = (head + record).ljust(184, b"\0") + struct.pack("<I4x", 1)
        control = struct.pack(
            "<QQIHH16sHHHH", fired, 0x400, 0x202, 16, 3, self.read(self.ip, 16), 0x10, 0x2B, 0x2B, 0x53
        )
        self._send(PacketType.STATE_CHANGE64, body + control)

    def _stop(self, code: int, fired: int = 0) -> None:
        self._halted = True
        self.raw = update_context(self.raw, {"rip": self.ip})
        self.table = {handle: at for handle, at in self.table.items() if not 0 <= at - self.ip < 16}
        self._report(code, fired)

    def _go(self, *, trace: bool) -> None:
        self._halted = False
        for text in self._prints:
            raw = text.encode()
            self._send(PacketType.DEBUG_IO, struct.pack("<IHHII", 0x3230, 0, 0, len(raw), 0) + raw)
        self._prints.clear()
        if self.read(self.ip, 1) == b"\xcc":
            self._stop(BREAKPOINT)
        elif trace:
            assert self.may_step.wait(WAIT)
            self.ip += 1
            self._stop(SINGLE_STEP)
        else:
            while self.plan:
                point = self.plan.pop(0)
                if isinstance(point, tuple):
                    self.ip, slot = point
                    self._stop(SINGLE_STEP, 1 << slot)
                    break
                self.ip = point
                if self.ip in self.table.values():
                    self._stop(BREAKPOINT)
                    break
        self.went_on.set()

    def restart(self) -> None:
        """Boot anew: the first thing that is heard is a print with the sync bit."""
        self._id, self._expected, self._sent = INITIAL_ID | SYNC, INITIAL_ID, None
        self.table.clear()
        self._halted = False
        self._send(PacketType.DEBUG_IO, struct.pack("<IHHII", 0x3230, 0, 0, 5, 0) + b"boot\n")

    # --- requests ----------------------------------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        data = bytearray(self.dump.memory.read_prefix(address, size))
        for at in range(len(data)):
            data[at] = self.writes.get(address + at, data[at])
        return bytes(data)

    def _reply(self, request: bytes, status: int = 0, union: bytes | None = None, data: bytes = b"") -> None:
        head = request[:8] + struct.pack("<I4x", status)
        self._send(PacketType.STATE_MANIPULATE, head + (union or request[16:56]).ljust(40, b"\0") + data)

    def _answer(self, payload: bytes) -> None:
        if not self._halted:
            return
        request = parse_reply(payload)
        self.requests.append(request.api)
        address, size = request.u64(0), request.u32(8)
        match request.api:
            case Api.GET_VERSION:
                data = self.dump.dump.header
                block = struct.pack("<HHBBHH", 0xF, 19041, 6, 2, 2, 0x8664).ljust(16, b"\0")
                self._reply(
                    payload, union=block + struct.pack("<QQQ", KERNEL, data.ps_loaded_module_list or 0, DATA_LIST)
                )
            case Api.READ_VIRTUAL | Api.READ_PHYSICAL:
                if request.api == Api.READ_PHYSICAL:
                    assert self.dump.physical is not None
                    found = self.dump.physical.read_prefix(address, size)
                else:
                    found = self.read(address, size)
                union = struct.pack("<QII", address, size, len(found))
                self._reply(payload, 0 if len(found) == size else UNSUCCESSFUL, union, found)
            case Api.WRITE_VIRTUAL:
                ok = len(self.read(address, len(request.data))) == len(request.data)
                if ok:
                    self.writes.update(enumerate(request.data, address))
                union = struct.pack("<QII", address, size, len(request.data) if ok else 0)
                self._reply(payload, 0 if ok else UNSUCCESSFUL, union)
            case Api.GET_CONTEXT:
                self._reply(payload, data=self.raw)
            case Api.SET_CONTEXT:
                self.raw = request.data
                self.ip = int.from_bytes(self.raw[0xF8:0x100], "little")
                self._reply(payload)
            case Api.READ_CONTROL_SPACE:
                special = bytearray(0xA8)
                struct.pack_into("<Q", special, 0x10, self.header.directory_table_base)
                union = struct.pack("<QII", address, size, size + len(self.control_space_extra))
                self._reply(payload, 0, union, bytes(special) + self.control_space_extra)
            case Api.WRITE_BREAKPOINT:
                if address in self.table.values() or len(self.table) >= 32:
                    self._reply(payload, UNSUCCESSFUL)
                else:
                    handle = next(number for number in range(1, 33) if number not in self.table)
                    self.table[handle] = address
                    self._reply(payload, union=struct.pack("<QI", address, handle))
            case Api.WRITE_CONTROL_SPACE:
                self._reply(payload)
            case Api.RESTORE_BREAKPOINT:
                known = self.table.pop(request.u32(0), None)
                self._reply(payload, 0 if known is not None else UNSUCCESSFUL)
            case Api.CONTINUE2:
                self.resumes.append((request.u32(0), bool(request.u32(4))))
                self._go(trace=bool(request.u32(4)))
            case Api.REBOOT:
                self.restart()
            case _:
                self._reply(payload, UNSUCCESSFUL)
