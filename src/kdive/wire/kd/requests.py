"""Requests to a stopped target, and its replies (``DBGKD_MANIPULATE_STATE64``).

A request is a 16-byte header, a 40-byte union and perhaps data; the reply repeats the request's number. Replies are
clipped to what was asked for: real targets have been seen to send more, the tail being stale.

Source: ``windbgkd.h``; recorded sessions with a real kernel.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from kdive.errors import FormatError
from kdive.record import Record

HEADER_SIZE = 56
MAX_TRANSFER = 0xE00
"""Bytes that one read or write asks for: whole cache lines, below the transport's limit of 4000 with the header."""

DBG_CONTINUE, DBG_EXCEPTION_NOT_HANDLED = 0x00010002, 0x80010001
BREAKPOINT_TABLE_SIZE = 32
PCI_CONFIGURATION = 4
CACHING_UNCACHED = 2
"""``DBGKD_CACHING_UNCACHED``: how a physical read is to be made, in the field that the reply counts in."""

_HEAD = struct.Struct("<IHHI4x")
_UNION_SIZE = 40


class Api(IntEnum):
    """What is asked for (``DbgKd…Api``)."""

    READ_VIRTUAL = 0x3130
    WRITE_VIRTUAL = 0x3131
    GET_CONTEXT = 0x3132
    SET_CONTEXT = 0x3133
    WRITE_BREAKPOINT = 0x3134
    RESTORE_BREAKPOINT = 0x3135
    CONTINUE = 0x3136
    READ_CONTROL_SPACE = 0x3137
    WRITE_CONTROL_SPACE = 0x3138
    READ_IO = 0x3139
    WRITE_IO = 0x313A
    REBOOT = 0x313B
    CONTINUE2 = 0x313C
    READ_PHYSICAL = 0x313D
    WRITE_PHYSICAL = 0x313E
    GET_VERSION = 0x3146
    CLEAR_ALL_BREAKPOINTS = 0x314A
    CAUSE_BUGCHECK = 0x3149
    SWITCH_PROCESSOR = 0x3150
    READ_MSR = 0x3152
    WRITE_MSR = 0x3153
    SEARCH_MEMORY = 0x3156
    GET_BUS_DATA = 0x3157
    SET_BUS_DATA = 0x3158
    CHECK_LOW_MEMORY = 0x3159
    FILL_MEMORY = 0x315B
    QUERY_MEMORY = 0x315C
    GET_CONTEXT_EX = 0x315F
    SET_CONTEXT_EX = 0x3160


class Reply(Record, frozen=True):
    """A decoded reply.

    Attributes:
        api: The number of the request.
        processor: The processor that answered.
        status: NTSTATUS of the request.
        union: The 40 bytes that depend on the request.
        data: What follows.
    """

    api: int
    processor: int
    status: int
    union: bytes
    data: bytes

    @property
    def failed(self) -> bool:
        """Whether the target refused."""
        return bool(self.status >> 31)

    def u32(self, offset: int) -> int:
        """A 32-bit field of the union."""
        return int.from_bytes(self.union[offset : offset + 4], "little")

    def u64(self, offset: int) -> int:
        """A 64-bit field of the union."""
        return int.from_bytes(self.union[offset : offset + 8], "little")


class TargetVersion(Record, frozen=True):
    """The answer to ``GET_VERSION``.

    Attributes:
        major: 0xF for a free build, 0xC for a checked one.
        build: ``NtBuildNumber``.
        protocol: Protocol version.
        flags: ``DBGKD_VERS_FLAG_*``.
        machine: COFF machine number.
        kernel_base: Load address of the kernel.
        module_list: Address of ``PsLoadedModuleList``.
        debugger_data: Address of the list that holds the debugger data block.
    """

    major: int
    build: int
    protocol: int
    flags: int
    machine: int
    kernel_base: int
    module_list: int
    debugger_data: int


def request(api: Api, union: bytes = b"", data: bytes = b"", processor: int = 0) -> bytes:
    """Write a request as a packet's payload."""
    return _HEAD.pack(api, 0, processor, 0) + union.ljust(_UNION_SIZE, b"\0") + data


def parse_reply(payload: bytes) -> Reply:
    """Decode a reply.

    Raises:
        FormatError: It is cut short.
    """
    if len(payload) < HEADER_SIZE:
        raise FormatError(f"a reply of {len(payload)} bytes is cut short")
    api, _, processor, status = _HEAD.unpack_from(payload)
    return Reply(api, processor, status, payload[16:HEADER_SIZE], payload[HEADER_SIZE:])


def read_memory(address: int, size: int, *, physical: bool = False) -> bytes:
    """Ask for at most :data:`MAX_TRANSFER` bytes; the reply's count is how many there were."""
    api = Api.READ_PHYSICAL if physical else Api.READ_VIRTUAL
    return request(api, struct.pack("<QI", address, min(size, MAX_TRANSFER)))


def write_memory(address: int, data: bytes, *, physical: bool = False) -> bytes:
    """Write bytes; the reply's count says how many were written."""
    api = Api.WRITE_PHYSICAL if physical else Api.WRITE_VIRTUAL
    return request(api, struct.pack("<QI", address, len(data)), data)


def transferred(reply: Reply) -> bytes:
    """The bytes of a memory read: as many as the target says there were."""
    return reply.data[: reply.u32(12)]


def written(reply: Reply) -> int:
    """How many bytes a write wrote."""
    return reply.u32(12)


def get_context(flags: int, processor: int) -> bytes:
    """Ask for a processor's ``CONTEXT``."""
    return request(Api.GET_CONTEXT, struct.pack("<I", flags), processor=processor)


def set_context(flags: int, context: bytes, processor: int) -> bytes:
    """Write a processor's ``CONTEXT``."""
    return request(Api.SET_CONTEXT, struct.pack("<I", flags), context, processor)


def get_context_part(offset: int, size: int, processor: int) -> bytes:
    """Ask for a part of a ``CONTEXT``."""
    return request(Api.GET_CONTEXT_EX, struct.pack("<III", offset, size, 0), processor=processor)


def set_context_part(offset: int, data: bytes, total: int, processor: int) -> bytes:
    """Write a part of a ``CONTEXT``; the target takes it over when the last part has come.

    Args:
        offset: Where the part begins.
        data: The part.
        total: Size of the whole record.
        processor: Which processor.
    """
    return request(Api.SET_CONTEXT_EX, struct.pack("<III", offset, len(data), total), data, processor)


def read_control_space(selector: int, size: int, processor: int) -> bytes:
    """Ask for a processor's control space: 2 is ``KSPECIAL_REGISTERS`` on AMD64."""
    return request(Api.READ_CONTROL_SPACE, struct.pack("<QI", selector, size), processor=processor)


def write_control_space(selector: int, data: bytes, processor: int) -> bytes:
    """Write control space. Only bytes that were read may be written back."""
    return request(Api.WRITE_CONTROL_SPACE, struct.pack("<QI", selector, len(data)), data, processor)


def write_breakpoint(address: int) -> bytes:
    """Set a breakpoint through the target's table; the reply holds its handle."""
    return request(Api.WRITE_BREAKPOINT, struct.pack("<QI", address, 0))


def breakpoint_handle(reply: Reply) -> int:
    """The handle in the reply to :func:`write_breakpoint`."""
    return reply.u32(8)


def restore_breakpoint(handle: int) -> bytes:
    """Remove a breakpoint by its handle."""
    return request(Api.RESTORE_BREAKPOINT, struct.pack("<I", handle))


def resume(status: int, *, trace: bool, dr7: int = 0x400) -> bytes:
    """Let the target go on; there is no reply.

    Args:
        status: :data:`DBG_CONTINUE` or :data:`DBG_EXCEPTION_NOT_HANDLED`.
        trace: Run one instruction only.
        dr7: The debug control register to run with (AMD64).
    """
    return request(Api.CONTINUE2, struct.pack("<IIQQQ", status, int(trace), dr7, 0, 0))


def resume_arm64(status: int, *, trace: bool) -> bytes:
    """Let an ARM64 target go on; there is no reply.

    Args:
        status: :data:`DBG_CONTINUE` or :data:`DBG_EXCEPTION_NOT_HANDLED`.
        trace: Run one instruction only.
    """
    return request(Api.CONTINUE2, struct.pack("<IIIQQ", status, 1, int(trace), 0, 0))


def read_io(address: int, size: int) -> bytes:
    """Read a port of 1, 2 or 4 bytes."""
    return request(Api.READ_IO, struct.pack("<QI", address, size))


def write_io(address: int, size: int, value: int) -> bytes:
    """Write a port of 1, 2 or 4 bytes."""
    return request(Api.WRITE_IO, struct.pack("<QII", address, size, value))


def io_value(reply: Reply, size: int) -> int:
    """The value in the reply to :func:`read_io`."""
    return reply.u32(12) & ((1 << 8 * size) - 1)


def read_device(address: int, size: int) -> bytes:
    """Read a device's register at a physical address, without going through the processor's cache."""
    return request(Api.READ_PHYSICAL, struct.pack("<QII", address, size, CACHING_UNCACHED))


def switch_processor(processor: int) -> bytes:
    """Have another processor answer; there is no reply, but a new report of the stop."""
    return request(Api.SWITCH_PROCESSOR, processor=processor)


def read_msr(register: int, processor: int) -> bytes:
    """Read a model-specific register."""
    return request(Api.READ_MSR, struct.pack("<I", register), processor=processor)


def write_msr(register: int, value: int, processor: int) -> bytes:
    """Write a model-specific register."""
    return request(Api.WRITE_MSR, struct.pack("<III", register, value & 0xFFFFFFFF, value >> 32), processor=processor)


def msr_value(reply: Reply) -> int:
    """The value in the reply to :func:`read_msr`."""
    return reply.u32(4) | reply.u32(8) << 32


def get_bus_data(bus: int, slot: int, offset: int, size: int, kind: int = PCI_CONFIGURATION) -> bytes:
    """Read configuration space. A PCI slot is the device, and the function shifted left by five."""
    return request(Api.GET_BUS_DATA, struct.pack("<IIIII", kind, bus, slot, offset, size))


def search_memory(address: int, size: int, pattern: bytes) -> bytes:
    """Search memory on the target's side."""
    return request(Api.SEARCH_MEMORY, struct.pack("<QQI", address, size, len(pattern)), pattern)


def get_version() -> bytes:
    """Ask who is there."""
    return request(Api.GET_VERSION)


def parse_version(reply: Reply) -> TargetVersion:
    """Decode the reply to :func:`get_version`."""
    major, build, protocol, _, flags, machine = struct.unpack_from("<HHBBHH", reply.union)
    return TargetVersion(major, build, protocol, flags, machine, reply.u64(16), reply.u64(24), reply.u64(32))
