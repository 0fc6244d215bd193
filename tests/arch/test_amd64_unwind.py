"""AMD64 unwind data made by hand: every operation, version 2, chains, parts of functions, damage."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.arch.amd64.context import GENERAL
from kdive.arch.amd64.unwind import (
    MAX_CHAIN,
    RuntimeFunction,
    Unwinder,
    find_function,
    parse_unwind_info,
)
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, KdiveError
from kdive.memory.fragments import FragmentMemory

BASE = 0xFFFFF80000000000
STACK = 0xFFFFD00000000000
RETURN = 0xFFFFF80000005678
RBX, RBP, RSI, RDI = 3, 5, 6, 7
FUNCTION = RuntimeFunction(0x1000, 0x1040, 0x2000)


def info(
    *codes: int,
    version: int = 1,
    flags: int = 0,
    prologue: int = 16,
    frame: int = 0,
    offset: int = 0,
    tail: bytes = b"",
) -> bytes:
    """UNWIND_INFO of 16-bit slots."""
    head = bytes((version | flags << 3, prologue, len(codes), frame | offset << 4))
    return head + struct.pack(f"<{len(codes)}H", *codes) + b"\0\0" * (len(codes) & 1) + tail


def op(offset: int, operation: int, operand: int = 0) -> int:
    return offset | (operation | operand << 4) << 8


class Image:
    """An image of code at 0x1000 and unwind data at 0x2000."""

    def __init__(self, unwind: bytes, code: bytes = b"\x90" * 64, **more: bytes) -> None:
        self.parts = {0x1000: code, 0x2000: unwind, **{int(key[1:], 16): value for key, value in more.items()}}

    def read(self, rva: int, size: int) -> bytes:
        for start, data in self.parts.items():
            if start <= rva < start + len(data):
                return data[rva - start : rva - start + size]
        return b""


def step(
    image: Image,
    stack: list[int],
    *,
    offset: int = 0x20,
    registers: dict[str, int] | None = None,
    pdata: bytes = b"",
    function: RuntimeFunction = FUNCTION,
) -> tuple[RegisterContext, bool]:
    values = dict.fromkeys(GENERAL, 0) | {"rsp": STACK, "rip": BASE + function.begin + offset} | (registers or {})
    memory = FragmentMemory([(STACK, memoryview(struct.pack(f"<{len(stack)}Q", *stack)))])
    return Unwinder(memory, image.read, BASE, pdata).step(RegisterContext("amd64", values), function)


def test_pushes_and_allocations_are_undone() -> None:
    image = Image(info(op(9, 2, 3), op(5, 0, RDI), op(4, 0, 12)))
    caller, machine = step(image, [0, 0, 0, 0, 0x77, 0xCC, RETURN, 0])
    assert (caller.ip, caller.sp, machine) == (RETURN, STACK + 56, False)
    assert (caller.values["rdi"], caller.values["r12"]) == (0x77, 0xCC)


def test_a_prologue_that_is_not_finished_is_undone_as_far_as_it_went() -> None:
    image = Image(info(op(9, 2, 3), op(5, 0, RDI), op(4, 0, 12), prologue=9))
    assert step(image, [RETURN], offset=0)[0].ip == RETURN
    assert step(image, [0xCC, RETURN], offset=4)[0].values["r12"] == 0xCC
    caller, _ = step(image, [0x77, 0xCC, RETURN], offset=8)
    assert (caller.ip, caller.values["rdi"], caller.values["r12"]) == (RETURN, 0x77, 0xCC)


def test_large_allocations_have_two_forms() -> None:
    memory_size = 0x80
    assert step(Image(info(op(7, 1, 0), memory_size // 8)), [0] * 16 + [RETURN])[0].ip == RETURN
    assert step(Image(info(op(7, 1, 1), memory_size, 0)), [0] * 16 + [RETURN])[0].ip == RETURN


def test_registers_saved_by_moves_are_loaded_from_the_frame() -> None:
    codes = (op(8, 4, RBX), 1, op(8, 5, RSI), 16, 0, op(8, 8, 6), 2, op(8, 9, 7), 48, 0, op(4, 1), 8)
    stack = [0, 0xB, 0x51, 0, 6, 0x60, 7, 0x70, RETURN]
    caller, _ = step(Image(info(*codes)), stack)
    assert (caller.values["rbx"], caller.values["rsi"]) == (0xB, 0x51)
    assert caller.values["xmm6"] == 0x60 << 64 | 6
    assert caller.values["xmm7"] == 0x70 << 64 | 7
    assert caller.ip == RETURN


def test_a_frame_register_finds_the_frame_below_dynamic_allocations() -> None:
    image = Image(info(op(8, 3), op(5, 2, 3), op(1, 0, RBP), frame=RBP, offset=1))
    stack = [0xBAD] * 4 + [0] * 4 + [0xEB, RETURN]
    caller, _ = step(image, stack, registers={"rbp": STACK + 32 + 16})
    assert (caller.ip, caller.values["rbp"], caller.sp) == (RETURN, 0xEB, STACK + 80)
    # Before the frame register is set it means nothing.
    caller, _ = step(image, [0] * 4 + [0xEB, RETURN], offset=5, registers={"rbp": 0x1234})
    assert (caller.ip, caller.values["rbp"]) == (RETURN, 0xEB)


@pytest.mark.parametrize("error_code", [False, True])
def test_a_machine_frame_gives_the_interrupted_place_exactly(error_code: bool) -> None:
    image = Image(info(op(4, 2, 0), op(0, 10, int(error_code))))
    frame = [RETURN, 0x10, 0x246, STACK + 0x800, 0x18]
    caller, machine = step(image, [0, *([0xE] if error_code else []), *frame])
    assert machine
    assert (caller.ip, caller.sp) == (RETURN, STACK + 0x800)
    assert (caller.values["cs"], caller.values["efl"], caller.values["ss"]) == (0x10, 0x246, 0x18)


def test_chained_information_is_undone_after_the_parts_own() -> None:
    parent = struct.pack("<3I", 0x1800, 0x1900, 0x3000)
    image = Image(info(op(4, 4, RSI), 1, flags=4, tail=parent), x3000=info(op(4, 2, 1), op(1, 0, RBX)))
    caller, _ = step(image, [0, 0x51, 0xB, RETURN])
    assert (caller.ip, caller.values["rsi"], caller.values["rbx"]) == (RETURN, 0x51, 0xB)


def test_a_chain_without_end_is_refused() -> None:
    image = Image(info(flags=4, tail=struct.pack("<3I", 0x1000, 0x1040, 0x2000)))
    with pytest.raises(FormatError, match=str(MAX_CHAIN)):
        step(image, [RETURN])
    loop = struct.pack("<3I", 0x1000, 0x1040, 0x3001)
    with pytest.raises(FormatError):
        step(Image(b"", x3000=loop), [RETURN], function=RuntimeFunction(0x1000, 0x1040, 0x3001))


def test_an_entry_may_stand_for_another_one() -> None:
    image = Image(info(op(1, 0, RBX)), x3000=struct.pack("<3I", 0x1000, 0x1040, 0x2000))
    caller, _ = step(image, [0xB, RETURN], function=RuntimeFunction(0x1000, 0x1040, 0x3001))
    assert (caller.ip, caller.values["rbx"]) == (RETURN, 0xB)


EPILOGUES = {
    "add rsp, 20h; pop rdi; pop r12; ret": ("4883c4205f415cc3", [0] * 4 + [7, 12, RETURN]),
    "add rsp, 80h; pop rdi; ret": ("4881c4800000005fc3", [0] * 16 + [7, RETURN]),
    "pop rdi; pop r12; ret 8": ("5f415cc20800", [7, 12, RETURN]),
    "rep ret": ("f3c3", [RETURN]),
    "pop rdi; jmp to another function": ("5fe900010000", [7, RETURN]),
    "jmp rax": ("48ffe0", [RETURN]),
    "jmp [import]": ("48ff2500000000", [RETURN]),
}


@pytest.mark.parametrize("case", EPILOGUES)
def test_an_epilogue_is_finished_by_following_its_code(case: str) -> None:
    code, stack = EPILOGUES[case]
    image = Image(info(op(9, 2, 15), op(5, 0, RBX), prologue=9), b"\x90" * 0x20 + bytes.fromhex(code) + b"\xcc" * 32)
    caller, _ = step(image, stack)
    assert (caller.ip, caller.sp) == (RETURN, STACK + 8 * len(stack))
    if 12 in stack:
        assert (caller.values["rdi"], caller.values["r12"]) == (7, 12)


def test_a_frame_register_epilogue_uses_its_register() -> None:
    code = b"\x90" * 0x20 + bytes.fromhex("488d65105dc3")  # lea rsp, [rbp+10h]; pop rbp; ret
    image = Image(info(op(8, 3), op(1, 0, RBP), frame=RBP), code)
    caller, _ = step(image, [0xBAD, 0xBAD, 0xEB, RETURN], registers={"rbp": STACK})
    assert (caller.ip, caller.values["rbp"]) == (RETURN, 0xEB)
    # Another register's lea is no epilogue.
    image = Image(info(op(1, 0, RBX)), b"\x90" * 0x20 + bytes.fromhex("488d67105dc3"))
    assert step(image, [0xB, RETURN])[0].values["rbx"] == 0xB


def test_a_jump_to_another_part_of_the_function_is_no_tail_call() -> None:
    parent = struct.pack("<3I", 0x1000, 0x1040, 0x2000)
    cold = info(flags=4, prologue=0, tail=parent)
    pdata = parent + struct.pack("<3I", 0x1100, 0x1140, 0x3000)
    jump = b"\x90" * 0x20 + b"\xe9" + struct.pack("<i", 0x1100 - 0x1025) + b"\xcc" * 16
    image = Image(info(op(1, 0, RBX), prologue=1), jump, x3000=cold)
    assert step(image, [0xB, RETURN], pdata=pdata)[0].ip == RETURN
    other = Image(info(op(1, 0, RBX), prologue=1), jump, x3000=info(prologue=0))
    assert step(other, [RETURN], pdata=pdata)[0].ip == RETURN
    # A jump to the function's own start calls it again.
    again = b"\x90" * 0x20 + b"\xe9" + struct.pack("<i", 0x1000 - 0x1025) + b"\xcc" * 16
    assert step(Image(info(op(1, 0, RBX), prologue=1), again), [RETURN], pdata=pdata)[0].ip == RETURN


def test_version_2_says_where_epilogues_are() -> None:
    code = b"\x90" * 0x20 + b"\x5b\xc3" + b"\x90" * 0x1C + b"\x5b\xc3"
    # Size 2, one at the end, one more 0x20 before the end.
    unwind = info(op(2, 6, 1), op(0x20, 6), op(1, 0, RBX), version=2, prologue=1)
    parsed = parse_unwind_info(Image(unwind).read, 0x2000)
    assert parsed.epilogues == ((2, 2), (0x20, 2))
    image = Image(unwind, code)
    assert step(image, [RETURN], offset=0x21)[0].ip == RETURN
    assert step(image, [RETURN], offset=0x3F)[0].ip == RETURN
    assert step(image, [0xB, RETURN], offset=0x3E)[0].ip == RETURN
    # Code that merely looks like an epilogue is none if the data do not say so.
    assert step(Image(unwind, code[:0x10] + b"\xc3" + code[0x11:]), [0xB, RETURN], offset=0x10)[0].ip == RETURN
    none = info(op(1, 0, RBX), version=2, prologue=1)
    assert step(Image(none, b"\xc3" * 64), [0xB, RETURN], offset=0x10)[0].ip == RETURN


def test_a_return_address_behind_the_function_is_not_taken_for_an_epilogue() -> None:
    image = Image(info(op(1, 0, RBX), prologue=1), b"\x90" * 0x40 + b"\xc3")
    assert step(image, [0xB, RETURN], offset=0x40)[0].ip == RETURN


def test_functions_are_found_by_bisection() -> None:
    pdata = struct.pack("<9I", 0x1000, 0x1010, 1, 0x1010, 0x1020, 2, 0x1040, 0x1050, 3) + b"\0\0\0"
    found = {rva: find_function(pdata, rva) for rva in (0xFFF, 0x1000, 0x100F, 0x1010, 0x1030, 0x104F, 0x1050)}
    assert {rva: function.unwind if function else None for rva, function in found.items()} == {
        0xFFF: None,
        0x1000: 1,
        0x100F: 1,
        0x1010: 2,
        0x1030: None,
        0x104F: 3,
        0x1050: None,
    }
    assert find_function(b"", 0) is None


def test_damaged_unwind_data_is_refused() -> None:
    for unwind in (b"", b"\x01", b"\x03\0\0\0", b"\x01\0\x08\0\0\0", info(op(0, 11)), info(op(0, 15), version=2)):
        with pytest.raises(FormatError):
            step(Image(unwind), [RETURN])


def test_a_register_that_the_context_lacks_is_named() -> None:
    image = Image(info(op(8, 3), frame=RBP))
    memory = FragmentMemory([(STACK, memoryview(bytes(64)))])
    context = RegisterContext("amd64", {"rip": BASE + 0x1020, "rsp": STACK})
    with pytest.raises(FormatError, match="rbp"):
        Unwinder(memory, image.read, BASE).step(context, FUNCTION)


@settings(max_examples=300, deadline=None)
@given(unwind=st.binary(max_size=80), code=st.binary(max_size=64), offset=st.integers(0, 0x50))
def test_random_unwind_data_gives_an_answer_or_a_clear_error(unwind: bytes, code: bytes, offset: int) -> None:
    with contextlib.suppress(KdiveError):
        step(Image(bytes((1 + offset % 2,)) + unwind, code), [RETURN] * 64, offset=offset, pdata=unwind)
