"""The structures of the sample's kernel: laid out by us, written to an ISF file, and used to write them to memory."""

from __future__ import annotations

from typing import Any

_BASE = {
    "char": (1, "char", True),
    "unsigned char": (1, "char", False),
    "unsigned short": (2, "int", False),
    "unsigned long": (4, "int", False),
    "long": (4, "int", True),
    "unsigned long long": (8, "int", False),
    "long long": (8, "int", True),
    "wchar": (2, "int", True),
    "void": (0, "void", True),
    "pointer": (8, "int", False),
}
_SHORT = {
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned long",
    "i32": "long",
    "u64": "unsigned long long",
    "i64": "long long",
}

# name → members as "name: type"; `T*` is a pointer, `T[n]` an array, `@n` sets the offset.
STRUCTURES: dict[str, str] = {
    "_LIST_ENTRY": "Flink: _LIST_ENTRY*; Blink: _LIST_ENTRY*",
    "_UNICODE_STRING": "Length: u16; MaximumLength: u16; Buffer@8: u64",
    "_CLIENT_ID": "UniqueProcess: void*; UniqueThread: void*",
    "_LARGE_INTEGER": "QuadPart: i64",
    "_EX_FAST_REF": "Value: u64",
    "_RTL_AVL_TREE": "Root: void*",
    "_DISPATCHER_HEADER": "Type: u8; Size: u8; SignalState@4: i32; WaitListHead: _LIST_ENTRY",
    "_KAPC_STATE": "ApcListHead: _LIST_ENTRY[2]; Process: _EPROCESS*; InProgressFlags: u8",
    "_KTHREAD": (
        "Header: _DISPATCHER_HEADER; InitialStack: void*; StackLimit: void*; StackBase: void*; KernelStack: void*; "
        "ApcState: _KAPC_STATE; Teb: void*; Process: _EPROCESS*; TrapFrame: void*; State: u8; WaitReason: u8; "
        "Priority: u8; BasePriority: u8"
    ),
    "_ETHREAD": (
        "Tcb: _KTHREAD; CreateTime: _LARGE_INTEGER; StartAddress: void*; Cid: _CLIENT_ID; IrpList: _LIST_ENTRY; "
        "Win32StartAddress: void*; ThreadListEntry: _LIST_ENTRY"
    ),
    "_KPROCESS": "Header: _DISPATCHER_HEADER; DirectoryTableBase: u64; ThreadListHead: _LIST_ENTRY",
    "_HANDLE_TABLE": "NextHandleNeedingPool: u32; HandleCount: i32",
    "_EPROCESS": (
        "Pcb: _KPROCESS; CreateTime: _LARGE_INTEGER; UniqueProcessId: void*; ActiveProcessLinks: _LIST_ENTRY; "
        "InheritedFromUniqueProcessId: void*; Peb: _PEB*; ObjectTable: _HANDLE_TABLE*; Token: _EX_FAST_REF; "
        "ThreadListHead: _LIST_ENTRY; ActiveThreads: u32; ExitStatus: i32; PriorityClass: u8; ImageFileName: u8[15]; "
        "VadRoot: _RTL_AVL_TREE; VirtualSize: u64; PeakVirtualSize: u64; CommitCharge: u64"
    ),
    "_CONTEXT": "P1Home: u64[6]; ContextFlags: u32; MxCsr: u32; Rax@0x78: u64; Rip@0xf8: u64; End@0x4c8: u64",
    "_KSPECIAL_REGISTERS": "Cr0: u64; Cr2: u64; Cr3: u64; Cr4: u64",
    "_KPROCESSOR_STATE": "SpecialRegisters: _KSPECIAL_REGISTERS; ContextFrame: _CONTEXT",
    "_KPRCB": (
        "MxCsr: u32; Number: u32; CurrentThread: _KTHREAD*; NextThread: _KTHREAD*; IdleThread: _KTHREAD*; "
        "ProcessorState: _KPROCESSOR_STATE; CpuType: u8; CpuStep: u16; MHz: u32; VendorString: u8[13]; "
        "FeatureBits: u64; InterruptCount: u32; KernelTime: u32; UserTime: u32; DebuggerSavedIRQL: u8; "
        "Context: _CONTEXT*"
    ),
    "_KPCR": (
        "GdtBase: u64; TssBase: u64; Self: _KPCR*; CurrentPrcb: _KPRCB*; IdtBase: u64; Irql: u8; Prcb@0x180: _KPRCB"
    ),
    "_KTRAP_FRAME": (
        "P1Home: u64[4]; Rax@0x30: u64; Rcx: u64; Rdx: u64; R8: u64; R9: u64; R10: u64; R11: u64; Rbx@0x140: u64; "
        "Rdi: u64; Rsi: u64; Rbp: u64; ErrorCode@0x160: u64; Rip: u64; SegCs: u16; EFlags@0x178: u32; Rsp@0x180: u64; "
        "SegSs: u16; End@0x18e: u16"
    ),
    "_KSWITCH_FRAME": "P1Home: u64; ApcBypass: u8; Rbp@0x10: u64; Return: u64",
    "_KLDR_DATA_TABLE_ENTRY": (
        "InLoadOrderLinks: _LIST_ENTRY; ExceptionTable@0x10: void*; DllBase@0x30: void*; EntryPoint: void*; "
        "SizeOfImage: u32; FullDllName@0x48: _UNICODE_STRING; BaseDllName: _UNICODE_STRING; Flags: u32; "
        "CheckSum@0x78: u32; TimeDateStamp@0x9c: u32"
    ),
    "_PEB": (
        "BeingDebugged@2: u8; ImageBaseAddress@0x10: void*; Ldr: _PEB_LDR_DATA*; "
        "ProcessParameters: _RTL_USER_PROCESS_PARAMETERS*; ProcessHeap@0x30: void*; NtGlobalFlag@0xbc: u32; "
        "SessionId@0x2c0: u32"
    ),
    "_PEB_LDR_DATA": "Length: u32; Initialized: u8; InLoadOrderModuleList@0x10: _LIST_ENTRY",
    "_LDR_DATA_TABLE_ENTRY": (
        "InLoadOrderLinks: _LIST_ENTRY; DllBase@0x30: void*; EntryPoint: void*; SizeOfImage: u32; "
        "FullDllName@0x48: _UNICODE_STRING; BaseDllName: _UNICODE_STRING"
    ),
    "_CURDIR": "DosPath: _UNICODE_STRING; Handle: void*",
    "_RTL_USER_PROCESS_PARAMETERS": (
        "MaximumLength: u32; CurrentDirectory@0x38: _CURDIR; DllPath@0x50: _UNICODE_STRING; "
        "ImagePathName: _UNICODE_STRING; CommandLine: _UNICODE_STRING; WindowTitle@0xb0: _UNICODE_STRING"
    ),
    "_NT_TIB": (
        "ExceptionList: void*; StackBase: void*; StackLimit: void*; SubSystemTib: void*; FiberData: void*; "
        "ArbitraryUserPointer: void*; Self: _NT_TIB*"
    ),
    "_TEB": (
        "NtTib: _NT_TIB; EnvironmentPointer: void*; ClientId: _CLIENT_ID; ActiveRpcHandle: void*; "
        "ThreadLocalStoragePointer: void*; ProcessEnvironmentBlock: _PEB*; LastErrorValue: u32"
    ),
}
ENUMS = {"_KTHREAD_STATE": {"Initialized": 0, "Ready": 1, "Running": 2, "Standby": 3, "Terminated": 4, "Waiting": 5}}


class Layouts:
    """The structures, laid out."""

    def __init__(self) -> None:
        self._types: dict[str, dict[str, Any]] = {}
        for name in STRUCTURES:
            self._layout(name)

    def size(self, name: str) -> int:
        """Size of a structure in bytes."""
        return self._layout(name)["size"]

    def offset(self, name: str, path: str) -> int:
        """Offset of a member by its dotted path."""
        return self._member(name, path)[0]

    def _member(self, name: str, path: str) -> tuple[int, int]:
        offset = 0
        current = name
        size = 0
        for part in path.split("."):
            spec = self._layout(current)["fields"][part]
            offset += spec["offset"]
            size = self._size_of(spec["type"])
            current = spec["type"].get("name", "")
        return offset, size

    def pack(self, name: str, values: dict[str, int | bytes]) -> bytes:
        """Write a structure from member values; what is not given is zero."""
        out = bytearray(self.size(name))
        for path, value in values.items():
            offset, size = self._member(name, path)
            raw = value if isinstance(value, bytes) else (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            out[offset : offset + len(raw)] = raw
        return bytes(out)

    def isf(self, symbols: dict[str, int], pdb: tuple[str, str, int]) -> dict[str, Any]:
        """The ISF document for these structures and some symbols."""
        base = {
            name: {"endian": "little", "kind": kind, "signed": signed, "size": size}
            for name, (size, kind, signed) in _BASE.items()
        }
        enums = {name: {"base": "long", "constants": values, "size": 4} for name, values in ENUMS.items()}
        identity = {"GUID": pdb[1], "age": pdb[2], "database": pdb[0], "machine_type": 0x8664}
        return {
            "base_types": base,
            "enums": enums,
            "metadata": {
                "format": "6.1.0",
                "producer": {"name": "kdive samples", "version": "1"},
                "windows": {"pdb": identity},
            },
            "symbols": {name: {"address": rva} for name, rva in sorted(symbols.items())},
            "user_types": {name: self._layout(name) for name in sorted(STRUCTURES)},
        }

    def _layout(self, name: str) -> dict[str, Any]:
        if name in self._types:
            return self._types[name]
        fields: dict[str, Any] = {}
        at, align_all = 0, 1
        for member in STRUCTURES[name].split(";"):
            label, _, text = member.strip().partition(": ")
            type_ = self._type(text.strip())
            size, align = self._size_of(type_), self._align_of(type_)
            label, _, fixed = label.partition("@")
            at = int(fixed, 0) if fixed else (at + align - 1) & -align
            fields[label] = {"offset": at, "type": type_}
            at += size
            align_all = max(align_all, align)
        self._types[name] = {"fields": fields, "kind": "struct", "size": (at + align_all - 1) & -align_all}
        return self._types[name]

    def _type(self, text: str) -> dict[str, Any]:
        if text.endswith("]"):
            element, _, count = text[:-1].partition("[")
            return {"count": int(count), "kind": "array", "subtype": self._type(element)}
        if text.endswith("*"):
            return {"kind": "pointer", "subtype": self._type(text[:-1])}
        if text in STRUCTURES:
            return {"kind": "struct", "name": text}
        return {"kind": "base", "name": _SHORT.get(text, text)}

    def _size_of(self, type_: dict[str, Any]) -> int:
        if type_["kind"] == "pointer":
            return 8
        if type_["kind"] == "array":
            return type_["count"] * self._size_of(type_["subtype"])
        return self.size(type_["name"]) if type_["kind"] == "struct" else _BASE[type_["name"]][0]

    def _align_of(self, type_: dict[str, Any]) -> int:
        if type_["kind"] == "array":
            return self._align_of(type_["subtype"])
        if type_["kind"] == "struct":
            fields = self._layout(type_["name"])["fields"].values()
            return max((self._align_of(spec["type"]) for spec in fields), default=1)
        return max(self._size_of(type_), 1)
