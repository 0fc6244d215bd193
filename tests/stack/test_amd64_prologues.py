"""The AMD64 unwinder against the code itself.

For every function of real images the prologue is run by a tiny interpreter over a made-up stack, stopping at each
instruction; the unwinder must then find the planted return address, the caller's stack pointer and every nonvolatile
register that was saved.
"""

from __future__ import annotations

import pytest

from kdive.addr import MASK64
from kdive.arch.amd64.context import GENERAL
from kdive.arch.amd64.unwind import PUSH_MACHFRAME, RuntimeFunction, Unwinder, parse_unwind_info
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError
from kdive.memory.fragments import FragmentMemory
from kdive.symbols.images import open_image_file
from tests.data import need

STACK, SIZE = 0xFFFFD00000000000, 0x100000
RETURN = 0xFFFFF80012345678
NONVOLATILE = ("rbx", "rbp", "rsi", "rdi", "r12", "r13", "r14", "r15")
IMAGES = (
    "symbols/pairs/seh-x64/xcpt4.exe",
    "symbols/pairs/seh-x64/nested_collided.exe",
    "symbols/pairs/ksi-amd64/systeminformer.sys",
    "symbols/store/amdppm.sys/c9c030003b000/amdppm.sys",
    "symbols/store/Wdf01000.sys/a9a9d36ed1000/Wdf01000.sys",
)


class Machine:
    """Runs prologue instructions: push, sub/add/lea of rsp, mov of registers to the stack and to a frame register."""

    def __init__(self) -> None:
        self.stack = bytearray(SIZE)
        self.values = {name: 0x1000_0000_0000 + 0x1111 * index for index, name in enumerate(GENERAL)}
        self.values["rsp"] = STACK + SIZE - 0x1008
        self.store(self.values["rsp"], RETURN)
        self.entry = dict(self.values)

    def store(self, address: int, value: int) -> None:
        at = address - STACK
        self.stack[at : at + 8] = (value & MASK64).to_bytes(8, "little")

    def step(self, instruction: object) -> bool:
        """Run an instruction; False if the interpreter does not know it."""
        from iced_x86 import Mnemonic, OpKind, Register

        names = {getattr(Register, name.upper()): name for name in GENERAL}
        i = instruction
        code = i.mnemonic  # type: ignore[attr-defined]
        kinds = [i.op_kind(index) for index in range(i.op_count)]  # type: ignore[attr-defined]
        registers = [i.op_register(n) if kind == OpKind.REGISTER else None for n, kind in enumerate(kinds)]  # type: ignore[attr-defined]

        def address() -> int | None:
            base = names.get(i.memory_base)  # type: ignore[attr-defined]
            if base is None or i.memory_index != Register.NONE:  # type: ignore[attr-defined]
                return None
            return (self.values[base] + i.memory_displacement) & MASK64  # type: ignore[attr-defined]

        if code == Mnemonic.PUSH and registers[0] in names:
            self.values["rsp"] -= 8
            self.store(self.values["rsp"], self.values[names[registers[0]]])
            return True
        if code == Mnemonic.SUB and names.get(registers[0]) == "rsp" and kinds[1] != OpKind.REGISTER:
            self.values["rsp"] -= i.immediate(1)  # type: ignore[attr-defined]
            return True
        if code == Mnemonic.LEA and registers[0] in names and (place := address()) is not None:
            self.values[names[registers[0]]] = place
            return True
        if code == Mnemonic.MOV and registers[0] in names and registers[1] in names:
            self.values[names[registers[0]]] = self.values[names[registers[1]]]
            return True
        if code == Mnemonic.MOV and kinds[0] == OpKind.MEMORY and (place := address()) is not None:
            if registers[1] in names and STACK <= place < STACK + SIZE - 8:
                self.store(place, self.values[names[registers[1]]])
            return STACK <= place < STACK + SIZE - 8
        return code in (Mnemonic.MOVAPS, Mnemonic.MOVUPS, Mnemonic.MOVDQA) and kinds[0] == OpKind.MEMORY


@pytest.mark.parametrize("path", IMAGES)
def test_every_step_of_every_prologue_unwinds_to_the_caller(path: str) -> None:
    from iced_x86 import Decoder

    image = open_image_file(need(path))
    rva, size = image.directory(3)
    table = memoryview(image.read(rva, size // 12 * 12)).cast("I")
    base = 0xFFFFF80000000000
    checked = functions = 0
    for index in range(0, len(table), 3):
        function = RuntimeFunction(table[index], table[index + 1], table[index + 2])
        info = parse_unwind_info(image.read_available, function.unwind)
        if info.chained is not None or any(code.operation == PUSH_MACHFRAME for code in info.codes):
            continue
        functions += 1
        machine = Machine()
        code = image.read_available(function.begin, info.prologue_size + 16)
        decoder = Decoder(64, code, ip=base + function.begin)
        offset = 0
        while offset <= info.prologue_size:
            context = RegisterContext("amd64", {**machine.values, "rip": base + function.begin + offset})
            memory = FragmentMemory([(STACK, memoryview(machine.stack))])
            caller, machine_frame = Unwinder(memory, image.read_available, base).step(context, function)
            where = f"{path} {function.begin:#x}+{offset:#x}"
            assert not machine_frame, where
            assert caller.ip == RETURN, where
            assert caller.sp == machine.entry["rsp"] + 8, where
            for name in NONVOLATILE:
                assert caller.values[name] == machine.entry[name], f"{where} {name}"
            checked += 1
            instruction = decoder.decode()
            if offset == info.prologue_size or not machine.step(instruction):
                break
            offset += instruction.len
    assert functions > 5
    assert checked > functions


@pytest.mark.parametrize("path", IMAGES)
def test_every_return_is_reached_through_its_epilogue(path: str) -> None:
    """Standing on any `ret`, the return address is on top of the stack, whatever the prologue did."""
    from iced_x86 import Decoder, Mnemonic

    image = open_image_file(need(path))
    rva, size = image.directory(3)
    table = memoryview(image.read(rva, size // 12 * 12)).cast("I")
    base = 0xFFFFF80000000000
    returns = 0
    for index in range(0, len(table), 3):
        function = RuntimeFunction(table[index], table[index + 1], table[index + 2])
        try:
            info = parse_unwind_info(image.read_available, function.unwind)
        except FormatError:
            continue
        if any(code.operation == PUSH_MACHFRAME for code in info.codes):
            continue
        code = image.read_available(function.begin, function.end - function.begin)
        for instruction in Decoder(64, code, ip=base + function.begin):
            if instruction.mnemonic != Mnemonic.RET:
                continue
            machine = Machine()
            context = RegisterContext("amd64", {**machine.values, "rip": instruction.ip})
            memory = FragmentMemory([(STACK, memoryview(machine.stack))])
            caller, _ = Unwinder(memory, image.read_available, base).step(context, function)
            assert (caller.ip, caller.sp) == (RETURN, machine.entry["rsp"] + 8), f"{path} {instruction.ip:#x}"
            returns += 1
    assert returns
