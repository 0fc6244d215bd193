"""Kernel dump files as targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.amd64.paging import Amd64PageTables
from kdive.arch.arm64.paging import Arm64PageTables
from kdive.errors import UnsupportedError
from kdive.formats.kernel_dump.file import KernelDump, open_dump_file
from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_ARM64
from kdive.memory.fragments import FragmentMemory
from kdive.memory.paging import TranslatedMemory
from kdive.memory.physical import PagedFileMemory
from kdive.targets.base import Capability, Target

if TYPE_CHECKING:
    import os

    from kdive.arch.context import MachineName, RegisterContext
    from kdive.memory.interface import Memory
    from kdive.memory.paging import PageTables

_MACHINES: dict[int, MachineName] = {MACHINE_AMD64: "amd64", MACHINE_ARM64: "arm64"}


class DumpTarget(Target):
    """A kernel dump.

    Attributes:
        dump: The file.
        memory: Kernel virtual memory: the fragments of a triage dump, or the page tables over the dump's pages.
    """

    backend = "dump"

    def __init__(self, dump: KernelDump) -> None:
        self.dump = dump
        self.description = str(dump.path)
        header = dump.header
        machine = _MACHINES.get(header.machine)
        if machine is None:
            raise UnsupportedError(
                f"dumps of machine type {header.machine:#x} are not supported (AMD64 and ARM64 are)",
                where=self.description,
            )
        self.machine = machine
        self.processors = header.processors
        able = {Capability.MEMORY, Capability.REGISTERS, Capability.DUMP_HEADER, Capability.SECONDARY_DATA}
        self.physical: Memory | None = None
        if dump.pages is not None:
            self.physical = PagedFileMemory(dump.buffer.view, dump.pages)
            self.memory = TranslatedMemory(self.physical, self._kernel_tables(self.physical))
            able.add(Capability.PHYSICAL_MEMORY)
        else:
            self.memory = self._fragments()
        self.capabilities = frozenset(able)

    def _fragments(self) -> FragmentMemory:
        triage = self.dump.triage
        view = self.dump.buffer.view
        if triage is None:
            return FragmentMemory([], "the dump holds no memory")
        pieces = triage.fragments(self.dump.header.kd_debugger_data_block)
        return FragmentMemory(
            ((piece.address, view[piece.offset : piece.offset + piece.size]) for piece in pieces),
            "not in this triage dump",
        )

    def _kernel_tables(self, physical: Memory) -> PageTables:
        root = self.dump.header.directory_table_base
        if self.machine == "arm64":
            return Arm64PageTables(root)
        four = Amd64PageTables(root)
        probe = self.dump.header.ps_loaded_module_list or self.dump.header.kd_debugger_data_block
        if probe is not None and four.walk(physical, probe).physical is None:
            # The header does not say whether CR4.LA57 was set: the tables that reach the kernel are the right ones.
            five = Amd64PageTables(root, levels=5)
            if five.walk(physical, probe).physical is not None:
                return five
        return four

    def page_tables(self, root: int) -> PageTables:
        """Page tables of another address space of this system."""
        if self.machine == "arm64":
            kernel = self.memory.tables if isinstance(self.memory, TranslatedMemory) else None
            return Arm64PageTables(root, kernel.root if kernel is not None else None)
        levels = 4
        if isinstance(self.memory, TranslatedMemory) and isinstance(self.memory.tables, Amd64PageTables):
            levels = self.memory.tables.levels
        return Amd64PageTables(root, levels)

    def crash_context(self) -> RegisterContext | None:
        """See :meth:`Target.crash_context`."""
        raw = self.dump.header.context
        if not raw:
            return None
        if self.machine == "arm64":
            from kdive.arch.arm64.context import decode_context
        else:
            from kdive.arch.amd64.context import decode_context
        return decode_context(raw)

    def notices(self) -> list[str]:
        """See :meth:`Target.notices`."""
        return [f"the dump is incomplete: it lacks {part}" for part in self.dump.missing]

    def close(self) -> None:
        """See :meth:`Target.close`."""
        self.dump.close()


def open_dump(path: str | os.PathLike[str]) -> DumpTarget:
    """Open a kernel dump file as a target.

    Raises:
        TargetError: The file cannot be read.
        FormatError: It is not a kernel dump.
        UnsupportedError: It is a dump that kdive does not handle.
    """
    return DumpTarget(open_dump_file(path))
