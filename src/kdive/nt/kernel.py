"""The Windows kernel of a target: where it is, what is loaded, how its structures are laid out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError, KdiveError, MemoryAccessError, SymbolNotFoundError
from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_ARM64
from kdive.memory.fragments import FragmentMemory
from kdive.nt.kdbg import (
    HEAD_SIZE,
    OWNER_TAG,
    TAG_OFFSET,
    DebuggerData,
    debugger_data_size,
    decode_debugger_data,
)
from kdive.nt.match import match_kernel
from kdive.nt.modules import UnloadedModule, read_loaded_modules, read_unloaded_modules, triage_modules
from kdive.symbols.interface import ModuleSymbols
from kdive.symbols.isf import open_isf
from kdive.symbols.views import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kdive.formats.kernel_dump.header import DumpHeader
    from kdive.formats.kernel_dump.triage import TriageBlock
    from kdive.memory.interface import Memory
    from kdive.symbols.engine import SymbolEngine
    from kdive.symbols.images import Module
    from kdive.symbols.interface import Symbol
    from kdive.symbols.types import EnumType, StructType, Type
    from kdive.targets.base import Target
    from kdive.targets.live import KernelHints

_DEBUGGER_DATA_LIST = 0x20
"""Offset of ``DebuggerDataList`` in ``DBGKD_GET_VERSION64`` (``wdbgexts.h``)."""
_MACHINES = {"amd64": MACHINE_AMD64, "arm64": MACHINE_ARM64}


class TypesOnly(ModuleSymbols):
    """Symbols of a nearby build, of which only the types may be used."""

    def __init__(self, inner: ModuleSymbols) -> None:
        self.kind = inner.kind
        self.path = inner.path
        self._inner = inner

    def lookup(self, name: str) -> Symbol | None:
        """No addresses."""
        del name

    def nearest(self, rva: int) -> Symbol | None:
        """No addresses."""
        del rva

    def search(self, pattern: str) -> Iterator[Symbol]:
        """No addresses."""
        del pattern
        return iter(())

    def find_type(self, name: str) -> StructType | EnumType | Type | None:
        """See :meth:`ModuleSymbols.find_type`."""
        return self._inner.find_type(name)

    def search_types(self, pattern: str) -> Iterator[tuple[str, int]]:
        """See :meth:`ModuleSymbols.search_types`."""
        return self._inner.search_types(pattern)


class Kernel:
    """The kernel of one target.

    Args:
        target: The target.
        engine: Its symbol engine; gets its module list and kernel matcher from here.
        index_cache: Folder for symbol indexes.
        header: The dump header, if the target is a dump.
        triage: The triage block, if it is a triage dump.
        hints: Where a live target says that its kernel is.
    """

    def __init__(
        self,
        target: Target,
        engine: SymbolEngine,
        *,
        index_cache: Path | None = None,
        header: DumpHeader | None = None,
        triage: TriageBlock | None = None,
        hints: KernelHints | None = None,
    ) -> None:
        self.hints = hints
        self.target = target
        self.engine = engine
        self.memory: Memory = target.memory
        self.header = header
        self.triage = triage
        self.notices: list[str] = []
        self._index_cache = index_cache
        engine.kernel_matcher = self._match
        block = header.kd_debugger_data_block if header is not None else None
        self._debugger_data = self._read_debugger_data(hints.debugger_data if hints is not None else block)
        self._debugger_data_sought = self._debugger_data is not None
        engine.set_modules(self._modules())
        if triage is not None:
            self._add_triage_copies(triage)

    # --- discovery -------------------------------------------------------------------------------------------------

    @property
    def debugger_data(self) -> DebuggerData | None:
        """The debugger data block, None if it cannot be found or decoded.

        The dump header usually says where it is. Failing that, or if what is there is encoded, the kernel's symbols
        lead to it: they are asked once.
        """
        if not self._debugger_data_sought:
            # Set first: looking for symbols asks for the block in turn.
            self._debugger_data_sought = True
            self._debugger_data = self._seek_debugger_data()
        return self._debugger_data

    def _read_debugger_data(self, address: int | None) -> DebuggerData | None:
        """Read a plain block; None if there is none at an address."""
        head = self.memory.read_prefix(address, HEAD_SIZE) if address else b""
        if address is None or len(head) < HEAD_SIZE:
            return None
        try:
            size = debugger_data_size(head, address)
        except FormatError as error:
            if head[TAG_OFFSET : TAG_OFFSET + 4] == OWNER_TAG:
                self.notices.append(str(error))
            return None
        return DebuggerData(address, self.memory.read_prefix(address, size))

    def _seek_debugger_data(self) -> DebuggerData | None:
        """Find the block by symbols: its own, or the list in the version block (``DBGKD_GET_VERSION64``)."""
        if self._named("PsLoadedModuleList") is None:
            return None
        places = [self._named("KdDebuggerDataBlock")]
        version = self._named("KdVersionBlock")
        if version is not None:
            head = int.from_bytes(self.memory.read_prefix(version + _DEBUGGER_DATA_LIST, 8), "little")
            places.append(int.from_bytes(self.memory.read_prefix(head, 8), "little") if head else None)
        for place in places:
            found = self._read_debugger_data(place) or self._decode_debugger_data(place)
            if found is not None:
                return found
        return None

    def _decode_debugger_data(self, address: int | None) -> DebuggerData | None:
        """Decode an encoded block with the keys in the kernel's memory; None if they cannot be read."""
        keys = [self._named(name) for name in ("KiWaitNever", "KiWaitAlways", "KdpDataBlockEncoded")]
        never, always, flag = keys
        if address is None or never is None or always is None or flag is None:
            return None
        try:
            codes = self.memory.u64(never), self.memory.u64(always), flag
            head = decode_debugger_data(self.memory.read(address, HEAD_SIZE), *codes)
            data = self.memory.read_prefix(address, debugger_data_size(head, address))
            plain = decode_debugger_data(data, *codes)
        except KdiveError:
            return None
        return DebuggerData(address, plain, encoded=True)

    def _named(self, name: str) -> int | None:
        """Address of a kernel symbol, without the help of the debugger data block."""
        found = self.engine.find(f"nt!{name}")
        return found[0][0].base + found[0][1].rva if found else None

    def _modules(self) -> list[Module]:
        if self.triage is not None:
            return triage_modules(self.triage)
        head = self._module_list_head()
        if head is None:
            return []
        modules, notice = read_loaded_modules(self.memory, head, self._struct_or_none("_KLDR_DATA_TABLE_ENTRY"))
        if notice:
            self.notices.append(notice)
        return modules

    def _module_list_head(self) -> int | None:
        if self.header is not None and self.header.ps_loaded_module_list:
            return self.header.ps_loaded_module_list
        if self.hints is not None and self.hints.module_list:
            return self.hints.module_list
        # Before the modules are known, no symbols can lead to the block.
        if self._debugger_data is not None:
            return self._debugger_data.pointer("PsLoadedModuleList")
        return None

    def _struct_or_none(self, name: str) -> StructType | None:
        # The module list is read before modules (and so symbols) are known: only the second reading has types.
        try:
            return self.engine.struct_type(f"nt!{name}")
        except KdiveError:
            return None

    def refresh_modules(self) -> None:
        """Read the module list again."""
        self.engine.set_modules(self._modules())

    def _match(self, module: Module) -> tuple[ModuleSymbols, str] | None:
        if self.debugger_data is None:
            return None
        machine = _MACHINES.get(self.target.machine, 0)
        entries = self.engine.catalogue.entries()
        match = match_kernel(entries, self.debugger_data, module.base, module.size, machine)
        if match is None:
            return None
        symbols = open_isf(match.path, self._index_cache)
        return (symbols if match.exact else TypesOnly(symbols)), match.evidence

    def _add_triage_copies(self, triage: TriageBlock) -> None:
        """Put the triage dump's copies of PRCB, thread and process where they belong in memory.

        The block does not record their addresses, but they point at each other, and the debugger data block records
        where (so that no symbols are needed).
        """
        data = self.debugger_data
        memory = self.memory
        if data is None or not isinstance(memory, FragmentMemory):
            return
        fragments = memory
        view = triage.buffer.view
        thread = self._copied_pointer(triage.prcb_offset, data.offset("OffsetPrcbCurrentThread"))
        self.triage_thread = thread
        if not thread:
            return
        thread_size = data.size_of("_ETHREAD")
        if triage.thread_offset and thread_size:
            fragments.add(thread, view[triage.thread_offset : triage.thread_offset + thread_size])
        process = self._copied_pointer(triage.thread_offset, data.offset("OffsetKThreadApcProcess"))
        process_size = data.size_of("_EPROCESS")
        if process and triage.process_offset and process_size:
            fragments.add(process, view[triage.process_offset : triage.process_offset + process_size])

    triage_thread: int | None = None
    """Address of the thread that a triage dump holds a copy of."""

    def _copied_pointer(self, copy: int, offset: int) -> int:
        if not copy or not offset or self.triage is None or copy + offset + 8 > len(self.triage.buffer):
            return 0
        return self.triage.buffer.u64(copy + offset)

    # --- symbols and structures ------------------------------------------------------------------------------------

    @property
    def module(self) -> Module | None:
        """The kernel image."""
        state = self.engine.state_named("nt")
        return None if state is None else state.module

    @property
    def base(self) -> int | None:
        """Load address of the kernel, if known."""
        if self.module is not None:
            return self.module.base
        if self.hints is not None:
            return self.hints.base
        return self.debugger_data.kernel_base if self.debugger_data is not None else None

    @property
    def build(self) -> int | None:
        """Build number of the running kernel."""
        if self.hints is not None:
            return self.hints.build & 0xFFFF
        return None if self.header is None else self.header.build & 0xFFFF

    def symbol(self, name: str) -> int:
        """Return the address of a kernel variable or function, from symbols or from the debugger data block.

        Raises:
            SymbolNotFoundError: Neither knows it.
        """
        found = self.engine.find(f"nt!{name}")
        if found:
            return found[0][0].base + found[0][1].rva
        if self.debugger_data is not None:
            try:
                pointer = self.debugger_data.pointer(name)
            except KeyError:
                pointer = 0
            if pointer:
                return pointer
        raise SymbolNotFoundError(
            f"no symbol nt!{name}", hint="kernel symbols are needed: --sympath, --isf, or .reload /f nt"
        )

    def type(self, name: str) -> StructType:
        """Return the layout of a kernel structure.

        Raises:
            SymbolNotFoundError: The kernel's symbols are missing or lack it.
        """
        return self.engine.struct_type(f"nt!{name}")

    def struct(self, name: str, address: int, memory: Memory | None = None) -> Struct:
        """View a kernel structure at an address."""
        return Struct(memory or self.memory, address, self.type(name))

    # --- what is loaded --------------------------------------------------------------------------------------------

    @cached_property
    def unloaded_modules(self) -> list[UnloadedModule]:
        """Drivers that were unloaded, most recent first; empty where the list cannot be read."""
        if self.triage is not None:
            return [UnloadedModule(entry.name, entry.start, entry.end, None) for entry in self.triage.unloaded]
        try:
            table = self.memory.u64(self.symbol("MmUnloadedDrivers"))
            last = self.memory.u32(self.symbol("MmLastUnloadedDriver"))
            return read_unloaded_modules(self.memory, table, last)
        except (MemoryAccessError, SymbolNotFoundError):
            return []
