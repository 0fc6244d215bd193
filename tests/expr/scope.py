"""A small world for expression tests: memory, registers, symbols and types, without a target."""

from __future__ import annotations

from kdive.expr.values import Value
from kdive.memory.fragments import FragmentMemory
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    Field,
    PointerType,
    PrimitiveType,
    StructType,
    Type,
)

ULONG = PrimitiveType("unsigned long", 4, "uint")
LONG = PrimitiveType("long", 4, "int")
ULONG64 = PrimitiveType("unsigned long long", 8, "uint")
CHAR = PrimitiveType("unsigned char", 1, "uint")
MODE = EnumType("_MODE", LONG, {"KernelMode": 0, "UserMode": 1})
INNER = StructType("_INNER", "struct", 8, (Field("Low", 0, ULONG), Field("High", 4, LONG)))
NODE = StructType(
    "_NODE",
    "struct",
    0x28,
    (
        Field("Next", 0, PointerType(ULONG64)),
        Field("Inner", 8, INNER),
        Field("Bits", 0x10, BitfieldType(ULONG, 4, 3)),
        Field("Mode", 0x14, MODE),
        Field("Table", 0x18, ArrayType(ULONG, 4)),
    ),
)
BASE = 0xFFFFF80000001000
MEMORY = bytes(range(256)) * 16


class World:
    """An :class:`kdive.expr.scope.EvaluationScope` over constants."""

    def __init__(self, radix: int = 16) -> None:
        self.radix = radix
        self.pointer_size = 8
        self.memory = FragmentMemory([(BASE, memoryview(MEMORY))])
        self.physical = FragmentMemory([(0x1000, memoryview(MEMORY))])
        self.registers = {"rax": 0x10, "rsp": BASE, "rip": BASE + 0x20, "eax": 0x10, "efl": 0x246}
        self.variables = {"t0": Value(5), "proc": Value(BASE, PointerType(NODE))}
        self.symbols = {
            "nt!Count": Value(BASE + 8, ULONG, BASE + 8),
            "nt!Node": Value(BASE, NODE, BASE),
            "nt!Table": Value(BASE + 0x18, ArrayType(ULONG, 4), BASE + 0x18),
            "nt!Function": Value(BASE + 0x40),
            "nt!std::vector<int>::size": Value(0x77),
            "beef": Value(0x1234),
        }

    def register(self, name: str) -> int | None:
        return self.registers.get(name)

    def pseudo(self, name: str) -> Value | None:
        return self.variables.get(name)

    def symbol(self, name: str) -> Value | None:
        return self.symbols.get(name)

    def module_base(self, name: str) -> int | None:
        return BASE if name == "nt" else None

    def local(self, name: str) -> Value | None:
        return Value(0x42) if name == "localvar" else None

    def find_type(self, name: str) -> Type | None:
        return {"_NODE": NODE, "nt!_NODE": NODE, "_MODE": MODE, "nt!_MODE": MODE}.get(name)

    def symbolize(self, address: int) -> str:
        return f"nt!Function+{address - BASE - 0x40:#x}"
