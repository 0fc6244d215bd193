"""ARM64 unwind data made by hand: packed and full records, every kind of code, parts of functions, damage."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.arch.arm64.context import CONTEXT_SIZE, GENERAL
from kdive.arch.arm64.unwind import (
    Operation,
    RuntimeFunction,
    Unwinder,
    find_function,
    parse_unwind_data,
    strip_pointer_authentication,
)
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, KdiveError
from kdive.memory.fragments import FragmentMemory

BASE = 0xFFFFF80000000000
STACK = 0xFFFFD00000000000
RETURN = 0xFFFFF80000005678
END, END_C, SET_FP, NEXT, NOP, PAC = 0xE4, 0xE5, 0xE1, 0xE6, 0xE3, 0xFC


def packed(
    *,
    length: int = 0x80,
    floats: int = 0,
    integers: int = 0,
    home: int = 0,
    chain: int = 0,
    frame: int = 0,
    flag: int = 1,
) -> int:
    return flag | length // 4 << 2 | floats << 13 | integers << 16 | home << 20 | chain << 21 | frame // 16 << 23


def full(
    codes: bytes, *, length: int = 0x80, scopes: tuple[tuple[int, int], ...] = (), single: int | None = None
) -> bytes:
    """An .xdata record: scopes are (offset in bytes, index of the first code)."""
    codes += b"\xe3" * (-len(codes) % 4)
    count = len(scopes) if single is None else single
    head = length // 4 | (single is not None) << 21 | count << 22 | len(codes) // 4 << 27
    return struct.pack(f"<I{len(scopes)}I", head, *(at // 4 | index << 22 for at, index in scopes)) + codes


def written(operation: Operation) -> str:
    """An operation of a prologue as an assembler would have it."""
    place = f"[sp, #-{operation.size}]!" if operation.size else f"[sp, #{operation.offset}]"
    number = operation.register
    texts = {
        "save_pair": f"stp x{number}, x{number + 1}, {place}",
        "save_reg": f"str x{number}, {place}",
        "save_lrpair": f"stp x{number}, x30, {place}",
        "save_fpair": f"stp d{number}, d{number + 1}, {place}",
        "save_freg": f"str d{number}, {place}",
        "save_qpair": f"stp q{number}, q{number + 1}, {place}",
        "save_qreg": f"str q{number}, {place}",
        "alloc": f"sub sp, #{operation.size}",
    }
    return texts.get(operation.name, operation.name)


PACKED = {
    "all registers": (
        packed(floats=7, integers=10, frame=160),
        [
            "stp x19, x20, [sp, #-144]!",
            *(f"stp x{19 + n}, x{20 + n}, [sp, #{8 * n}]" for n in (2, 4, 6, 8)),
            *(f"stp d{8 + n}, d{9 + n}, [sp, #{80 + 8 * n}]" for n in (0, 2, 4, 6)),
            "sub sp, #16",
        ],
    ),
    "odd counts": (
        packed(floats=2, integers=3, frame=48),
        ["stp x19, x20, [sp, #-48]!", "str x21, [sp, #16]", "stp d8, d9, [sp, #24]", "str d10, [sp, #40]"],
    ),
    "floats only": (packed(floats=1, frame=48), ["stp d8, d9, [sp, #-16]!", "sub sp, #32"]),
    "homes behind a register": (
        packed(integers=1, home=1, frame=112),
        ["str x19, [sp, #-80]!", *["nop"] * 4, "sub sp, #32"],
    ),
    "homes alone": (packed(home=1, frame=112), ["sub sp, #112"]),
    "homes in a chained function": (packed(home=1, chain=3, frame=96), ["stp x29, x30, [sp, #-96]!", "set_fp"]),
    "lr alone": (packed(chain=1, frame=32), ["str x30, [sp, #-16]!", "sub sp, #16"]),
    "one register and lr": (
        packed(integers=1, chain=1, frame=32),
        ["sub sp, #16", "stp x19, x30, [sp, #0]", "sub sp, #16"],
    ),
    "two registers and lr": (
        packed(integers=2, chain=1, frame=32),
        ["stp x19, x20, [sp, #-32]!", "str x30, [sp, #16]"],
    ),
    "three registers and lr": (
        packed(integers=3, chain=1, frame=48),
        ["stp x19, x20, [sp, #-32]!", "stp x21, x30, [sp, #16]", "sub sp, #16"],
    ),
    "chained": (
        packed(integers=2, chain=3, frame=48),
        ["stp x19, x20, [sp, #-16]!", "stp x29, x30, [sp, #-32]!", "set_fp"],
    ),
    "signed": (packed(chain=2, frame=32), ["pac", "stp x29, x30, [sp, #-32]!", "set_fp"]),
    "chained, wide": (
        packed(integers=2, chain=3, frame=544),
        ["stp x19, x20, [sp, #-16]!", "sub sp, #528", "stp x29, x30, [sp, #0]", "set_fp"],
    ),
    "chained, very wide": (
        packed(integers=2, chain=3, frame=4112),
        ["stp x19, x20, [sp, #-16]!", "sub sp, #4080", "sub sp, #16", "stp x29, x30, [sp, #0]", "set_fp"],
    ),
    "very wide": (packed(integers=2, frame=4112), ["stp x19, x20, [sp, #-16]!", "sub sp, #4080", "sub sp, #16"]),
}


@pytest.mark.parametrize("case", PACKED)
def test_packed_data_stand_for_the_canonical_prologue(case: str) -> None:
    word, prologue = PACKED[case]
    data = parse_unwind_data(lambda _rva, _size: b"", RuntimeFunction(0x1000, word))
    assert [written(operation) for operation in reversed(data.prologue)] == prologue
    assert data.length == 0x80
    ((start, epilogue),) = data.epilogues
    assert start == 0x80 - 4 * (len(epilogue) + 1)
    assert [written(o) for o in reversed(epilogue)] == [text for text in prologue if text not in ("set_fp", "nop")]


def test_packed_fragments_have_no_prologue_of_their_own() -> None:
    data = parse_unwind_data(lambda _rva, _size: b"", RuntimeFunction(0x1000, packed(integers=2, frame=16, flag=2)))
    assert (data.has_prologue, data.epilogues, len(data.prologue)) == (False, (), 1)


def test_packed_data_of_a_frame_smaller_than_its_saves_are_refused() -> None:
    with pytest.raises(FormatError):
        parse_unwind_data(lambda _rva, _size: b"", RuntimeFunction(0x1000, packed(integers=10, frame=16)))
    with pytest.raises(FormatError):
        parse_unwind_data(lambda _rva, _size: b"", RuntimeFunction(0x1000, 3))


CODES = {
    "02": "sub sp, #32",
    "c101": "sub sp, #4112",
    "e0010000": "sub sp, #1048576",
    "24": "stp x19, x20, [sp, #-32]!",
    "42": "stp x29, x30, [sp, #16]",
    "83": "stp x29, x30, [sp, #-32]!",
    "c882": "stp x21, x22, [sp, #16]",
    "cc83": "stp x21, x22, [sp, #-32]!",
    "d0c2": "str x22, [sp, #16]",
    "d461": "str x22, [sp, #-16]!",
    "d682": "stp x23, x30, [sp, #16]",
    "d882": "stp d10, d11, [sp, #16]",
    "da83": "stp d10, d11, [sp, #-32]!",
    "dc82": "str d10, [sp, #16]",
    "de43": "str d10, [sp, #-32]!",
    "e70001": "str x0, [sp, #8]",
    "e70041": "str d0, [sp, #8]",
    "e70081": "str q0, [sp, #16]",
    "e72001": "str x0, [sp, #-32]!",
    "e77d01": "stp x29, x30, [sp, #-32]!",
    "e76689": "stp q6, q7, [sp, #-160]!",
    "e74e88": "stp q14, q15, [sp, #128]",
    "e700c1": "nop",
    "e1": "set_fp",
    "e203": "add_fp",
    "e3": "nop",
    "fc": "pac",
    "e8": "trap_frame",
    "e9": "machine_frame",
    "ea": "context",
    "eb": "ec_context",
    "ec": "nop",
    "df01": "other",
    "e7800000": "other",
    "fa000000": "other",
}


@pytest.mark.parametrize("code", CODES)
def test_every_unwind_code_is_decoded(code: str) -> None:
    record = full(bytes.fromhex(code)[: 3 if code.startswith("e7") else None] + bytes((END,)))
    data = parse_unwind_data(lambda rva, size: record[rva - 0x2000 :][:size], RuntimeFunction(0x1000, 0x2000))
    assert [written(operation) for operation in data.prologue] == [CODES[code]]


def step(
    codes: bytes, stack: list[int], *, offset: int = 0x40, registers: dict[str, int] | None = None, **record: object
) -> tuple[RegisterContext, bool]:
    raw = full(codes, **record)  # type: ignore[arg-type]
    values = dict.fromkeys(GENERAL, 0) | {"sp": STACK, "pc": BASE + 0x1000 + offset, "lr": RETURN} | (registers or {})
    memory = FragmentMemory([(STACK, memoryview(struct.pack(f"<{len(stack)}Q", *stack)))])
    unwinder = Unwinder(memory, lambda rva, size: raw[rva - 0x2000 :][:size], BASE)
    found = unwinder.step(RegisterContext("arm64", values), RuntimeFunction(0x1000, 0x2000))
    assert found is not None
    return found


def test_save_next_goes_on_upwards_and_from_integers_to_floats() -> None:
    codes = bytes((NEXT, NEXT, 0xC9, 0x80, END))  # stp x25, x26, [sp]; then x27, x28; then d8, d9
    caller, _ = step(codes, [25, 26, 27, 28, 8, 9])
    assert [caller.values[f"x{number}"] for number in range(25, 29)] == [25, 26, 27, 28]
    assert (caller.values["v8"], caller.values["v9"], caller.values["fp"], caller.ip) == (8, 9, 0, RETURN)


def test_save_next_takes_whole_vectors_where_the_first_pair_is_of_vectors() -> None:
    codes = bytes((NEXT, 0xE7, 0x46, 0x80, END))  # stp q6, q7, [sp]; then q8, q9
    caller, _ = step(codes, [6, 0x60, 7, 0x70, 8, 0x80, 9, 0x90])
    assert [caller.values[f"v{number}"] >> 64 for number in range(6, 10)] == [0x60, 0x70, 0x80, 0x90]


def test_the_frame_pointer_finds_the_frame_below_dynamic_allocations() -> None:
    codes = bytes((SET_FP, 0x81, END))
    caller, _ = step(codes, [0, 0, 0xF, RETURN + 4], registers={"fp": STACK + 16, "lr": 0})
    assert (caller.ip, caller.sp, caller.values["fp"]) == (RETURN + 4, STACK + 32, 0xF)
    codes = bytes((0xE2, 2, 0x81, END))
    caller, _ = step(codes, [0, 0, 0xF, RETURN + 4], registers={"fp": STACK + 32, "lr": 0})
    assert (caller.ip, caller.sp) == (RETURN + 4, STACK + 32)


def test_a_signed_return_address_loses_its_signature() -> None:
    codes = bytes((SET_FP, 0x81, PAC, END))
    signed = RETURN & 0x0080_FFFF_FFFF_FFFF | 0x3A80_0000_0000_0000
    caller, _ = step(codes, [0, signed], registers={"fp": STACK})
    assert caller.ip == RETURN
    assert strip_pointer_authentication(0x3A00_7FF6_1234_5678) == 0x7FF6_1234_5678


def test_prologues_and_epilogues_are_undone_as_far_as_they_went() -> None:
    # stp x29, x30, [sp, #-16]!; stp x19, x20, [sp, #-16]!; sub sp, #16
    codes = bytes((1, 0x22, 0x81, END))
    where = {"scopes": ((0x60, 0),)}
    whole = [0, 0, 19, 20, 0xF, RETURN + 8]
    for offset, taken in {0: 6, 4: 4, 8: 2, 12: 0, 0x40: 0, 0x60: 0, 0x64: 2, 0x68: 4, 0x6C: 6}.items():
        caller, _ = step(codes, [*whole[taken:], 0], offset=offset, registers={"lr": RETURN + 8}, **where)
        assert (caller.ip, caller.sp) == (RETURN + 8, STACK + 8 * (6 - taken)), hex(offset)
    # The same with the one epilogue at the end, told by the header.
    caller, _ = step(codes, [19, 20, 0xF, RETURN + 8], offset=0x74, registers={"lr": 0}, single=0)
    assert (caller.ip, caller.values["x19"]) == (RETURN + 8, 19)


def test_a_part_of_a_function_undoes_what_the_function_did_before_it() -> None:
    # The part saves x21, x22; the function saved the frame record. All of it is undone, but only one code is code here.
    codes = bytes((0xCC, 0x81, END_C, 0x81, END))
    caller, _ = step(codes, [21, 22, 0xF, RETURN + 8])
    assert (caller.ip, caller.sp, caller.values["x21"]) == (RETURN + 8, STACK + 32, 21)
    caller, _ = step(codes, [0xF, RETURN + 8], offset=0)
    assert (caller.ip, caller.sp) == (RETURN + 8, STACK + 16)
    # Nothing of its own: the first instruction stands in the body.
    caller, _ = step(bytes((END_C, 0x81, END)), [0xF, RETURN + 8], offset=0)
    assert caller.ip == RETURN + 8


def test_machine_frames_and_contexts_give_the_interrupted_place_exactly() -> None:
    caller, machine = step(bytes((0xE9, END)), [STACK + 0x800, RETURN])
    assert (caller.ip, caller.sp, machine) == (RETURN, STACK + 0x800, True)
    record = bytearray(CONTEXT_SIZE)
    struct.pack_into("<I4xQ", record, 0, 0x400000, 0x77)
    struct.pack_into("<QQ", record, 0x100, STACK + 0x900, RETURN + 4)
    caller, machine = step(bytes((0xEA, END)), list(struct.unpack("<114Q", record)))
    assert (caller.ip, caller.sp, caller.values["x0"], machine) == (RETURN + 4, STACK + 0x900, 0x77, True)


def test_a_trap_frame_is_decoded_by_who_knows_its_layout() -> None:
    raw = full(bytes((0xE8, END)))
    trap = RegisterContext("arm64", {"pc": RETURN, "sp": STACK + 0x800, "x0": 5, "x19": 0})

    def step_with(answer: RegisterContext | None) -> tuple[RegisterContext, bool] | None:
        values = dict.fromkeys(GENERAL, 0) | {"sp": STACK, "pc": BASE + 0x1040, "x19": 19}
        memory = FragmentMemory([(STACK, memoryview(bytes(64)))])
        unwinder = Unwinder(memory, lambda rva, size: raw[rva - 0x2000 :][:size], BASE, lambda _: answer)
        return unwinder.step(RegisterContext("arm64", values), RuntimeFunction(0x1000, 0x2000))

    found = step_with(trap)
    assert found is not None
    caller, machine = found
    assert (caller.ip, caller.sp, caller.values["x0"], caller.values["x19"], machine) == (
        RETURN,
        STACK + 0x800,
        5,
        19,
        True,
    )
    with pytest.raises(FormatError):
        step_with(None)


def test_frames_that_need_more_than_the_stack_are_refused() -> None:
    for code, words in ((0xE8, "trap frame"), (0xEB, "emulated"), (0xFD, "not known")):
        with pytest.raises(FormatError, match=words):
            step(bytes((code, END)), [0] * 8)


def test_long_records_have_a_second_header_word() -> None:
    codes = bytes((NOP,)) * 128 + bytes((0x81, END, NOP, NOP))
    raw = struct.pack("<III", 0x400 // 4, 1 | len(codes) // 4 << 16, 0x300 // 4 | 128 << 22) + codes
    data = parse_unwind_data(lambda rva, size: raw[rva - 0x2000 :][:size], RuntimeFunction(0x1000, 0x2000))
    assert len(data.prologue) == 129
    ((start, operations),) = data.epilogues
    assert (start, [written(operation) for operation in operations]) == (0x300, ["stp x29, x30, [sp, #-16]!"])


def test_only_the_epilogue_that_may_matter_is_decoded_if_a_place_is_given() -> None:
    raw = full(bytes((0x81, END)), scopes=((0x20, 0), (0x40, 0), (0x60, 0)))
    read = lambda rva, size: raw[rva - 0x2000 :][:size]  # noqa: E731
    function = RuntimeFunction(0x1000, 0x2000)
    assert [start for start, _ in parse_unwind_data(read, function).epilogues] == [0x20, 0x40, 0x60]
    assert [start for start, _ in parse_unwind_data(read, function, 0x44).epilogues] == [0x40]
    assert parse_unwind_data(read, function, 4).epilogues == ()


def test_functions_are_found_by_bisection_and_end_where_their_data_say() -> None:
    pdata = struct.pack("<4I", 0x1000, packed(frame=16), 0x2000, packed(frame=16))
    assert find_function(pdata, 0xFFC) is None
    assert find_function(pdata, 0x1FFC) == RuntimeFunction(0x1000, packed(frame=16))
    unwinder = Unwinder(FragmentMemory([]), lambda _rva, _size: b"", BASE)
    context = RegisterContext("arm64", {"pc": BASE + 0x1080, "sp": STACK, "lr": RETURN})
    assert unwinder.step(context, RuntimeFunction(0x1000, packed(frame=16))) is None


@settings(max_examples=300, deadline=None)
@given(record=st.binary(max_size=120), word=st.integers(0, 0xFFFFFFFF), offset=st.integers(0, 0x200))
def test_random_unwind_data_gives_an_answer_or_a_clear_error(record: bytes, word: int, offset: int) -> None:
    values = dict.fromkeys(GENERAL, STACK + 16) | {"sp": STACK, "pc": BASE + offset}
    memory = FragmentMemory([(STACK, memoryview(bytes(0x400)))])
    for data in (word, 0x2000):
        unwinder = Unwinder(memory, lambda rva, size: record[rva - 0x2000 :][:size] if rva >= 0x2000 else b"", BASE)
        with contextlib.suppress(KdiveError):
            unwinder.step(RegisterContext("arm64", dict(values)), RuntimeFunction(0, data))
