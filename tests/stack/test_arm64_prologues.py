"""The ARM64 unwinder against the code itself: as for AMD64, with a tiny interpreter for prologue instructions."""

from __future__ import annotations

import re

import pytest

from kdive.addr import MASK64
from kdive.arch.arm64.context import GENERAL
from kdive.arch.arm64.unwind import RuntimeFunction, Unwinder, parse_unwind_data
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError
from kdive.memory.fragments import FragmentMemory
from kdive.symbols.images import open_image_file
from tests.data import need

STACK, SIZE = 0xFFFFD00000000000, 0x40000
RETURN = 0xFFFFF80012345678
NONVOLATILE = (*(f"x{number}" for number in range(19, 29)), "fp")
IMAGES = (
    "symbols/pairs/seh-arm64/xcpt4.exe",
    "symbols/pairs/seh-arm64/nested_collided.exe",
    "symbols/pairs/seh-arm64/xframe_eh_exe.exe",
    "symbols/pairs/ksi-arm64/systeminformer.sys",
)
_MEMORY = re.compile(r"\[sp(?:, #(-?\w+))?\](!)?")


class Machine:
    """Runs stp, str, sub, add and mov of the stack pointer and frame pointer."""

    def __init__(self) -> None:
        self.stack = bytearray(SIZE)
        self.values = {name: 0x1000_0000_0000 + 0x1111 * index for index, name in enumerate(GENERAL)}
        self.values["sp"] = STACK + SIZE - 0x1000
        self.values["lr"] = RETURN
        self.entry = dict(self.values)

    def step(self, mnemonic: str, operands: str) -> bool:
        """Run an instruction; False if the interpreter does not know it."""
        operands = re.sub(r"\bx29\b", "fp", re.sub(r"\bx30\b", "lr", operands))
        if mnemonic in ("nop", "pacibsp", "paciasp"):
            return True
        if mnemonic in ("stp", "str"):
            place = _MEMORY.search(operands)
            if place is None:
                return False
            offset = int(place.group(1) or "0", 0)
            address = self.values["sp"] + offset
            if place.group(2):
                self.values["sp"] = address
            for index, name in enumerate(re.findall(r"\b(x\d+|fp|lr|d\d+|xzr|q\d+)\b", operands[: place.start()])):
                if name in self.values:
                    at = address - STACK + 8 * index
                    self.stack[at : at + 8] = (self.values[name] & MASK64).to_bytes(8, "little")
            return True
        match = re.fullmatch(r"(sp|fp), (sp|fp)(?:, #(\w+)(?:, lsl #12)?)?", operands)
        if match and mnemonic in ("add", "sub", "mov"):
            amount = int(match.group(3) or "0", 0) << (12 if "lsl" in operands else 0)
            value = self.values[match.group(2)]
            self.values[match.group(1)] = value - amount if mnemonic == "sub" else value + amount
            return True
        return False


@pytest.mark.parametrize("path", IMAGES)
def test_every_step_of_every_prologue_unwinds_to_the_caller(path: str) -> None:
    import capstone

    engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    image = open_image_file(need(path))
    rva, size = image.directory(3)
    table = memoryview(image.read(rva, size // 8 * 8)).cast("I")
    base = 0xFFFFF80000000000
    functions = checked = packed = 0
    for index in range(0, len(table), 2):
        function = RuntimeFunction(table[index], table[index + 1])
        try:
            data = parse_unwind_data(image.read_available, function)
        except FormatError:
            continue
        if not data.has_prologue or any(op.name in ("other", "trap_frame", "machine_frame") for op in data.prologue):
            continue
        functions += 1
        packed += function.flag == 1
        machine = Machine()
        code = image.read_available(function.begin, 4 * (len(data.prologue) + 1))
        for step in range(len(data.prologue) + 1):
            pc = base + function.begin + 4 * step
            context = RegisterContext("arm64", {**machine.values, "pc": pc})
            memory = FragmentMemory([(STACK, memoryview(machine.stack))])
            stepped = Unwinder(memory, image.read_available, base).step(context, function)
            where = f"{path} {function.begin:#x}+{4 * step:#x} flag {function.flag} {data.prologue}"
            if stepped is None:
                break
            caller = stepped[0]
            assert caller.ip == RETURN, where
            assert caller.sp == machine.entry["sp"], where
            for name in NONVOLATILE:
                assert caller.values[name] == machine.entry[name], f"{where} {name}"
            checked += 1
            found = next(engine.disasm_lite(code[4 * step : 4 * step + 4], pc), None)
            if found is None or not machine.step(found[2], found[3]):
                break
    assert functions > 5
    assert packed
    assert checked > functions
