"""A fake KD target with a machine below it: registers, ports, PCI functions, an APIC page, a second processor."""

from __future__ import annotations

import struct
from typing import Any

from kdive.wire.kd.packets import PacketType
from kdive.wire.kd.requests import Api, parse_reply
from tests.targets.fake_kd import BREAKPOINT, UNSUCCESSFUL, FakeKd

APIC_BASE = 0xFEE00000
FLAT = range(0xFFFFA00000000000, 0xFFFFA00000100000)
"""Addresses behind which there is a megabyte of zeros."""


def pci_header(
    vendor: int, device: int, class_code: int, *, kind: int = 0, bars: tuple[int, ...] = (), bus: int = 0
) -> bytes:
    """64 bytes of configuration space."""
    data = bytearray(0x100)
    struct.pack_into("<HHHH", data, 0, vendor, device, 0x107, 0x290)
    struct.pack_into("<I", data, 8, class_code << 8 | 3)
    data[0xE] = kind
    struct.pack_into(f"<{len(bars)}I", data, 0x10, *bars)
    if kind & 0x7F == 1:
        data[0x19] = bus
    else:
        struct.pack_into("<HH", data, 0x2C, 0x1AF4, 0x1100)
    return bytes(data)


class FakeMachine(FakeKd):
    """Answers what is asked of the machine.

    Attributes:
        msrs: Processor and register to value.
        ports: What ports hold.
        functions: ``(bus, device, function)`` to configuration space.
        apic: Registers of the APIC page by offset.
        accesses: Device registers that were read: address, size, caching.
        port_sizes: Widths of the port reads.
        count: Processors of the target.
        present: Which of them answers.
        frames: Physical bytes that were written.
        written_limit: First virtual address that cannot be written, if there is one.
        tables: Address and limit of the global and of the interrupt descriptor table.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.msrs: dict[tuple[int, int], int] = {(0, 0x1B): APIC_BASE | 0x900, (1, 0x1B): APIC_BASE | 0x800}
        self.ports: dict[int, int] = {}
        self.functions: dict[tuple[int, int, int], bytes] = {}
        self.apic: dict[int, int] = {}
        self.accesses: list[tuple[int, int, int]] = []
        self.port_sizes: list[int] = []
        self.count = 1
        self.present = 0
        self.frames: dict[int, int] = {}
        self.written_limit: int | None = None
        self.tables = (0, 0, 0, 0)
        super().__init__(*arguments, **options)

    def read(self, address: int, size: int) -> bytes:
        if address not in FLAT:
            return super().read(address, size)
        data = bytearray(min(size, FLAT.stop - address))
        for at in self.writes.keys() & set(range(address, address + len(data))):
            data[at - address] = self.writes[at]
        return bytes(data)

    def _answer(self, payload: bytes) -> None:
        request = parse_reply(payload)
        address, size = request.u64(0), request.u32(8)
        if request.api in (Api.READ_MSR, Api.WRITE_MSR, Api.READ_IO, Api.WRITE_IO, Api.GET_BUS_DATA):
            self.requests.append(request.api)
        match request.api:
            case Api.READ_MSR:
                value = self.msrs.get((self.present, request.u32(0)))
                union = struct.pack("<III", request.u32(0), (value or 0) & 0xFFFFFFFF, (value or 0) >> 32)
                self._reply(payload, UNSUCCESSFUL if value is None else 0, union)
            case Api.WRITE_MSR:
                self.msrs[self.present, request.u32(0)] = request.u32(4) | request.u32(8) << 32
                self._reply(payload)
            case Api.READ_IO:
                self.port_sizes.append(size)
                # What lies above the value is stale, as in real replies.
                value = self.ports.get(address, 0xFFFFFFFF)
                self._reply(payload, union=struct.pack("<QII", address, size, value))
            case Api.WRITE_IO:
                self.ports[address] = request.u32(12)
                self._reply(payload)
            case Api.GET_BUS_DATA:
                slot, offset, length = request.u32(8), request.u32(12), request.u32(16)
                data = self.functions.get((request.u32(4), slot & 31, slot >> 5), b"\xff" * 0x100)
                data = data[offset : offset + length]
                self._reply(payload, union=request.union[:16] + len(data).to_bytes(4, "little"), data=data)
            case Api.READ_CONTROL_SPACE if any(self.tables):
                special = bytearray(0xA8)
                struct.pack_into("<Q", special, 0x10, self.header.directory_table_base)
                gdt, gdt_limit, idt, idt_limit = self.tables
                struct.pack_into("<HQ", special, 0x56, gdt_limit, gdt)
                struct.pack_into("<HQ", special, 0x66, idt_limit, idt)
                self._reply(payload, 0, struct.pack("<QII", address, size, len(special)), bytes(special))
            case Api.SWITCH_PROCESSOR:
                self.requests.append(request.api)
                self.present = request.processor
                self._report(BREAKPOINT)
            case Api.READ_PHYSICAL if APIC_BASE <= address < APIC_BASE + 0x1000:
                self.accesses.append((address, size, request.u32(12)))
                data = self.apic.get(address - APIC_BASE, 0).to_bytes(4, "little")
                self._reply(payload, 0, struct.pack("<QII", address, size, len(data)), data)
            case Api.READ_PHYSICAL if self.frames:
                assert self.dump.physical is not None
                found = bytearray(self.dump.physical.read_prefix(address, size))
                for at in range(len(found)):
                    found[at] = self.frames.get(address + at, found[at])
                self._reply(payload, 0, struct.pack("<QII", address, size, len(found)), bytes(found))
            case Api.WRITE_PHYSICAL:
                self.frames.update(enumerate(request.data, address))
                self._reply(payload, 0, struct.pack("<QII", address, size, len(request.data)))
            case Api.WRITE_VIRTUAL if self.written_limit is not None:
                room = max(self.written_limit - address, 0)
                data = request.data[:room]
                self.writes.update(enumerate(data, address))
                status = 0 if len(data) == len(request.data) else UNSUCCESSFUL
                self._reply(payload, status, struct.pack("<QII", address, size, len(data)))
            case _:
                super()._answer(payload)

    def _send(self, type_: int, payload: bytes) -> None:
        if type_ == PacketType.STATE_CHANGE64 and self.count > 1:
            payload = payload[:6] + struct.pack("<HI", self.present, self.count) + payload[12:]
        super()._send(type_, payload)
