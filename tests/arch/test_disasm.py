"""Instructions of both architectures: text, flow, memory operands."""

from __future__ import annotations

import struct

from kdive.arch.amd64.disasm import decode as decode_amd64
from kdive.arch.arm64.disasm import decode as decode_arm64
from kdive.arch.context import RegisterContext
from kdive.arch.disasm import Instruction, effective_address

PLACE = 0xFFFFF8048B58334C


def name(address: int) -> str | None:
    return {0xFFFFF8048B583400: "mod!Near", 0xFFFFF8048B584000: "mod!Page"}.get(address)


def amd64(code: str, *, limit: int = 16) -> list[Instruction]:
    return list(decode_amd64(bytes.fromhex(code), PLACE, limit=limit, symbolizer=name))


def arm64(*words: int, place: int = 0xFFFFF8048B583000) -> list[Instruction]:
    data = struct.pack(f"<{len(words)}I", *words)
    return list(decode_arm64(data, place, limit=100, symbolizer=name))


def test_amd64_lines_have_windbgs_columns() -> None:
    (line,) = amd64("43891401")
    assert line.text_line() == "fffff804`8b58334c 43891401        mov     dword ptr [r9+r8],edx"


def test_amd64_targets_are_named() -> None:
    (call,) = amd64("e8af000000")
    assert (call.flow, call.target) == ("call", 0xFFFFF8048B583400)
    assert call.text_line().endswith("call    mod!Near (fffff804`8b583400)")
    (load,) = amd64("488b05ad000000")
    assert load.operands == "rax,qword ptr [mod!Near (fffff804`8b583400)]"
    assert load.memory is not None
    assert (load.memory.displacement, load.memory.size, load.memory.read, load.memory.write) == (
        0xFFFFF8048B583400,
        8,
        True,
        False,
    )


def test_amd64_flow_is_told() -> None:
    flows = {
        "c3": "return",
        "ebfe": "branch",
        "74fe": "conditional",
        "ffe0": "branch",
        "ffd0": "call",
        "cc": "interrupt",
        "90": "next",
        "0f0b": "interrupt",
        "48cf": "return",
    }
    assert {code: amd64(code)[0].flow for code in flows} == flows


def test_amd64_bytes_that_are_no_instruction_are_passed_over_one_by_one() -> None:
    lines = amd64("0606" + "90" * 16, limit=4)
    assert [(line.mnemonic, len(line.data)) for line in lines] == [("???", 1), ("???", 1), ("nop", 1), ("nop", 1)]


def test_amd64_an_instruction_that_is_cut_off_is_not_shown() -> None:
    assert [line.mnemonic for line in amd64("9048b8112233")] == ["nop"]
    assert amd64("") == []


def test_effective_addresses_come_from_registers() -> None:
    context = RegisterContext("amd64", {"r8": 0x10, "r9": 0xFFFFF80000000000, "rax": 0xFFFFFFFF_00000004})
    assert effective_address(amd64("43891401")[0], context) == 0xFFFFF80000000010
    assert effective_address(amd64("498b41f8")[0], context) == 0xFFFFF7FFFFFFFFF8
    assert effective_address(amd64("678b4004")[0], context) == 8
    assert effective_address(amd64("488b4608")[0], context) is None
    assert effective_address(amd64("65488b042588010000")[0], context) is None
    assert effective_address(amd64("90")[0], context) is None
    arm = RegisterContext("arm64", {"x0": 0x1000, "x1": 0xFFFFFFFE, "sp": 0x8000})
    assert effective_address(arm64(0xF8617800)[0], arm) == 0x1000 + 8 * 0xFFFFFFFE
    assert effective_address(arm64(0xB8A1C800)[0], arm) == 0x1000 - 2
    assert effective_address(arm64(0xA9BE7BFD)[0], arm) == 0x7FE0
    assert effective_address(arm64(0xA8C27BFD)[0], arm) == 0x8000


def test_arm64_lines_have_windbgs_columns() -> None:
    lines = arm64(0xA9BE7BFD, 0xD43E0000, 0xD503237F)
    assert [line.text_line() for line in lines] == [
        "fffff804`8b583000 a9be7bfd stp         fp,lr,[sp,#-0x20]!",
        "fffff804`8b583004 d43e0000 brk         #0xF000",
        "fffff804`8b583008 d503237f pacibsp",
    ]


def test_arm64_targets_are_named() -> None:
    branch, page, load = arm64(0x94000100, 0xB0000008, 0x58007FC0)
    assert (branch.flow, branch.target, branch.operands) == ("call", 0xFFFFF8048B583400, "mod!Near (fffff804`8b583400)")
    assert (page.flow, page.target, page.operands) == ("next", None, "x8,mod!Page (fffff804`8b584000)")
    assert load.memory is not None
    assert (load.operands, load.memory.displacement) == ("x0,mod!Page (fffff804`8b584000)", 0xFFFFF8048B584000)


def test_arm64_flow_and_accesses_are_told() -> None:
    flows = {0xD65F03C0: "return", 0x14000001: "branch", 0x54000040: "conditional", 0x36000040: "conditional"}
    flows |= {0xD63F0100: "call", 0xD61F0100: "branch", 0xD43E0000: "interrupt", 0xD503201F: "next"}
    assert {word: arm64(word)[0].flow for word in flows} == flows
    accesses = {0xF9400FA8: (True, False, 8), 0xA9BE7BFD: (False, True, 16), 0x39000001: (False, True, 1)}
    accesses |= {0xF8200020: (True, True, 8), 0x3DC00400: (True, False, 16), 0xB8A1C800: (True, False, 4)}
    for word, wanted in accesses.items():
        memory = arm64(word)[0].memory
        assert memory is not None
        assert (memory.read, memory.write, memory.size) == wanted, f"{word:#x}"


def test_arm64_words_that_are_no_instruction_are_passed_over() -> None:
    assert [line.mnemonic for line in arm64(0xFFFFFFFF, 0xD503201F)] == ["???", "nop"]
    assert list(decode_arm64(b"\x1f\x20\x03", 0, limit=5)) == []
