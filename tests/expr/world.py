"""A small synthetic target for expression tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.errors import ExpressionError, SymbolNotFoundError
from kdive.expr.typed import CHAR, INT, LONG, UCHAR, ULONG, USHORT
from kdive.expr.values import Value
from kdive.memory.interface import Memory
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    Field,
    FunctionType,
    PointerType,
    StructType,
    Type,
    TypeReference,
)

PROCESS = 0xFFFFC00012340000
HEAD = 0xFFFFF80310000000
STACK = 0x1000


class Bytes(Memory):
    """Memory that is a few runs of bytes."""

    def __init__(self, runs: dict[int, bytes]) -> None:
        self.runs = runs

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        for start, data in sorted(self.runs.items()):
            low, high = max(address, start), min(address + size, start + len(data))
            if low < high:
                found.append((low, data[low - start : high - start]))
        return found

    def reason(self, address: int) -> str:
        return f"nothing at {address:#x}"


LIST_ENTRY = StructType("_LIST_ENTRY", "struct", 16, ())
_entry = TypeReference("_LIST_ENTRY", "struct", 16, lambda: LIST_ENTRY_FULL)
LIST_ENTRY_FULL = StructType(
    "_LIST_ENTRY", "struct", 16, (Field("Flink", 0, PointerType(_entry)), Field("Blink", 8, PointerType(_entry)))
)
STATE = EnumType("_STATE", INT, {"StateIdle": 0, "StateRunning": 1, "StateGone": -1})
INNER = StructType("_INNER", "struct", 8, (Field("Low", 0, ULONG), Field("High", 4, LONG)))
EPROCESS = StructType(
    "_EPROCESS",
    "struct",
    0x40,
    (
        Field("Pid", 0x0, ULONG),
        Field("Inner", 0x8, INNER),
        Field("Links", 0x10, _entry),
        Field("Name", 0x20, ArrayType(CHAR, 8)),
        Field("Parent", 0x28, PointerType(TypeReference("_EPROCESS", "struct", 0x40, lambda: EPROCESS))),
        Field("Flags", 0x30, BitfieldType(ULONG, 4, 3)),
        Field("Signed", 0x30, BitfieldType(LONG, 4, 3)),
        Field("State", 0x34, STATE),
        Field("Words", 0x38, ArrayType(USHORT, 4)),
    ),
)


def _missing() -> StructType:
    raise SymbolNotFoundError("no layout for _OPAQUE")


TYPES: dict[str, Type] = {
    "nt!_EPROCESS": EPROCESS,
    "_EPROCESS": EPROCESS,
    "nt!_LIST_ENTRY": LIST_ENTRY_FULL,
    "_INNER": INNER,
    "nt!_OPAQUE": TypeReference("_OPAQUE", "struct", 0, _missing),
}

_process = (
    (0x1A4).to_bytes(8, "little")
    + (7).to_bytes(4, "little")
    + (0xFFFFFFFE).to_bytes(4, "little")
    + (HEAD).to_bytes(8, "little")
    + (HEAD).to_bytes(8, "little")
    + b"System\0\0"
    + (PROCESS).to_bytes(8, "little")
    + (0b111_0101).to_bytes(4, "little")
    + (0xFFFFFFFF).to_bytes(4, "little")
    + b"\x11\x11\x22\x22\x33\x33\xff\xff"
)


@dataclass
class World:
    """An EvaluationScope over the synthetic target."""

    radix: int = 16
    pointer_size: int = 8
    memory: Memory = field(
        default_factory=lambda: Bytes(
            {
                PROCESS: _process,
                HEAD: PROCESS.to_bytes(8, "little"),
                HEAD + 0x10: (17763).to_bytes(4, "little") + b"\0" * 12,
                STACK: bytes(range(0x80)) + b"hello\0" + "wide\0".encode("utf-16-le") + b"\0" * 0x40,
            }
        )
    )
    physical: Memory | None = field(default_factory=lambda: Bytes({0x2000: b"\xef\xcd\xab\x89\x67\x45\x23\x01"}))
    registers: dict[str, int] = field(
        default_factory=lambda: {"rax": 0x10, "rsp": STACK, "rbx": 3, "ah": 0x77, "eax": 0x10, "r8": 8}
    )
    variables: dict[str, Value] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def register(self, name: str) -> int | None:
        return self.registers.get(name)

    def pseudo(self, name: str) -> Value | None:
        if name == "bug_code":
            raise ExpressionError("the state of $bug_code is unknown at this stop")
        known = {
            "proc": Value(PROCESS, PointerType(EPROCESS)),
            "ip": Value(0xFFFFF80300001000),
            "t0": Value(0),
            "t1": Value(0x21),
            "ptrsize": Value(8),
            ".u0": Value(1),
        }
        return self.variables.get(name) or known.get(name)

    def symbol(self, name: str) -> Value | None:
        self.asked.append(name)
        known = {
            "nt!PsInitialSystemProcess": Value(HEAD, PointerType(EPROCESS), HEAD),
            "nt!NtBuildNumber": Value(HEAD + 0x10, ULONG, HEAD + 0x10),
            "nt!KeBugCheckEx": Value(0xFFFFF80300002000, FunctionType(), 0xFFFFF80300002000),
            "nt!NoType": Value(0xFFFFF80300003000, None, 0xFFFFF80300003000),
            "nt!TheProcess": Value(PROCESS, EPROCESS, PROCESS),
            "nt!Name": Value(PROCESS + 0x20, ArrayType(CHAR, 8), PROCESS + 0x20),
            "add": Value(0xADD0000, None, 0xADD0000),
            "std::vector<int,std::allocator<int> >::size": Value(0x7000, None, 0x7000),
            "mod!a::b<c>": Value(0x7100, None, 0x7100),
            "mod!Foo::operator<": Value(0x7200, None, 0x7200),
            "mod!Foo::~Foo": Value(0x7300, None, 0x7300),
            "mod!?f@@YAXXZ": Value(0x7400, None, 0x7400),
            "mod!_g@12": Value(0x7500, None, 0x7500),
            "nt!KiSystemCall64$filt$0": Value(0x7600, None, 0x7600),
            "mod!weird name+1": Value(0x7700, None, 0x7700),
            "7zip!main": Value(0x7800, None, 0x7800),
            "StateRunning": Value(1, STATE),
        }
        return known.get(name)

    def module_base(self, name: str) -> int | None:
        return {"nt": 0xFFFFF80300000000}.get(name)

    def local(self, name: str) -> Value | None:
        return {
            "process": Value(HEAD, PointerType(EPROCESS), HEAD),
            "counter": Value(5, UCHAR, None, "bl"),
        }.get(name)

    def find_type(self, name: str) -> Type | None:
        return TYPES.get(name)

    def symbolize(self, address: int) -> str:
        return f"nt!Sym+{address & 0xFFF:#x}"

    def source_line(self, address: int) -> str | None:
        return "file.c(12)" if address & 1 == 0 else None
