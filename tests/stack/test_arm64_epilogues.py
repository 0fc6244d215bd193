"""The ARM64 unwinder inside epilogues, against the code itself.

The prologue of each function is run to its end, then each of its epilogues one instruction at a time; at every step the
unwinder must find the caller with all its nonvolatile registers.
"""

from __future__ import annotations

import re

import pytest

from kdive.arch.arm64.unwind import RuntimeFunction, Unwinder, parse_unwind_data
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError
from kdive.memory.fragments import FragmentMemory
from kdive.symbols.images import open_image_file
from tests.data import need
from tests.stack.test_arm64_prologues import IMAGES, NONVOLATILE, RETURN, STACK, Machine

_SPECIAL = ("other", "trap_frame", "machine_frame", "end_c")


class Epilogue(Machine):
    """Runs ldp and ldr as well."""

    def step(self, mnemonic: str, operands: str) -> bool:
        operands = re.sub(r"\bx29\b", "fp", re.sub(r"\bx30\b", "lr", operands))
        if mnemonic in ("autibsp", "autiasp"):
            return True
        if mnemonic not in ("ldp", "ldr"):
            return super().step(mnemonic, operands)
        place = re.search(r"\[sp(?:, #(\w+))?\](?:, #(\w+))?", operands)
        if place is None:
            return False
        address = self.values["sp"] + int(place.group(1) or "0", 0)
        for index, name in enumerate(re.findall(r"\b(x\d+|fp|lr|d\d+)\b", operands[: place.start()])):
            if name in self.values:
                at = address - STACK + 8 * index
                self.values[name] = int.from_bytes(self.stack[at : at + 8], "little")
        self.values["sp"] += int(place.group(2) or "0", 0)
        return True


@pytest.mark.parametrize("path", IMAGES)
def test_every_step_of_every_epilogue_unwinds_to_the_caller(path: str) -> None:
    import capstone

    engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    image = open_image_file(need(path))
    rva, size = image.directory(3)
    table = memoryview(image.read(rva, size // 8 * 8)).cast("I")
    base = 0xFFFFF80000000000
    epilogues = packed = 0
    for index in range(0, len(table), 2):
        function = RuntimeFunction(table[index], table[index + 1])
        try:
            data = parse_unwind_data(image.read_available, function)
        except FormatError:
            continue
        if not data.has_prologue or any(operation.name in _SPECIAL for operation in data.prologue):
            continue
        code = image.read_available(function.begin, data.length)
        prepared = Epilogue()
        body = list(engine.disasm_lite(code, 0))
        if not all(prepared.step(found[2], found[3]) for found in body[: len(data.prologue)]):
            continue
        # A little more may be taken below a frame that is already set up.
        if body[len(data.prologue)][2:] == ("sub", "sp, sp, #0x10"):
            prepared.step("sub", "sp, sp, #0x10")
        for start, operations in data.epilogues:
            machine = Epilogue()
            machine.stack, machine.values = bytearray(prepared.stack), dict(prepared.values)
            if sum(operation.size for operation in operations) != sum(operation.size for operation in data.prologue):
                continue  # A helper that moves its caller's stack on purpose.
            before = body[start // 4 - 1]
            if before[2:] == ("add", "sp, sp, #0x10"):
                machine.step(before[2], before[3])
            for step in range(len(operations) + 1):
                at = start + 4 * step
                where = f"{path} {function.begin:#x}+{at:#x} {function.flag} {operations}"
                context = RegisterContext("arm64", {**machine.values, "pc": base + function.begin + at})
                memory = FragmentMemory([(STACK, memoryview(machine.stack))])
                stepped = Unwinder(memory, image.read_available, base).step(context, function)
                assert stepped is not None, where
                caller = stepped[0]
                assert (caller.ip, caller.sp) == (RETURN, machine.entry["sp"]), where
                assert {n: caller.values[n] for n in NONVOLATILE} == {n: machine.entry[n] for n in NONVOLATILE}, where
                found = next(engine.disasm_lite(code[at : at + 4], 0), None)
                assert found is not None, where
                if step == len(operations):
                    assert found[2] in ("ret", "b", "br"), where
                elif not machine.step(found[2], found[3]):
                    break
            epilogues += 1
            packed += function.flag == 1
    assert epilogues > 5, (epilogues, packed)
    assert packed
