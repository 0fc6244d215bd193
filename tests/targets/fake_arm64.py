"""A fake KD target of the ARM64 architecture: a page of code, four-byte breakpoints, a control set of its own."""

from __future__ import annotations

import struct
from typing import Any

from kdive.arch.arm64.context import CONTEXT_SIZE, GENERAL, SPECIAL_REGISTERS_SIZE
from kdive.wire.kd.packets import PacketType
from kdive.wire.kd.requests import Api, parse_reply
from tests.targets.fake_kd import BREAKPOINT, SINGLE_STEP, UNSUCCESSFUL, FakeKd

BREAK = b"\x00\x00\x3e\xd4"
RETURN = b"\xc0\x03\x5f\xd6"
NO_OPERATION = b"\x1f\x20\x03\xd5"
CODE = 0xFFFFF80000400000
"""A page of instructions that do nothing; the break-in code is at its end."""

BREAK_IN = CODE + 0xFF0
SIZE = 0x1000


class FakeArm64(FakeKd):
    """Steps four bytes at a time through its page; breakpoints are in its memory, as on real targets."""

    def __init__(self, plan: tuple[int, ...] = (), **options: Any) -> None:
        self.code = bytearray(NO_OPERATION * (SIZE // 4))
        self.code[BREAK_IN - CODE : BREAK_IN - CODE + 8] = BREAK + RETURN
        self.displaced: dict[int, bytes] = {}
        self.control_sets: list[tuple[int, int]] = []
        self.registers = dict.fromkeys(GENERAL, 0) | {"x0": 1, "x5": 0x1234, "sp": 0xFFFFF80000500000}
        super().__init__(plan, **options)
        self.ip = BREAK_IN

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.code[address - CODE :][:size]) if CODE <= address < CODE + SIZE else b""

    def context(self) -> bytes:
        raw = bytearray(CONTEXT_SIZE)
        struct.pack_into("<II", raw, 0, 0x40001F, 0x60000004)
        struct.pack_into("<33Q", raw, 8, *({**self.registers, "pc": self.ip}[name] for name in GENERAL))
        return bytes(raw)

    def _report(self, code: int) -> None:
        head = struct.pack("<IHHI4xQQ", 0x3030, 0, 0, 1, 0, self.ip)
        record = struct.pack("<IIQQI4x", code, 0, 0, self.ip, 0)
        body = (head + record).ljust(184, b"\0") + struct.pack("<I4x", 1)
        control = struct.pack("<QII16sII", 0, 0, 16, self.read(self.ip, 16).ljust(16, b"\0"), 0, 0)
        self._send(PacketType.STATE_CHANGE64, body + control)

    def _stop(self, code: int) -> None:
        self._halted = True
        for handle in [handle for handle, at in self.table.items() if 0 <= at - self.ip < 16]:
            self._restore(handle)
        self._report(code)

    def _restore(self, handle: int) -> bool:
        at = self.table.pop(handle, None)
        if at is None:
            return False
        self.code[at - CODE : at - CODE + 4] = self.displaced.pop(at)
        return True

    def _go(self, *, trace: bool) -> None:
        self._halted = False
        if self.read(self.ip, 4) == BREAK:
            self._stop(BREAKPOINT)
        elif trace:
            self.ip += 4
            self._stop(SINGLE_STEP)
        else:
            while self.plan:
                point = self.plan.pop(0)
                self.ip = point if isinstance(point, int) else point[0]
                if self.read(self.ip, 4) == BREAK:
                    self._stop(BREAKPOINT)
                    break
        self.went_on.set()

    def _answer(self, payload: bytes) -> None:
        request = parse_reply(payload)
        address = request.u64(0)
        match request.api if self._halted else None:
            case Api.GET_VERSION:
                block = struct.pack("<HHBBHH", 0xF, 26100, 6, 2, 2, 0xAA64).ljust(16, b"\0")
                self._reply(payload, union=block + struct.pack("<QQQ", CODE, 0, 0))
            case Api.GET_CONTEXT:
                self._reply(payload, data=self.context())
            case Api.SET_CONTEXT:
                self.registers = dict(zip(GENERAL, struct.unpack_from("<33Q", request.data, 8), strict=True))
                self.ip = self.registers["pc"]
                self._reply(payload)
            case Api.READ_CONTROL_SPACE:
                special = struct.pack("<QI4xQQQ", 0x1111, 5, 0x2222, 0x3333, 0x4444).ljust(
                    SPECIAL_REGISTERS_SIZE, b"\0"
                )
                self._reply(payload, 0, struct.pack("<QII", address, request.u32(8), len(special)), special)
            case Api.WRITE_VIRTUAL:
                self.code[address - CODE : address - CODE + len(request.data)] = request.data
                self._reply(payload, 0, struct.pack("<QII", address, request.u32(8), len(request.data)))
            case Api.WRITE_BREAKPOINT:
                handle = next(number for number in range(1, 33) if number not in self.table)
                self.table[handle] = address
                self.displaced[address] = self.read(address, 4)
                self.code[address - CODE : address - CODE + 4] = BREAK
                self._reply(payload, union=struct.pack("<QI", address, handle))
            case Api.RESTORE_BREAKPOINT:
                self._reply(payload, 0 if self._restore(request.u32(0)) else UNSUCCESSFUL)
            case Api.CONTINUE2:
                self.control_sets.append((request.u32(4), request.u32(8)))
                self._go(trace=bool(request.u32(8)))
            case _:
                super()._answer(payload)
