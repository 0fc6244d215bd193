"""The stack walker over made-up stacks: unwinding, null calls, machine frames, scans, frame records, damage."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.arch.amd64.context import GENERAL
from kdive.arch.arm64.context import GENERAL as GENERAL_ARM64
from kdive.arch.context import RegisterContext
from kdive.cancel import CancelToken
from kdive.errors import CancelledError
from kdive.memory.fragments import FragmentMemory
from kdive.stack.scan import follows_call_amd64, follows_call_arm64
from kdive.stack.unwinder import StackFrame, walk

STACK = 0xFFFFD00000000000
DRIVER, KERNEL = 0xFFFFF80010000000, 0xFFFFF80020000000
PUSH_RBX = b"\x01\x01\x01\0\x01\x30\0\0"
ALLOC_38 = b"\x01\x04\x01\0\x04\x62\0\0"
MACHINE = b"\x01\0\x01\0\0\x0a\0\0"


@dataclass
class Module:
    """An image of 64 KiB: functions at 0x1000 + 0x100 * n with the given unwind information."""

    name: str
    base: int
    unwind: list[bytes] = field(default_factory=list)
    code: bytes = b""
    size: int = 0x10000

    def exception_directory(self) -> tuple[int, int]:
        return (0x8000, 12 * len(self.unwind)) if self.unwind else (0, 0)

    def read_image(self, rva: int, size: int) -> bytes:
        table = b"".join(
            struct.pack("<3I", 0x1000 + 0x100 * n, 0x1100 + 0x100 * n, 0x9000 + 0x20 * n)
            for n in range(len(self.unwind))
        )
        data = b"".join(info.ljust(0x20, b"\0") for info in self.unwind)
        for start, part in ((0x8000, table), (0x9000, data), (0x1000, self.code)):
            if start <= rva < start + len(part):
                return part[rva - start : rva - start + size]
        return b""


class Host:
    def __init__(self, stack: list[int], *modules: Module, symbols: bool = True) -> None:
        self.memory = FragmentMemory([(STACK, memoryview(struct.pack(f"<{len(stack)}Q", *stack)))])
        self.modules = modules
        self.symbols = symbols

    def module_at(self, address: int) -> Module | None:
        return next((m for m in self.modules if m.base <= address < m.base + m.size), None)

    def nearest_symbol(self, address: int) -> tuple[str, int, bool] | None:
        module = self.module_at(address)
        if module is None or not self.symbols or address - module.base < 0x1000:
            return None
        offset = address - module.base - 0x1000
        return f"{module.name}!f{offset // 0x100}", offset % 0x100, True

    def trap_frame(self, address: int) -> RegisterContext | None:
        del address


def amd64(ip: int, sp: int = STACK, **registers: int) -> RegisterContext:
    return RegisterContext("amd64", {**dict.fromkeys(GENERAL, 0), "rip": ip, "rsp": sp, **registers})


def arm64(ip: int, sp: int = STACK, **registers: int) -> RegisterContext:
    return RegisterContext("arm64", {**dict.fromkeys(GENERAL_ARM64, 0), "pc": ip, "sp": sp, **registers})


def shape(frames: list[StackFrame]) -> list[tuple[str, int, int]]:
    return [(frame.how, frame.ip, frame.child_sp - STACK) for frame in frames]


def test_frames_are_unwound_with_the_images_own_data() -> None:
    driver = Module("driver", DRIVER, [ALLOC_38, PUSH_RBX])
    host = Host([0, 0, 0, 0, 0, 0, 0, DRIVER + 0x1150, 0xB, 0], driver)
    frames = walk(amd64(DRIVER + 0x1050), host)
    assert shape(frames) == [("context", DRIVER + 0x1050, 0), ("unwind", DRIVER + 0x1150, 64)]
    host = Host([0] * 7 + [DRIVER + 0x1150, 0xB, DRIVER + 0x1060] + [0] * 8, driver)
    frames = walk(amd64(DRIVER + 0x1050), host)
    assert shape(frames)[2:] == [("unwind", DRIVER + 0x1060, 80)]
    assert frames[2].context.values["rbx"] == 0xB


def test_a_leaf_and_a_call_through_null_return_to_the_top_of_the_stack() -> None:
    driver = Module("driver", DRIVER, [PUSH_RBX])
    for start in (0, 0x1234, DRIVER + 0x5000):
        frames = walk(amd64(start), Host([DRIVER + 0x1050, 0xB, 0], driver))
        assert shape(frames)[:2] == [("context", start, 0), ("unwind", DRIVER + 0x1050, 8)]
    assert frames[1].note == "leaf"


def test_a_machine_frame_is_followed_to_where_it_came_from() -> None:
    kernel = Module("nt", KERNEL, [MACHINE])
    driver = Module("driver", DRIVER, [PUSH_RBX])
    stack = [DRIVER + 0x1020, 0x10, 0x246, STACK + 0x40, 0x18, 0, 0, 0, 0xB, DRIVER + 0x1050, 0xB, 0]
    frames = walk(amd64(KERNEL + 0x1010), Host(stack, kernel, driver))
    assert shape(frames)[1:] == [("unwind", DRIVER + 0x1020, 0x40), ("unwind", DRIVER + 0x1050, 0x50)]
    assert frames[1].note == "machine frame"


def test_machine_frames_that_lead_in_a_circle_end_the_walk() -> None:
    kernel = Module("nt", KERNEL, [MACHINE])
    stack = [KERNEL + 0x1010, 0x10, 0x246, STACK, 0x18]
    assert len(walk(amd64(KERNEL + 0x1010), Host(stack, kernel))) == 1


def test_without_unwind_data_the_stack_is_scanned_and_says_so() -> None:
    kernel = Module("nt", KERNEL)
    wrong = [0x11, KERNEL + 0x10, KERNEL + 0x1100, KERNEL + 0x1150]  # headers, a function's start, misaligned
    host = Host([*wrong, 0, KERNEL + 0x1250, 0, KERNEL + 0x1350], kernel)
    frames = walk(amd64(KERNEL + 0x1050), host)
    assert shape(frames)[:2] == [("context", KERNEL + 0x1050, 0), ("scan", KERNEL + 0x1150, 32)]
    host = Host([*wrong[:3], 0, KERNEL + 0x1150, KERNEL + 0x1250, 0, KERNEL + 0x1350, 0], kernel)
    frames = walk(amd64(KERNEL + 0x1050), host)
    assert shape(frames)[1:] == [("scan", KERNEL + 0x1250, 48), ("scan", KERNEL + 0x1350, 64)]
    assert "no unwind data of nt" in frames[1].note


def test_a_scan_leads_back_to_unwinding() -> None:
    kernel, driver = Module("nt", KERNEL), Module("driver", DRIVER, [PUSH_RBX])
    stack = [0, 0, 0, KERNEL + 0x1150, 0, DRIVER + 0x1050, 0xB, DRIVER + 0x1060, 0xB, 0]
    frames = walk(amd64(KERNEL + 0x1050), Host(stack, kernel, driver))
    assert [frame.how for frame in frames] == ["context", "scan", "scan", "unwind"]


def test_at_a_functions_first_instruction_the_return_address_is_on_top() -> None:
    kernel = Module("nt", KERNEL)
    frames = walk(amd64(KERNEL + 0x1200), Host([KERNEL + 0x20, KERNEL + 0x1350], kernel))
    assert shape(frames)[1] == ("scan", KERNEL + 0x20, 8)
    assert frames[1].note == "top of the stack at a function's entry"


def test_a_scan_finds_machine_frames() -> None:
    kernel = Module("nt", KERNEL)
    stack = [0, 0, KERNEL + 0x1010, 0x10, 0x10246, STACK + 0x58, 0x18, 0, 0, 0, 0, KERNEL + 0x1150]
    frames = walk(amd64(KERNEL + 0x1050), Host(stack, kernel))
    assert shape(frames)[1:] == [("scan", KERNEL + 0x1010, 0x58), ("scan", KERNEL + 0x1150, 0x60)]
    assert frames[1].note.startswith("machine frame")


def test_behind_an_unwound_frame_its_parameter_area_is_not_scanned() -> None:
    kernel, driver = Module("nt", KERNEL), Module("driver", DRIVER, [ALLOC_38[:5] + b"\x02\0\0"])
    stack = [0, KERNEL + 0x1050, 0, KERNEL + 0x1150, 0, 0, 0, KERNEL + 0x1250]
    frames = walk(amd64(DRIVER + 0x1050), Host(stack, kernel, driver))
    assert shape(frames)[1:] == [("unwind", KERNEL + 0x1050, 16), ("scan", KERNEL + 0x1250, 64)]


def test_a_return_to_no_module_is_shown_unless_the_walk_had_to_guess() -> None:
    driver, kernel = Module("driver", DRIVER, [PUSH_RBX]), Module("nt", KERNEL)
    hidden = 0xFFFFF80055501234
    frames = walk(amd64(DRIVER + 0x1050), Host([0xB, hidden, 0, 0, 0, 0, 0, DRIVER + 0x1060], driver))
    assert shape(frames)[1:] == [("unwind", hidden, 16), ("scan", DRIVER + 0x1060, 64)]
    assert frames[1].note == "outside every module"
    assert len(walk(amd64(DRIVER + 0x1050), Host([0xB, 0x1234], driver))) == 1
    frames = walk(amd64(KERNEL + 0x1050), Host([0, DRIVER + 0x1050, 0xB, hidden], driver, kernel))
    assert [frame.ip for frame in frames[1:]] == [DRIVER + 0x1050]


def test_registers_that_a_scan_cannot_know_are_absent() -> None:
    kernel = Module("nt", KERNEL)
    frames = walk(amd64(KERNEL + 0x1050, rbp=0x77), Host([0, KERNEL + 0x1150], kernel))
    assert frames[1].context.values == {"rip": KERNEL + 0x1150, "rsp": STACK + 16}


def test_arm64_follows_frame_records_where_there_is_no_unwind_data() -> None:
    kernel = Module("nt", KERNEL)
    signed = KERNEL + 0x1250 & 0x0080_FFFF_FFFF_FFFF | 0x1280_0000_0000_0000
    stack = [0, KERNEL + 0x1050, STACK + 0x30, signed, 0, KERNEL + 0x1450, 0, KERNEL + 0x1350]
    frames = walk(arm64(KERNEL + 0x1080, fp=STACK + 0x10), Host(stack, kernel))
    assert shape(frames)[1:] == [("chain", KERNEL + 0x1250, 0x20), ("chain", KERNEL + 0x1350, 0x40)]


def test_arm64_leaf_returns_through_the_link_register() -> None:
    kernel = Module("nt", KERNEL)
    stack = [0, KERNEL + 0x1350]
    frames = walk(arm64(KERNEL + 0x1080, fp=STACK, lr=KERNEL + 0x1250), Host(stack, kernel))
    assert shape(frames)[1:] == [("chain", KERNEL + 0x1250, 0), ("chain", KERNEL + 0x1350, 0x10)]
    # A link register into the function itself is left over from a call that it made.
    frames = walk(arm64(KERNEL + 0x1080, fp=STACK, lr=KERNEL + 0x1070), Host(stack, kernel))
    assert shape(frames)[1:] == [("chain", KERNEL + 0x1350, 0x10)]


def test_arm64_frame_records_that_lead_down_are_not_followed() -> None:
    kernel = Module("nt", KERNEL)
    for above in (STACK, STACK + 0x10, STACK + 8):
        frames = walk(arm64(KERNEL + 0x1080, fp=STACK + 0x10), Host([0, 0, above, KERNEL + 0x1350], kernel))
        assert "chain" not in {frame.how for frame in frames}
    for wrong in (0, 1, STACK - 16, STACK + 0x11, 0xFFFFFFFFFFFFFFF8):
        assert all(f.how != "chain" for f in walk(arm64(KERNEL + 0x1080, fp=wrong), Host([0] * 8, kernel)))


def test_the_walk_is_limited_and_can_be_cancelled() -> None:
    kernel = Module("nt", KERNEL)
    stack = [word for number in range(200) for word in (0, KERNEL + 0x1050 + 0x100 * (number % 8))]
    assert len(walk(amd64(KERNEL + 0x1050), Host(stack, kernel), limit=5)) == 5
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        walk(amd64(KERNEL + 0x1050), Host(stack, kernel), cancel=token)


def test_a_scan_stays_within_the_bounds_of_the_stack() -> None:
    kernel = Module("nt", KERNEL)
    stack = [0] * 9 + [KERNEL + 0x1050]
    assert len(walk(amd64(KERNEL + 0x1050), Host(stack, kernel), stack_bounds=(STACK, STACK + 64))) == 1
    assert len(walk(amd64(KERNEL + 0x1050), Host(stack, kernel), stack_bounds=(STACK, STACK + 80))) == 2
    # Bounds that cannot be true are no reason to read all of memory.
    assert len(walk(amd64(KERNEL + 0x1050), Host(stack, kernel), stack_bounds=(0, (1 << 64) - 1))) == 2


def test_a_possible_return_address_wins_over_a_better_one_that_is_far_away() -> None:
    kernel = Module("nt", KERNEL)
    near = [KERNEL + 0x1150, 0, 0, KERNEL + 0x1250]
    assert walk(amd64(KERNEL + 0x1050), Host(near, kernel))[1].ip == KERNEL + 0x1250
    far = [KERNEL + 0x1150, *[0] * 0x400, KERNEL + 0x1250]
    assert walk(amd64(KERNEL + 0x1050), Host(far, kernel))[1].ip == KERNEL + 0x1150


def test_memory_that_is_absent_ends_the_walk() -> None:
    driver = Module("driver", DRIVER, [PUSH_RBX])
    for context in (amd64(DRIVER + 0x1050, sp=0x10), amd64(0, sp=(1 << 64) - 8), arm64(0, sp=0x10)):
        assert len(walk(context, Host([], driver))) == 1
    assert len(walk(RegisterContext("amd64", {}), Host([], driver))) == 1
    assert len(walk(RegisterContext("arm64", {}), Host([], driver))) == 1


def test_code_in_front_of_a_return_address_must_be_a_call() -> None:
    calls = ("e800000000", "ff1500000000", "ffd0", "41ffd3", "ff5008", "ff542408", "ff9000010000", "41ff9424 00010000")
    for code in calls:
        assert follows_call_amd64(bytes.fromhex(code)[-7:].rjust(7, b"\x90")), code
    for code in ("90", "c3", "e900000000", "ff2500000000", "ffe0"):
        assert not follows_call_amd64(bytes.fromhex(code).rjust(7, b"\x90")), code
    for word, is_call in ((0x94000001, True), (0xD63F0100, True), (0xD73F0901, True), (0x14000001, False)):
        assert follows_call_arm64(struct.pack("<I", word)) is is_call, f"{word:#x}"


WORDS = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.integers(0, 0x200).map(lambda n: STACK + 8 * n),
    st.integers(0, 0x4000).map(lambda n: KERNEL + n),
    st.integers(0, 0x4000).map(lambda n: DRIVER + n),
    st.sampled_from((0x10, 0x18, 0x246)),
)


@settings(max_examples=200, deadline=None)
@given(stack=st.lists(WORDS, max_size=80), unwind=st.lists(st.binary(max_size=24), max_size=4), ip=WORDS, fp=WORDS)
def test_random_stacks_and_unwind_data_never_raise(stack: list[int], unwind: list[bytes], ip: int, fp: int) -> None:
    host = Host(stack, Module("driver", DRIVER, unwind), Module("nt", KERNEL))
    for context in (amd64(ip, rbp=fp), arm64(ip, fp=fp, lr=fp)):
        frames = walk(context, host, limit=64)
        assert 1 <= len(frames) <= 64
