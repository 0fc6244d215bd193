"""What some live targets let a debugger do with the machine itself: registers, ports, buses, device memory."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Hardware(ABC):
    """The machine below a halted target. Reading a device can change it: nothing here is cached or read ahead."""

    @abstractmethod
    def read_msr(self, register: int, processor: int) -> int:
        """Read a model-specific register (AMD64) or a system register (ARM64) of a processor.

        Raises:
            TargetError: The target refuses: there may be no such register.
        """

    @abstractmethod
    def write_msr(self, register: int, value: int, processor: int) -> None:
        """Write a model-specific or system register of a processor.

        Raises:
            TargetError: The target refuses.
        """

    @abstractmethod
    def read_port(self, port: int, size: int) -> int:
        """Read an I/O port, ``size`` being 1, 2 or 4 bytes.

        Raises:
            TargetError: The target refuses.
        """

    @abstractmethod
    def write_port(self, port: int, size: int, value: int) -> None:
        """Write an I/O port, ``size`` being 1, 2 or 4 bytes.

        Raises:
            TargetError: The target refuses.
        """

    @abstractmethod
    def read_pci(self, bus: int, device: int, function: int, offset: int, size: int) -> bytes:
        """Read PCI configuration space; shorter than asked for, or empty, where there is nothing.

        Raises:
            TargetError: The target does not answer.
        """

    @abstractmethod
    def read_device(self, address: int, size: int) -> int:
        """Read a device's register at a physical address in one access, without caching; ``size`` is 1, 2, 4 or 8.

        Raises:
            MemoryAccessError: The target cannot read there.
        """
