"""A small NT-shaped system that has just crashed.

A worker thread of the System process sends a request to the driver ``faulty.sys``, which follows a null pointer at
raised IRQL: bugcheck 0xD1. There are three processes with address spaces of their own, page tables for all of it, and
code whose unwind data is right, so that the stack unwinds through the exception down to the thread's start.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kdive.record import Record, field
from kdive.samples import layouts
from kdive.samples.images import Function, Image, assemble
from kdive.samples.memory import AddressSpaceBuilder, PhysicalBuilder
from kdive.samples.types import Layouts

if TYPE_CHECKING:
    from collections.abc import Mapping

KERNEL_BASE = 0xFFFFF80000200000
DRIVER_BASE = 0xFFFFF80000400000
OBJECTS = 0xFFFF800000010000
STACK_LIMIT, STACK_BASE = 0xFFFFD00000100000, 0xFFFFD00000104000
KERNEL_PDB = ("ntkrnlmp.pdb", "4B44495645000000000053414D504C45", 1)
DRIVER_PDB = ("faulty.pdb", "4B444956450000000000444956455221", 1)
KERNEL_TIME, DRIVER_TIME = 0x5F000001, 0x5F000002
LAB = b"19041.1.kdive_sample.210101-0000\0"
TOUCHED = 0x10
WAIT_NEVER, WAIT_ALWAYS = 0x1122334455667713, 0x8877665544332211

_KERNEL_VARIABLES = {
    "PsLoadedModuleList": 0x000,
    "PsActiveProcessHead": 0x010,
    "KdDebuggerDataBlock": 0x100,
    "KiProcessorBlock": 0x500,
    "MmUnloadedDrivers": 0x540,
    "MmLastUnloadedDriver": 0x548,
    "NtBuildLab": 0x560,
    "KiBugCheckData": 0x5A0,
    "PspCidTable": 0x5D0,
    "PsInitialSystemProcess": 0x5D8,
    "MmPteBase": 0x5E0,
    "KiWaitNever": 0x5E8,
    "KiWaitAlways": 0x5F0,
    "KdpDataBlockEncoded": 0x5F8,
}
_KERNEL_FUNCTIONS = [
    Function("KiStartSystemThread", 0x28, "PspSystemThreadStartup"),
    Function("PspSystemThreadStartup", 0x38, ""),
    Function("IofCallDriver", 0x28, ""),
    Function("KeBugCheckEx", 0x28, None),
    Function("KiBugCheckDispatch", 0x148, "KeBugCheckEx"),
    Function("KiPageFault", 0x160, "KiBugCheckDispatch", trap=True),
]
# KiStartSystemThread calls a function behind it, so the assembler sees every target before it patches calls.
_DRIVER_FUNCTIONS = [
    Function("DriverEntry", 0x28, None),
    Function("WorkerRoutine", 0x38, ""),
    Function("DispatchRequest", 0x48, "ReadDeviceRegister"),
    Function("ReadDeviceRegister", 0x28, None, b"\x8b\x41\x10"),
]
_DEBUGGER_FIELDS = {
    "PsLoadedModuleList": 0x48,
    "PsActiveProcessHead": 0x50,
    "PspCidTable": 0x58,
    "KiBugCheckData": 0x88,
    "NtBuildLab": 0x208,
    "KiProcessorBlock": 0x218,
    "MmUnloadedDrivers": 0x220,
    "MmLastUnloadedDriver": 0x228,
}


class World(Record):
    """The built system.

    Attributes:
        physical: Its memory.
        kernel_space: The System process's address space.
        kernel: The kernel image.
        driver: The driver image.
        layouts: Its structures.
        fields: What goes into a dump header.
        frames: ``(function, ip, sp)`` of the stack, innermost first.
        fault: Address of the faulting instruction.
        processes: Name to address of the ``_EPROCESS``.
        thread: Address of the crashing ``_ETHREAD``.
        addresses: Other places, by name.
    """

    physical: PhysicalBuilder
    kernel_space: AddressSpaceBuilder
    kernel: Image
    driver: Image
    layouts: Layouts
    fields: layouts.HeaderFields
    frames: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    fault: int = 0
    processes: dict[str, int] = field(default_factory=dict[str, int])
    thread: int = 0
    addresses: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def pages(self) -> Mapping[int, bytearray]:
        """Every page of memory."""
        return self.physical.pages

    def isf(self) -> dict[str, Any]:
        """The kernel's symbols and types."""
        return self.layouts.isf(self.kernel.symbols, self.kernel.pdb)

    def dump(self, layout: str = "full") -> bytes:
        """Write the world as a dump: ``full summary bitmap-full bitmap-kernel rdmp8 rdmp9 rdmp10``."""
        if layout == "full":
            return layouts.full(self.fields, self.pages)
        if layout == "summary":
            return layouts.summary(self.fields, self.pages)
        if layout.startswith("bitmap"):
            return layouts.bitmap(self.fields, self.pages, kernel=layout.endswith("kernel"))
        return layouts.rdmp(self.fields, self.pages, int(layout.removeprefix("rdmp")))


LAYOUTS = ("full", "summary", "bitmap-full", "bitmap-kernel", "rdmp8", "rdmp9", "rdmp10")


def build_world(*, levels: int = 4, encoded: bool = False) -> World:
    """Build the system.

    Args:
        levels: Levels of paging, 4 or 5.
        encoded: Encode the debugger data block, as kernels without a debugger attached do.
    """
    return _Builder(levels, encoded).build()


class _Builder:
    def __init__(self, levels: int, encoded: bool) -> None:
        self.encoded = encoded
        self.physical = PhysicalBuilder()
        self.space = AddressSpaceBuilder(self.physical, levels)
        self.levels = levels
        self.types = Layouts()
        self.kernel = assemble(
            "ntoskrnl.exe", KERNEL_BASE, _KERNEL_FUNCTIONS, _KERNEL_VARIABLES, KERNEL_PDB, KERNEL_TIME
        )
        self.driver = assemble("faulty.sys", DRIVER_BASE, _DRIVER_FUNCTIONS, {}, DRIVER_PDB, DRIVER_TIME)
        self.next_object = OBJECTS

    def symbol(self, name: str) -> int:
        return KERNEL_BASE + self.kernel.symbols[name]

    def put(self, data: bytes, space: AddressSpaceBuilder | None = None) -> int:
        """Place an object in kernel memory; return its address."""
        address = self.next_object
        self.next_object += (len(data) + 0xF) & ~0xF
        (space or self.space).write(address, data)
        return address

    def text(self, text: str) -> bytes:
        """A UNICODE_STRING whose characters have been placed in kernel memory."""
        raw = text.encode("utf-16-le")
        return struct.pack("<HHIQ", len(raw), len(raw) + 2, 0, self.put(raw + b"\0\0"))

    def link(self, head: int, entries: list[int]) -> None:
        """Make a doubly linked list of a head and entries."""
        ring = [head, *entries]
        for index, place in enumerate(ring):
            following, before = ring[(index + 1) % len(ring)], ring[index - 1]
            self.space.write(place, struct.pack("<QQ", following, before))

    def build(self) -> World:
        for image in (self.kernel, self.driver):
            self.space.write(image.base, image.data)
        fields = layouts.HeaderFields(
            directory_table_base=self.space.root,
            module_list=self.symbol("PsLoadedModuleList"),
            process_head=self.symbol("PsActiveProcessHead"),
            processors=2,
            debugger_data=self.symbol("KdDebuggerDataBlock"),
            comment="kdive sample",
        )
        world = World(self.physical, self.space, self.kernel, self.driver, self.types, fields)
        self.modules()
        self.stack(world)
        self.system(world)
        self.debugger_data()
        return world

    # --- modules ---------------------------------------------------------------------------------------------------

    def modules(self) -> None:
        links: list[int] = []
        for image, path in (
            (self.kernel, "\\SystemRoot\\system32\\ntoskrnl.exe"),
            (self.driver, "\\SystemRoot\\System32\\drivers\\faulty.sys"),
        ):
            entry = self.types.pack(
                "_KLDR_DATA_TABLE_ENTRY",
                {
                    "DllBase": image.base,
                    "EntryPoint": image.base + 0x1000,
                    "SizeOfImage": len(image.data),
                    "FullDllName": self.text(path),
                    "BaseDllName": self.text(image.name),
                    "TimeDateStamp": image.timestamp,
                },
            )
            links.append(self.put(entry))
        self.link(self.symbol("PsLoadedModuleList"), links)
        ring = self.text("gone.sys") + struct.pack("<QQQ", 0xFFFFF80000600000, 0xFFFFF80000608000, 0x1D7_07F2_0000_0000)
        table = self.put(ring + bytes(49 * 0x28))
        self.space.write(self.symbol("MmUnloadedDrivers"), struct.pack("<QI", table, 1))

    # --- the crashing stack ----------------------------------------------------------------------------------------

    def stack(self, world: World) -> None:
        """Lay the stack out from the thread's start to the bugcheck."""
        frames: list[tuple[str, int, int]] = []
        sp = STACK_BASE - 8
        calls = (
            (self.kernel, "KiStartSystemThread", 0x28),
            (self.kernel, "PspSystemThreadStartup", 0x38),
            (self.driver, "WorkerRoutine", 0x38),
            (self.kernel, "IofCallDriver", 0x28),
            (self.driver, "DispatchRequest", 0x48),
        )
        for image, name, frame in calls:
            sp -= frame
            ip = image.base + image.returns[name]
            frames.append((f"{'nt' if image is self.kernel else 'faulty'}!{name}", ip, sp))
            sp -= 8
            self.space.write(sp, struct.pack("<Q", ip))
        fault = DRIVER_BASE + self.driver.symbols["ReadDeviceRegister"] + 4
        sp -= 0x28
        frames.append(("faulty!ReadDeviceRegister", fault, sp))
        trap = (sp & ~0xF) - 0x30 - 0x160
        self.space.write(
            trap,
            self.types.pack(
                "_KTRAP_FRAME",
                {
                    "Rax": 1,
                    "Rcx": 0,
                    "Rdx": 2,
                    "Rip": fault,
                    "SegCs": 0x10,
                    "EFlags": 0x10246,
                    "Rsp": sp,
                    "SegSs": 0x18,
                },
            ),
        )
        sp = trap
        for name, frame in (("KiPageFault", 0), ("KiBugCheckDispatch", 0x148)):
            sp -= frame
            ip = KERNEL_BASE + self.kernel.returns[name]
            frames.append((f"nt!{name}", ip, sp))
            sp -= 8
            self.space.write(sp, struct.pack("<Q", ip))
        ip = self.symbol("KeBugCheckEx")
        frames.append(("nt!KeBugCheckEx", ip, sp))
        context = bytearray(1232)
        struct.pack_into("<II", context, 0x30, 0x10000F, 0x1F80)
        struct.pack_into("<6HI", context, 0x38, 0x10, 0x2B, 0x2B, 0x53, 0x2B, 0x18, 0x246)
        struct.pack_into("<5Q", context, 0x78, 0, 0xD1, TOUCHED, 0, sp)
        struct.pack_into("<Q", context, 0xF8, ip)
        world.fields.context = bytes(context)
        world.fields.bugcheck = (0xD1, TOUCHED, 2, 0, fault)
        world.fields.exception = (0x80000003, ip, ())
        world.frames = frames[::-1]
        world.fault = fault
        world.addresses["trap_frame"] = trap
        world.addresses["context"] = self.put(bytes(context))
        self.space.write(self.symbol("KiBugCheckData"), struct.pack("<5Q", *world.fields.bugcheck))

    # --- processes, threads, processors ----------------------------------------------------------------------------

    def system(self, world: World) -> None:
        types = self.types
        links: list[int] = []
        started = self.kernel.symbols["KiStartSystemThread"] + KERNEL_BASE
        for name, pid, parent in (("System", 4, 0), ("smss.exe", 0x1A4, 4), ("app.exe", 0x7D0, 0x1A4)):
            space, peb, teb = self.space, 0, 0
            if name != "System":
                space = AddressSpaceBuilder(self.physical, self.levels, self.space)
                peb, teb = self.user_mode(space, name, pid)
            process = self.next_object
            self.next_object += (types.size("_EPROCESS") + 0xF) & ~0xF
            handles = self.put(types.pack("_HANDLE_TABLE", {"HandleCount": 10 + pid % 7}))
            thread = self.next_object
            self.next_object += (types.size("_ETHREAD") + 0xF) & ~0xF
            running = name == "System"
            stack = STACK_LIMIT if running else self.waiting_stack(len(world.processes))
            values: dict[str, int | bytes] = {
                "Tcb.StackLimit": stack,
                "Tcb.StackBase": stack + 0x4000,
                "Tcb.KernelStack": stack + 0x4000 - 0x100,
                "Tcb.ApcState.Process": process,
                "Tcb.Process": process,
                "Tcb.Teb": teb,
                "Tcb.State": 2 if running else 5,
                "Tcb.WaitReason": 0 if running else 6,
                "Tcb.Priority": 12,
                "Tcb.BasePriority": 8,
                "Cid.UniqueProcess": pid,
                "Cid.UniqueThread": pid + 8,
                "StartAddress": started,
                "Win32StartAddress": DRIVER_BASE + self.driver.symbols["WorkerRoutine"] if running else 0x140001000,
            }
            self.space.write(thread, types.pack("_ETHREAD", values))
            irps = thread + types.offset("_ETHREAD", "IrpList")
            self.link(irps, [])
            self.space.write(
                process,
                types.pack(
                    "_EPROCESS",
                    {
                        "Pcb.DirectoryTableBase": space.root,
                        "CreateTime.QuadPart": 0x1D7_07F2_3000_0000 + pid,
                        "UniqueProcessId": pid,
                        "InheritedFromUniqueProcessId": parent,
                        "Peb": peb,
                        "ObjectTable": handles,
                        "Token.Value": 0xFFFF9000_00001005,
                        "ActiveThreads": 1,
                        "ExitStatus": 0x103,
                        "PriorityClass": 2,
                        "ImageFileName": name.encode(),
                        "VirtualSize": 0x200000,
                    },
                ),
            )
            self.link(
                process + types.offset("_EPROCESS", "ThreadListHead"),
                [thread + types.offset("_ETHREAD", "ThreadListEntry")],
            )
            links.append(process + types.offset("_EPROCESS", "ActiveProcessLinks"))
            world.processes[name] = process
            if running:
                world.thread = thread
        self.link(self.symbol("PsActiveProcessHead"), links)
        self.space.write(self.symbol("PsInitialSystemProcess"), struct.pack("<Q", world.processes["System"]))
        self.processors(world)

    def waiting_stack(self, index: int) -> int:
        """A kernel stack whose thread was switched out: a switch frame that leads to the thread's start."""
        base = STACK_LIMIT + 0x10000 * (index + 1)
        frame = base + 0x4000 - 0x100
        outer = KERNEL_BASE + self.kernel.returns["PspSystemThreadStartup"]
        size = self.types.size("_KSWITCH_FRAME")
        self.space.write(frame, self.types.pack("_KSWITCH_FRAME", {"Return": outer}))
        self.space.write(
            frame + size + 0x38, struct.pack("<Q", KERNEL_BASE + self.kernel.returns["KiStartSystemThread"])
        )
        return base

    def processors(self, world: World) -> None:
        types = self.types
        blocks: list[int] = []
        for number in range(2):
            pcr = self.next_object
            self.next_object += (types.size("_KPCR") + 0xF) & ~0xF
            block = pcr + types.offset("_KPCR", "Prcb")
            idle = bytearray(1232)
            struct.pack_into("<I", idle, 0x30, 0x10000F)
            struct.pack_into("<Q", idle, 0x98, STACK_LIMIT + 0x13F00)
            struct.pack_into("<Q", idle, 0xF8, KERNEL_BASE + self.kernel.returns["PspSystemThreadStartup"])
            context = world.addresses["context"] if number == 0 else self.put(bytes(idle))
            values: dict[str, int | bytes] = {"Self": pcr, "CurrentPrcb": block, "Irql": 2}
            self.space.write(pcr, types.pack("_KPCR", values))
            prcb: dict[str, int | bytes] = {
                "Number": number,
                "CurrentThread": world.thread if number == 0 else 0xFFFF9000_00010000,
                "IdleThread": 0xFFFF9000_00010000,
                "CpuType": 6,
                "CpuStep": 0x9E0A,
                "MHz": 3000,
                "VendorString": b"GenuineIntel",
                "FeatureBits": 0x3FFF,
                "DebuggerSavedIRQL": 2 if number == 0 else 0,
                "Context": context,
            }
            self.space.write(block, types.pack("_KPRCB", prcb))
            blocks.append(block)
        self.space.write(self.symbol("KiProcessorBlock"), struct.pack("<QQ", *blocks))

    def user_mode(self, space: AddressSpaceBuilder, name: str, pid: int) -> tuple[int, int]:
        """The PEB, TEB and loader list of a process, in its own half of its address space."""
        types = self.types
        base = 0x7FF0_0000_0000

        def string(text: str, at: int) -> bytes:
            raw = text.encode("utf-16-le")
            space.write(at, raw + b"\0\0")
            return struct.pack("<HHIQ", len(raw), len(raw) + 2, 0, at)

        peb, teb, loader, parameters = base, base + 0x2000, base + 0x1000, base + 0x1400
        image = f"C:\\sample\\{name}"
        entries: list[int] = []
        for index, (label, path, start) in enumerate(
            ((name, image, 0x140000000), ("ntdll.dll", "C:\\Windows\\SYSTEM32\\ntdll.dll", 0x7FFE00000000))
        ):
            place = base + 0x1800 + 0x100 * index
            entry = types.pack(
                "_LDR_DATA_TABLE_ENTRY",
                {
                    "DllBase": start,
                    "SizeOfImage": 0x10000,
                    "FullDllName": string(path, base + 0x1B00 + 0x100 * index),
                    "BaseDllName": string(label, base + 0x1B80 + 0x100 * index),
                },
            )
            space.write(place, entry)
            entries.append(place)
        space.write(loader, types.pack("_PEB_LDR_DATA", {"Initialized": 1}))
        ring = [loader + types.offset("_PEB_LDR_DATA", "InLoadOrderModuleList"), *entries]
        for index, place in enumerate(ring):
            space.write(place, struct.pack("<QQ", ring[(index + 1) % len(ring)], ring[index - 1]))
        space.write(
            parameters,
            types.pack(
                "_RTL_USER_PROCESS_PARAMETERS",
                {
                    "ImagePathName": string(image, base + 0x1D00),
                    "CommandLine": string(f'"{image}" /sample', base + 0x1D80),
                    "CurrentDirectory.DosPath": string("C:\\sample\\", base + 0x1E00),
                },
            ),
        )
        space.write(
            peb,
            types.pack(
                "_PEB",
                {"ImageBaseAddress": 0x140000000, "Ldr": loader, "ProcessParameters": parameters, "SessionId": 1},
            ),
        )
        space.write(
            teb,
            types.pack(
                "_TEB",
                {
                    "NtTib.Self": teb,
                    "NtTib.StackBase": base + 0x100000,
                    "ClientId.UniqueProcess": pid,
                    "ClientId.UniqueThread": pid + 8,
                    "ProcessEnvironmentBlock": peb,
                    "LastErrorValue": 5,
                },
            ),
        )
        return peb, teb

    # --- the debugger data block -----------------------------------------------------------------------------------

    def debugger_data(self) -> None:
        address = self.symbol("KdDebuggerDataBlock")
        block = bytearray(0x380)
        struct.pack_into("<QQ4sIQ", block, 0, address, address, b"KDBG", len(block), KERNEL_BASE)
        for name, offset in _DEBUGGER_FIELDS.items():
            struct.pack_into("<Q", block, offset, self.symbol(name))
        types = self.types
        for offset, value in (
            (0x29A, types.offset("_KTHREAD", "Teb")),
            (0x29C, types.offset("_KTHREAD", "KernelStack")),
            (0x2A0, types.offset("_KTHREAD", "ApcState.Process")),
            (0x2A2, types.offset("_KTHREAD", "State")),
            (0x2A8, types.size("_EPROCESS")),
            (0x2AA, types.offset("_EPROCESS", "Peb")),
            (0x2AE, types.offset("_KPROCESS", "DirectoryTableBase")),
            (0x2B0, types.size("_KPRCB")),
            (0x2B4, types.offset("_KPRCB", "CurrentThread")),
            (0x2BE, types.offset("_KPRCB", "Number")),
            (0x2C0, types.size("_ETHREAD")),
            (0x338, types.offset("_KPRCB", "Context")),
        ):
            struct.pack_into("<H", block, offset, value)
        data = bytes(block)
        flag = self.symbol("KdpDataBlockEncoded")
        self.space.write(self.symbol("NtBuildLab"), LAB)
        self.space.write(self.symbol("KiWaitNever"), struct.pack("<QQB", WAIT_NEVER, WAIT_ALWAYS, self.encoded))
        if self.encoded:
            data = b"".join(struct.pack("<Q", encode_word(word, flag)) for (word,) in struct.iter_unpack("<Q", data))
        self.space.write(address, data)


def encode_word(word: int, flag: int) -> int:
    """Encode a word of the debugger data block as the kernel does."""
    value = int.from_bytes((word ^ WAIT_ALWAYS).to_bytes(8, "little"), "big")
    value ^= flag | 0xFFFF_0000_0000_0000
    count = WAIT_NEVER & 0x3F
    value = (value >> count | value << (64 - count)) & ((1 << 64) - 1)
    return value ^ WAIT_NEVER
