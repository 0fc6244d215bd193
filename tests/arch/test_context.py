"""Registers of both architectures: records, parts, flags."""

from __future__ import annotations

import struct

import pytest

from kdive.arch.amd64 import context as amd64
from kdive.arch.arm64 import context as arm64
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, MemoryAccessError


def amd64_record() -> bytearray:
    data = bytearray(amd64.CONTEXT_SIZE)
    struct.pack_into("<II6HI", data, 0x30, 0x10001F, 0x1F80, 0x10, 0x2B, 0x2B, 0x53, 0x2B, 0x18, 0x40246)
    struct.pack_into("<6Q", data, 0x48, 1, 2, 3, 4, 6, 7)
    struct.pack_into("<17Q", data, 0x78, *(0x1111_2222_3333_4400 + number for number in range(17)))
    struct.pack_into("<2Q", data, 0x1A0 + 16 * 15, 0x55, 0xAA)
    return data


def test_amd64_record_is_decoded_by_the_offsets_of_the_header_file() -> None:
    values = amd64.decode_context(bytes(amd64_record())).values
    assert [values[name] & 0xFF for name in amd64.GENERAL] == list(range(16))
    assert values["rip"] & 0xFF == 16
    assert (values["cs"], values["ss"], values["fs"], values["efl"]) == (0x10, 0x18, 0x53, 0x40246)
    assert [values[f"dr{number}"] for number in (0, 1, 2, 3, 6, 7)] == [1, 2, 3, 4, 6, 7]
    assert values["xmm15"] == 0xAA << 64 | 0x55
    assert values["mxcsr"] == 0x1F80


def test_amd64_parts_of_registers_are_cut_out() -> None:
    context = RegisterContext(
        "amd64", {"rax": 0x1122334455667788, "r8": 0xFFEEDDCCBBAA9988, "rsp": 0x1234, "efl": 0x246}
    )
    wanted = {"eax": 0x55667788, "ax": 0x7788, "al": 0x88, "ah": 0x77, "r8d": 0xBBAA9988, "r8w": 0x9988, "r8b": 0x88}
    wanted |= {"spl": 0x34, "zf": 1, "pf": 1, "if": 1, "cf": 0, "iopl": 0, "rflags": 0x246, "eflags": 0x246}
    assert {name: amd64.read_register(context, name) for name in wanted} == wanted
    assert amd64.read_register(context, "rbx") is None
    assert amd64.read_register(context, "nonsense") is None


def test_amd64_flags_are_spelled_in_words() -> None:
    assert amd64.flags_text(0x246).split() == "iopl=0 nv up ei pl zr na pe nc".split()  # noqa: SIM905
    assert amd64.flags_text(0x3CD5).split() == "iopl=3 ov dn di ng zr ac pe cy".split()  # noqa: SIM905


def test_amd64_trap_frame_needs_only_the_instruction_and_stack_pointer() -> None:
    members = {"Rip": 0x10, "Rsp": 0x20, "SegCs": 0xFFFF0010, "Rbp": 0x30}

    def member(name: str) -> int:
        if name not in members:
            raise MemoryAccessError(0, 8, "no such member")
        return members[name]

    context = amd64.decode_trap_frame(member)
    assert (context.ip, context.sp, context.values["cs"], context.values["rbp"]) == (0x10, 0x20, 0x10, 0x30)
    assert context.values["r12"] == 0
    del members["Rsp"]
    with pytest.raises(MemoryAccessError):
        amd64.decode_trap_frame(member)


def arm64_record() -> bytearray:
    data = bytearray(arm64.CONTEXT_SIZE)
    struct.pack_into("<II", data, 0, 0x40001F, 0x60000004)
    struct.pack_into("<33Q", data, 8, *range(0x100, 0x121))
    for number in range(32):
        struct.pack_into("<2Q", data, 0x110 + 16 * number, 0x1122334455667700 + number, number)
    struct.pack_into("<II", data, 0x310, 0x11, 0x22)
    struct.pack_into("<8I8Q2I2Q", data, 0x318, *range(1, 9), *range(0x10, 0x18), 0x21, 0x22, 0x31, 0x32)
    return data


def test_arm64_record_is_decoded_by_the_offsets_of_the_header_file() -> None:
    context = arm64.decode_context(bytes(arm64_record()))
    values = context.values
    assert [values[name] for name in arm64.GENERAL] == list(range(0x100, 0x121))
    assert (context.sp, context.ip) == (0x11F, 0x120)
    assert values["v31"] == 31 << 64 | 0x112233445566771F
    assert (values["fpcr"], values["fpsr"], values["cpsr"]) == (0x11, 0x22, 0x60000004)
    assert (values["bcr7"], values["bvr7"], values["wcr1"], values["wvr1"]) == (8, 0x17, 0x22, 0x32)


def test_arm64_parts_of_registers_and_flags_are_cut_out() -> None:
    context = arm64.decode_context(bytes(arm64_record()))
    wanted = {"w3": 0x103, "x29": 0x11D, "x30": 0x11E, "d1": 0x1122334455667701, "s1": 0x55667701, "b1": 1}
    wanted |= {"zf": 1, "cf": 1, "nf": 0, "vf": 0, "el": 1, "q1": 1 << 64 | 0x1122334455667701}
    assert {name: arm64.read_register(context, name) for name in wanted} == wanted
    for absent in ("w31", "x32", "d32", "b999999", "w²", "", "el2"):
        assert arm64.read_register(context, absent) is None
    assert arm64.flags_text(0x60000004) == "-ZC- EL1"


def test_every_listed_name_can_be_read() -> None:
    for module, record in ((amd64, amd64_record()), (arm64, arm64_record())):
        context = module.decode_context(bytes(record))
        assert [name for name in module.register_names() if module.read_register(context, name) is None] == []


@pytest.mark.parametrize("decode", [amd64.decode_context, arm64.decode_context])
def test_records_that_are_short_or_of_another_machine_are_refused(decode: object) -> None:
    with pytest.raises(FormatError):
        decode(b"\0" * 64)  # type: ignore[operator]
    with pytest.raises(FormatError):
        decode(b"\x08\0\0\0" * 400)  # type: ignore[operator]
