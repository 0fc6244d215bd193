"""The PCI buses of a live target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.hardware import hardware
from kdive.commands.results.hardware import BaseRegister, PciBuses, PciFunctionRow
from kdive.commands.spec import Group, command
from kdive.formats.pci import CONFIGURATION_SIZE, HEADER_SIZE, NO_VENDOR, parse_pci_header
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.formats.pci import PciHeader
    from kdive.targets.hardware import Hardware

_BUSES, _DEVICES, _FUNCTIONS = 256, 32, 8
_VERBOSE, _UP_TO, _RAW_BYTES, _RAW_WORDS = 1, 2, 4, 8
_RAW = _RAW_BYTES | _RAW_WORDS


class _Scan:
    """One scan: reads headers, counts requests."""

    def __init__(self, context: CommandContext, machine: Hardware, flags: int) -> None:
        self._context = context
        self._machine = machine
        self._flags = flags
        self.requests = 0
        self.rows: list[PciFunctionRow] = []

    def _header(self, bus: int, device: int, function: int) -> PciHeader | None:
        self._context.cancel.check()
        self.requests += 1
        data = self._machine.read_pci(bus, device, function, 0, HEADER_SIZE)
        if len(data) < HEADER_SIZE or int.from_bytes(data[:2], "little") in (0, NO_VENDOR):
            return None
        return parse_pci_header(data)

    def function(self, bus: int, device: int, function: int) -> PciHeader | None:
        """Look at one function; None if it is not there."""
        found = self._header(bus, device, function)
        if found is None:
            return None
        raw = b""
        if self._flags & _RAW:
            self.requests += 1
            raw = self._machine.read_pci(bus, device, function, 0, CONFIGURATION_SIZE)
        bars = [BaseRegister(bar.index, bar.space, bar.address, bar.prefetchable) for bar in found.bars]
        self.rows.append(
            PciFunctionRow(
                bus,
                device,
                function,
                found.vendor,
                found.device,
                found.revision,
                found.command,
                found.status,
                found.class_code,
                found.class_name,
                found.subsystem,
                found.secondary_bus,
                bars if self._flags & _VERBOSE else [],
                raw,
            )
        )
        return found

    def device(self, bus: int, device: int) -> list[PciHeader]:
        """Look at a device's functions."""
        first = self.function(bus, device, 0)
        if first is None:
            return []
        functions = range(1, _FUNCTIONS if first.multifunction else 1)
        others = [self.function(bus, device, number) for number in functions]
        return [first, *(found for found in others if found is not None)]


@command(
    "!pci",
    syntax="[<flags> [<bus> [<device> [<function>]]]]",
    group=Group.KERNEL,
    summary="show the devices on the PCI buses",
    details="Flags: 1 base address registers, 2 all buses up to the one that is named, 4 configuration space in bytes, "
    "8 in double words. Without a bus, bus 0 and the buses behind its bridges are scanned.",
    examples=("!pci", "!pci 1 0", "!pci 5 0 1f 2"),
    needs=(Capability.PCI,),
)
def pci(context: CommandContext, arguments: str) -> PciBuses:
    """Show PCI functions."""
    numbers: list[int] = []
    rest = arguments
    limits = (1 << 32, _BUSES, _DEVICES, _FUNCTIONS)
    for limit, what in zip(limits, ("flags", "bus", "device", "function"), strict=True):
        if not rest:
            break
        number, rest = context.take(rest)
        if not 0 <= number < limit:
            raise context.usage_error(f"the {what} must be below {limit:#x}, not {number:#x}")
        numbers.append(number)
    if rest:
        raise context.usage_error(f"{rest!r} is not understood")
    flags = numbers[0] if numbers else 0
    scan = _Scan(context, hardware(context), flags)
    buses: list[int] = []
    match numbers[1:]:
        case []:
            waiting = [0]
            while waiting:
                bus = waiting.pop(0)
                buses.append(bus)
                for device in range(_DEVICES):
                    behind = [found.secondary_bus for found in scan.device(bus, device)]
                    waiting.extend(number for number in behind if number and number not in (*buses, *waiting))
        case [bus]:
            buses = list(range(bus + 1)) if flags & _UP_TO else [bus]
            for number in buses:
                for device in range(_DEVICES):
                    scan.device(number, device)
        case [bus, device]:
            buses = [bus]
            scan.device(bus, device)
        case [bus, device, function, *_]:
            buses = [bus]
            scan.function(bus, device, function)
        case _:
            pass
    rows = sorted(scan.rows, key=lambda row: (row.bus, row.device, row.function))
    return PciBuses(sorted(buses), rows, 4 if flags & _RAW_WORDS else 1, scan.requests)
