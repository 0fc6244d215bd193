"""What a way to reach a target must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdive.arch.context import MachineName, RegisterContext
    from kdive.memory.interface import Memory


class Capability(StrEnum):
    """Something that a target can do and a command may need."""

    MEMORY = "memory_introspection"
    PHYSICAL_MEMORY = "physical_memory"
    REGISTERS = "register_read"
    MEMORY_WRITE = "memory_write"
    REGISTER_WRITE = "register_write"
    LIVE = "live"
    EXECUTION = "execution_control"
    BREAKPOINTS = "breakpoints"
    WATCHPOINTS = "watchpoints"
    MSR = "msr"
    IO_PORTS = "io_ports"
    PCI = "pci_configuration"
    DUMP_HEADER = "dump_header"
    SECONDARY_DATA = "secondary_data"


class Target(ABC):
    """A stopped or running system under the debugger."""

    backend: str
    """``dump``, ``kd``, ``kdnet``, ``gdb`` or ``memory``."""
    description: str
    """Where it is: a path, an address."""
    machine: MachineName
    processors: int
    capabilities: frozenset[Capability]
    memory: Memory
    """Kernel virtual memory."""
    physical: Memory | None
    """Physical memory, if the target has it."""

    @abstractmethod
    def crash_context(self) -> RegisterContext | None:
        """The registers of the processor that the target stopped on."""

    @abstractmethod
    def notices(self) -> list[str]:
        """What the user should know about the target's condition (a dump cut short, for example)."""

    @abstractmethod
    def close(self) -> None:
        """Release the target; a live guest runs on."""
