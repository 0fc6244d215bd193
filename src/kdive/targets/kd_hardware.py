"""The machine below a KD target: model-specific registers, ports, PCI, device memory."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from kdive.errors import MemoryAccessError, TargetError
from kdive.targets.hardware import Hardware
from kdive.wire.kd import requests
from kdive.wire.kd.states import ExceptionStop, ImageChange

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kdive.targets.kd_connection import KdConnection

_SWITCH_DEADLINE = 5.0


class KdHardware(Hardware):
    """The machine as KD requests reach it.

    Args:
        connection: The link.
        present: Returns the number of the processor that answers requests.
        changed: Called when something was written: what was read of memory may be wrong now.
    """

    def __init__(self, connection: KdConnection, present: Callable[[], int], changed: Callable[[], None]) -> None:
        self._connection = connection
        self._present = present
        self._changed = changed

    @contextlib.contextmanager
    def _on(self, processor: int) -> Generator[None]:
        """Have requests answered by a processor: the number in a request's header alone does not do that for MSRs."""
        before = self._present()
        if processor == before:
            yield
            return
        self._switch(processor)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, processor: int) -> None:
        self._connection.tell(requests.switch_processor(processor))
        end = time.monotonic() + _SWITCH_DEADLINE
        while (left := end - time.monotonic()) > 0:
            event = self._connection.next_event(left)
            if isinstance(event, ExceptionStop | ImageChange):
                # The stop is reported again, by the other processor.
                return
            if event is not None:
                self._connection.put_back(event)
                break
        raise TargetError(f"the target did not switch to processor {processor}")

    def read_msr(self, register: int, processor: int) -> int:
        """See :meth:`Hardware.read_msr`."""
        with self._on(processor):
            reply = self._connection.require(requests.read_msr(register, processor), f"read MSR {register:#x}")
        return requests.msr_value(reply)

    def write_msr(self, register: int, value: int, processor: int) -> None:
        """See :meth:`Hardware.write_msr`."""
        with self._on(processor):
            self._connection.require(requests.write_msr(register, value, processor), f"write MSR {register:#x}")
        self._changed()

    def read_port(self, port: int, size: int) -> int:
        """See :meth:`Hardware.read_port`."""
        reply = self._connection.require(requests.read_io(port, size), f"read port {port:#x}")
        return requests.io_value(reply, size)

    def write_port(self, port: int, size: int, value: int) -> None:
        """See :meth:`Hardware.write_port`."""
        self._connection.require(requests.write_io(port, size, value), f"write port {port:#x}")
        self._changed()

    def read_pci(self, bus: int, device: int, function: int, offset: int, size: int) -> bytes:
        """See :meth:`Hardware.read_pci`."""
        reply = self._connection.ask(requests.get_bus_data(bus, device | function << 5, offset, size))
        return b"" if reply.failed else reply.data[: min(size, reply.u32(16))]

    def read_device(self, address: int, size: int) -> int:
        """See :meth:`Hardware.read_device`."""
        reply = self._connection.ask(requests.read_device(address, size))
        data = requests.transferred(reply)
        if len(data) < size:
            raise MemoryAccessError(address, size, "the target cannot read this physical address")
        return int.from_bytes(data[:size], "little")
