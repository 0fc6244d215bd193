"""The kernel's lists of loaded and unloaded modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.nt.naming import base_name, module_name
from kdive.record import Record
from kdive.symbols.images import Module
from kdive.symbols.views import Struct

if TYPE_CHECKING:
    from kdive.formats.kernel_dump.triage import TriageBlock
    from kdive.memory.interface import Memory
    from kdive.symbols.types import StructType

_MAX_MODULES = 4096
_UNLOADED_SLOTS = 50
# KLDR_DATA_TABLE_ENTRY has kept these places in every 64-bit Windows. They are needed once, to find the kernel image
# whose symbols give the layout for everything after.
_ENTRY_SIZE = 0xA0
_DLL_BASE, _SIZE_OF_IMAGE, _FULL_NAME, _BASE_NAME, _CHECKSUM, _TIMESTAMP = 0x30, 0x40, 0x48, 0x58, 0x78, 0x9C


class UnloadedModule(Record, frozen=True):
    """A driver that is gone: name, address range, and when it went (FILETIME), if recorded."""

    name: str
    start: int
    end: int
    time: int | None


def _unique(modules: list[Module]) -> list[Module]:
    """Give modules that share a name a suffix, as WinDbg does: ``dump_disk_fffff80123450000``."""
    seen: set[str] = set()
    named: list[Module] = []
    for module in modules:
        name = module.name
        if name.lower() in seen:
            name = f"{name}_{module.base:x}"
        seen.add(name.lower())
        named.append(
            module
            if name == module.name
            else Module(
                name, module.image_name, module.path, module.base, module.size, module.timestamp, module.checksum
            )
        )
    return named


def triage_modules(triage: TriageBlock) -> list[Module]:
    """The modules that a triage dump lists."""
    return _unique(
        [
            Module(
                module_name(base_name(driver.path)),
                base_name(driver.path),
                driver.path,
                driver.base,
                driver.size,
                driver.timestamp,
                driver.checksum,
            )
            for driver in triage.drivers
        ]
    )


def _string(memory: Memory, raw: bytes) -> str:
    length, buffer = int.from_bytes(raw[:2], "little") & ~1, int.from_bytes(raw[8:16], "little")
    return memory.read_prefix(buffer, length).decode("utf-16-le", "replace") if buffer else ""


def read_loaded_modules(memory: Memory, head: int, layout: StructType | None) -> tuple[list[Module], str]:
    """Walk ``nt!PsLoadedModuleList``.

    An entry that cannot be read ends the forward walk; the rest is then walked from the tail.

    Args:
        memory: Kernel memory.
        head: Address of the list head.
        layout: ``_KLDR_DATA_TABLE_ENTRY`` if symbols are there.

    Returns:
        The modules in load order, and a notice if the list is incomplete.
    """
    seen = {head}
    forward, forward_ended = _walk(memory, head, 0, seen, layout)
    backward: list[Module] = []
    notice = ""
    if not forward_ended:
        backward, _ = _walk(memory, head, 8, seen, layout)
        notice = "the loaded-module list is broken in the middle: some modules are missing"
    return _unique([*forward, *reversed(backward)]), notice


def _walk(
    memory: Memory, head: int, link_offset: int, seen: set[int], layout: StructType | None
) -> tuple[list[Module], bool]:
    found: list[Module] = []
    raw = memory.read_prefix(head + link_offset, 8)
    while len(raw) == 8 and len(seen) < _MAX_MODULES:
        entry = int.from_bytes(raw, "little")
        if entry == head:
            return found, True
        if entry in seen:
            break
        seen.add(entry)
        data = memory.read_prefix(entry, _ENTRY_SIZE)
        if len(data) < 16:
            break
        if len(data) == _ENTRY_SIZE:
            module = _module(memory, entry, data, layout)
            if module is not None:
                found.append(module)
        raw = data[link_offset : link_offset + 8]
    return found, False


def _module(memory: Memory, address: int, data: bytes, layout: StructType | None) -> Module | None:
    if layout is not None and layout.size <= len(data):
        entry = Struct(memory, address, layout, data)
        base, size = entry["DllBase"], entry["SizeOfImage"]
        path, name = entry.unicode_string("FullDllName"), entry.unicode_string("BaseDllName")
        checksum, timestamp = entry.get("CheckSum"), entry.get("TimeDateStamp")
    else:
        base = int.from_bytes(data[_DLL_BASE : _DLL_BASE + 8], "little")
        size = int.from_bytes(data[_SIZE_OF_IMAGE : _SIZE_OF_IMAGE + 4], "little")
        path, name = _string(memory, data[_FULL_NAME:]), _string(memory, data[_BASE_NAME:])
        checksum = int.from_bytes(data[_CHECKSUM : _CHECKSUM + 4], "little")
        timestamp = int.from_bytes(data[_TIMESTAMP : _TIMESTAMP + 4], "little")
    if not base:
        return None
    name = name or base_name(path) or f"image_{base:x}"
    return Module(module_name(name), name, path or name, base, size, timestamp, checksum)


def read_unloaded_modules(memory: Memory, table: int, last: int) -> list[UnloadedModule]:
    """Read the ring of unloaded drivers, most recent first.

    Args:
        memory: Kernel memory.
        table: Address of the ring (the value of ``nt!MmUnloadedDrivers``).
        last: Number of the slot to be written next (the value of ``nt!MmLastUnloadedDriver``).

    Raises:
        MemoryAccessError: It is not in memory.
    """
    # struct { UNICODE_STRING Name; PVOID Start; PVOID End; LARGE_INTEGER Time; } [50]
    raw = memory.read(table, _UNLOADED_SLOTS * 0x28)
    found: list[UnloadedModule] = []
    for step in range(_UNLOADED_SLOTS):
        slot = (last - 1 - step) % _UNLOADED_SLOTS
        entry = raw[slot * 0x28 : (slot + 1) * 0x28]
        start = int.from_bytes(entry[0x10:0x18], "little")
        if not start:
            continue
        end, time = int.from_bytes(entry[0x18:0x20], "little"), int.from_bytes(entry[0x20:0x28], "little")
        found.append(UnloadedModule(_string(memory, entry), start, end, time))
    return found
