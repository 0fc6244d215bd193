"""Writes the guest's header of Windows structures from a Volatility 3 symbol file.

Usage: python lab/tools/layouts.py SYMBOLS.json.xz > lab/guest/include/nt_layouts.h

Only the members that the guest uses are named; they keep their true offsets, and structures their true sizes, so that a
debugger that knows Windows 10 19041 finds everything where it looks for it.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

MEMBERS: dict[str, tuple[str, ...]] = {
    "_LIST_ENTRY": ("Flink", "Blink"),
    "_UNICODE_STRING": ("Length", "MaximumLength", "Buffer"),
    "_CLIENT_ID": ("UniqueProcess", "UniqueThread"),
    "_LARGE_INTEGER": ("QuadPart",),
    "_DISPATCHER_HEADER": ("Type", "Size", "SignalState", "WaitListHead"),
    "_KPROCESS": ("Header", "ProfileListHead", "DirectoryTableBase", "ThreadListHead"),
    "_EPROCESS": (
        "Pcb",
        "CreateTime",
        "UniqueProcessId",
        "ActiveProcessLinks",
        "InheritedFromUniqueProcessId",
        "Peb",
        "ObjectTable",
        "ImageFileName",
        "PriorityClass",
        "ThreadListHead",
        "ActiveThreads",
        "ExitStatus",
    ),
    "_KAPC_STATE": ("ApcListHead", "Process"),
    "_KTHREAD": (
        "Header",
        "InitialStack",
        "StackLimit",
        "StackBase",
        "KernelStack",
        "ApcState",
        "State",
        "WaitReason",
        "Teb",
        "Process",
        "TrapFrame",
        "ThreadListEntry",
    ),
    "_ETHREAD": ("Tcb", "CreateTime", "StartAddress", "Cid", "Win32StartAddress", "ThreadListEntry"),
    "_KDESCRIPTOR": ("Limit", "Base"),
    "_KSPECIAL_REGISTERS": (
        *("Cr0", "Cr2", "Cr3", "Cr4", "KernelDr0", "KernelDr1", "KernelDr2", "KernelDr3", "KernelDr6", "KernelDr7"),
        *("Gdtr", "Idtr", "Tr", "Ldtr", "MxCsr", "Cr8", "MsrGsBase", "MsrGsSwap", "MsrStar", "MsrLStar"),
    ),
    "_CONTEXT": (
        *("ContextFlags", "MxCsr", "SegCs", "SegDs", "SegEs", "SegFs", "SegGs", "SegSs", "EFlags", "Dr0", "Dr1", "Dr2"),
        *("Dr3", "Dr6", "Dr7", "Rax", "Rcx", "Rdx", "Rbx", "Rsp", "Rbp", "Rsi", "Rdi", "R8", "R9", "R10", "R11", "R12"),
        *("R13", "R14", "R15", "Rip"),
    ),
    "_KPROCESSOR_STATE": ("SpecialRegisters", "ContextFrame"),
    "_KTRAP_FRAME": (
        *("P1Home", "MxCsr", "Rax", "Rcx", "Rdx", "R8", "R9", "R10", "R11", "GsBase", "FaultAddress", "Dr0", "Dr7"),
        *("SegDs", "SegEs", "SegFs", "SegGs", "TrapFrame", "Rbx", "Rdi", "Rsi", "Rbp", "ErrorCode", "Rip", "SegCs"),
        *("EFlags", "Rsp", "SegSs"),
    ),
    "_KEXCEPTION_FRAME": (
        *("P1Home", "TrapFrame", "MxCsr", "Rbp", "Rbx", "Rdi", "Rsi", "R12", "R13", "R14", "R15", "Return"),
    ),
    "_KTSS64": ("Rsp0", "Ist", "IoMapBase"),
    "_KPRCB": (
        *("MxCsr", "Number", "CurrentThread", "NextThread", "IdleThread", "ProcessorState", "IpiFrozen", "MHz"),
        *("VendorString", "Context"),
    ),
    "_KPCR": (
        *("GdtBase", "TssBase", "UserRsp", "Self", "CurrentPrcb", "LockArray", "IdtBase", "Irql", "MajorVersion"),
        *("MinorVersion", "Prcb"),
    ),
    "_KLDR_DATA_TABLE_ENTRY": (
        *("InLoadOrderLinks", "DllBase", "EntryPoint", "SizeOfImage", "FullDllName", "BaseDllName", "Flags"),
        *("LoadCount", "CheckSum", "TimeDateStamp"),
    ),
}
_BASES = {
    "unsigned char": "UCHAR",
    "char": "CHAR",
    "unsigned short": "USHORT",
    "short": "SHORT",
    "wchar": "WCHAR",
    "unsigned long": "ULONG",
    "unsigned int": "ULONG",
    "long": "LONG",
    "int": "LONG",
    "unsigned long long": "ULONG64",
    "long long": "LONG64",
    "void": "VOID",
}


class Writer:
    """Writes structures in the order in which they need one another."""

    def __init__(self, symbols: dict[str, Any]) -> None:
        self._symbols = symbols
        self._done: set[str] = set()
        self.lines: list[str] = []

    def size(self, kind: dict[str, Any]) -> int:
        match kind["kind"]:
            case "pointer":
                return 8
            case "array":
                return kind["count"] * self.size(kind["subtype"])
            case "base":
                return self._symbols["base_types"][kind["name"]]["size"]
            case "enum":
                return self._symbols["enums"][kind["name"]]["size"]
            case "bitfield":
                return self.size(kind["type"])
            case _:
                return self._symbols["user_types"][kind["name"]]["size"]

    def declare(self, kind: dict[str, Any], name: str) -> str:
        match kind["kind"]:
            case "pointer":
                target = kind["subtype"]
                if target["kind"] in ("struct", "union") and target["name"] in MEMBERS:
                    return f"struct {target['name']} *{name}"
                if target["kind"] == "base" and target["name"] in _BASES:
                    return f"{_BASES[target['name']]} *{name}"
                return f"PVOID {name}"
            case "array":
                return self.declare(kind["subtype"], f"{name}[{kind['count']}]")
            case "base":
                return f"{_BASES.get(kind['name'], 'UCHAR')} {name}"
            case "struct" | "union" if kind["name"] in MEMBERS:
                self.struct(kind["name"])
                return f"struct {kind['name']} {name}"
            case _:
                integers = {1: "UCHAR", 2: "USHORT", 4: "ULONG", 8: "ULONG64"}
                size = self.size(kind)
                return f"{integers[size]} {name}" if size in integers else f"UCHAR {name}[{size}]"

    def struct(self, name: str) -> None:
        if name in self._done:
            return
        self._done.add(name)
        layout = self._symbols["user_types"][name]
        body: list[str] = []
        at = 0
        checks: list[str] = []
        members = [(layout["fields"][member], member) for member in MEMBERS[name]]
        for field, member in sorted(members, key=lambda pair: pair[0]["offset"]):
            offset = field["offset"]
            if offset < at:
                raise SystemExit(f"{name}.{member} overlaps the member before it")
            if offset > at:
                body.append(f"    UCHAR Fill{at:x}[{offset - at}];")
            body.append(f"    {self.declare(field['type'], member)};")
            checks.append(f'_Static_assert(__builtin_offsetof(struct {name}, {member}) == {offset:#x}, "{member}");')
            at = offset + self.size(field["type"])
        if layout["size"] > at:
            body.append(f"    UCHAR Fill{at:x}[{layout['size'] - at}];")
        self.lines += [f"typedef struct {name} {{", *body, f"}} {name[1:]}, *P{name[1:]};", *checks]
        self.lines += [f'_Static_assert(sizeof(struct {name}) == {layout["size"]:#x}, "{name}");', ""]


def main() -> None:
    symbols = json.loads(lzma.decompress(Path(sys.argv[1]).read_bytes()))
    writer = Writer(symbols)
    for name in MEMBERS:
        writer.struct(name)
    sys.stdout.write("/* Made by lab/tools/layouts.py: offsets and sizes of Windows 10 19041. */\n#pragma once\n")
    sys.stdout.write('#include "base.h"\n#pragma pack(push, 1)\n\n')
    sys.stdout.write("\n".join(writer.lines))
    sys.stdout.write("\n#pragma pack(pop)\n")


if __name__ == "__main__":
    main()
