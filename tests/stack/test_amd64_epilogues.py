"""The AMD64 unwinder inside epilogues, against the code itself.

The prologue of each function is run to its end, then each of its epilogues one instruction at a time; at every step the
unwinder must find the caller with all its nonvolatile registers.
"""

from __future__ import annotations

from typing import Any

import pytest

from kdive.arch.amd64.context import GENERAL
from kdive.arch.amd64.unwind import PUSH_MACHFRAME, RuntimeFunction, Unwinder, parse_unwind_info
from kdive.arch.context import RegisterContext
from kdive.memory.fragments import FragmentMemory
from kdive.symbols.images import open_image_file
from tests.data import need
from tests.stack.test_amd64_prologues import IMAGES, NONVOLATILE, RETURN, SIZE, STACK, Machine


class Epilogue(Machine):
    """Runs pop, add of rsp, and loads of registers as well."""

    def load(self, address: int) -> int:
        at = address - STACK
        return int.from_bytes(self.stack[at : at + 8], "little")

    def step(self, instruction: Any) -> bool:
        from iced_x86 import Mnemonic, OpKind, Register

        names = {getattr(Register, name.upper()): name for name in GENERAL}
        first = names.get(instruction.op_register(0)) if instruction.op_count else None
        if instruction.mnemonic == Mnemonic.POP and first:
            self.values[first] = self.load(self.values["rsp"])
            self.values["rsp"] += 8
            return True
        if instruction.mnemonic == Mnemonic.ADD and first == "rsp" and instruction.op_kind(1) != OpKind.REGISTER:
            self.values["rsp"] += instruction.immediate(1)
            return True
        return super().step(instruction)


def epilogues(instructions: list[Any]) -> list[list[Any]]:
    """The last instructions before each return: pops, and the one that frees the frame."""
    from iced_x86 import Mnemonic, Register

    found: list[list[Any]] = []
    for index, instruction in enumerate(instructions):
        if instruction.mnemonic != Mnemonic.RET:
            continue
        start = index
        while start and instructions[start - 1].mnemonic == Mnemonic.POP:
            start -= 1
        before = instructions[start - 1] if start else instruction
        if before.mnemonic in (Mnemonic.ADD, Mnemonic.LEA) and before.op_register(0) == Register.RSP:
            start -= 1
        found.append(instructions[start : index + 1])
    return found


@pytest.mark.parametrize("path", IMAGES)
def test_every_step_of_every_epilogue_unwinds_to_the_caller(path: str) -> None:
    from iced_x86 import Decoder, Mnemonic

    image = open_image_file(need(path))
    rva, size = image.directory(3)
    pdata = image.read(rva, size // 12 * 12)
    table = memoryview(pdata).cast("I")
    base = 0xFFFFF80000000000
    checked = 0
    for index in range(0, len(table), 3):
        function = RuntimeFunction(table[index], table[index + 1], table[index + 2])
        info = parse_unwind_info(image.read_available, function.unwind)
        if info.chained is not None or any(code.operation == PUSH_MACHFRAME for code in info.codes):
            continue
        code = image.read_available(function.begin, function.end - function.begin)
        instructions = list(Decoder(64, code, ip=base + function.begin))
        prologue = [i for i in instructions if i.ip - base - function.begin < info.prologue_size]
        prepared = Epilogue()
        if not all(prepared.step(instruction) for instruction in prologue):
            continue
        for epilogue in epilogues(instructions[len(prologue) :]):
            machine = Epilogue()
            machine.stack, machine.values = bytearray(prepared.stack), dict(prepared.values)
            if not _frees_the_frame(machine, epilogue):
                continue  # Registers that were saved by moves are loaded before it.
            for instruction in epilogue:
                where = f"{path} {instruction.ip:#x}"
                context = RegisterContext("amd64", {**machine.values, "rip": instruction.ip})
                memory = FragmentMemory([(STACK, memoryview(machine.stack))])
                caller, _ = Unwinder(memory, image.read_available, base, pdata).step(context, function)
                assert (caller.ip, caller.sp) == (RETURN, machine.entry["rsp"] + 8), where
                pushed = {code.info for code in info.codes if code.operation == 0}
                kept = [name for name in NONVOLATILE if GENERAL.index(name) in pushed]
                assert {n: caller.values[n] for n in kept} == {n: machine.entry[n] for n in kept}, where
                checked += 1
                if instruction.mnemonic != Mnemonic.RET:
                    assert machine.step(instruction), where
    assert checked > 10


def _frees_the_frame(machine: Epilogue, epilogue: list[Any]) -> bool:
    """Whether the instructions lead from the state behind the prologue to the return address."""
    trial = Epilogue()
    trial.stack, trial.values = bytearray(machine.stack), dict(machine.values)
    for instruction in epilogue[:-1]:
        if not trial.step(instruction) or not STACK <= trial.values["rsp"] < STACK + SIZE:
            return False
    return trial.load(trial.values["rsp"]) == RETURN
