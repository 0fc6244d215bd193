"""PCI configuration space: the header that every function has.

Source: PCI Local Bus Specification 3.0, chapter 6 and appendix D; PCI Code and ID Assignment Specification.
"""

from __future__ import annotations

import struct
from typing import Literal

from kdive.errors import FormatError
from kdive.record import Record

HEADER_SIZE = 0x40
CONFIGURATION_SIZE = 0x100
NO_VENDOR = 0xFFFF
_BRIDGE, _CARDBUS = 1, 2
_HEAD = struct.Struct("<HHHHBBBBBBBB")

_CLASSES = {
    0x0000: "Old device",
    0x0001: "VGA compatible device",
    0x0100: "SCSI controller",
    0x0101: "IDE controller",
    0x0104: "RAID controller",
    0x0105: "ATA controller",
    0x0106: "SATA controller",
    0x0107: "SAS controller",
    0x0108: "NVM controller",
    0x0200: "Ethernet controller",
    0x0280: "Network controller",
    0x0300: "VGA controller",
    0x0302: "3D controller",
    0x0380: "Display controller",
    0x0400: "Video device",
    0x0401: "Audio device",
    0x0403: "HD Audio device",
    0x0500: "RAM controller",
    0x0600: "Host bridge",
    0x0601: "ISA bridge",
    0x0604: "PCI-PCI bridge",
    0x0607: "CardBus bridge",
    0x0680: "Other bridge",
    0x0700: "Serial controller",
    0x0780: "Communication controller",
    0x0800: "Interrupt controller",
    0x0805: "SD host controller",
    0x0880: "System peripheral",
    0x0900: "Keyboard controller",
    0x0C00: "FireWire controller",
    0x0C03: "USB controller",
    0x0C05: "SMBus controller",
    0x0D11: "Bluetooth controller",
    0x0D80: "Wireless controller",
    0x1080: "Encryption controller",
    0x1180: "Signal processing controller",
    0x1200: "Processing accelerator",
}
_BASE_CLASSES = {
    0x01: "Mass storage controller",
    0x02: "Network controller",
    0x03: "Display controller",
    0x04: "Multimedia device",
    0x05: "Memory controller",
    0x06: "Bridge",
    0x07: "Communication controller",
    0x08: "System peripheral",
    0x09: "Input device",
    0x0A: "Docking station",
    0x0B: "Processor",
    0x0C: "Serial bus controller",
    0x0D: "Wireless controller",
    0x0E: "Intelligent controller",
    0x0F: "Satellite controller",
    0x10: "Encryption controller",
    0x11: "Signal processing controller",
    0x12: "Processing accelerator",
}


class Bar(Record, frozen=True):
    """A base address register.

    Attributes:
        index: Number of its (first) register.
        space: ``io``, ``memory``, or ``memory64`` for one that takes two registers.
        address: Where the function decodes, 0 if it was given no place.
        prefetchable: Whether memory there may be read ahead.
    """

    index: int
    space: Literal["io", "memory", "memory64"]
    address: int
    prefetchable: bool


class PciHeader(Record, frozen=True):
    """The header of a function.

    Attributes:
        vendor: Vendor id.
        device: Device id.
        command: Command register.
        status: Status register.
        revision: Revision id.
        class_code: Base class, subclass and programming interface, 8 bits each.
        kind: Header type without its flag: 0 for devices, 1 for PCI bridges, 2 for CardBus bridges.
        multifunction: Whether the device has more functions than this.
        bars: Base address registers that are not empty.
        subsystem: Subsystem vendor and id of a device.
        secondary_bus: Bus behind a bridge.
    """

    vendor: int
    device: int
    command: int
    status: int
    revision: int
    class_code: int
    kind: int
    multifunction: bool
    bars: tuple[Bar, ...]
    subsystem: tuple[int, int] | None
    secondary_bus: int | None

    @property
    def class_name(self) -> str:
        """The class in words."""
        known = _CLASSES.get(self.class_code >> 8) or _BASE_CLASSES.get(self.class_code >> 16)
        return known or f"class {self.class_code >> 8:04x}"


def _bars(data: bytes, count: int) -> tuple[Bar, ...]:
    words: tuple[int, ...] = struct.unpack_from(f"<{count}I", data, 0x10)
    found: list[Bar] = []
    index = 0
    while index < count:
        word, first = words[index], index
        index += 1
        if word & 1:
            found.append(Bar(first, "io", word & ~3, prefetchable=False))
            continue
        address, wide = word & ~0xF, word >> 1 & 3 == 2
        if wide and index < count:
            address |= words[index] << 32
            index += 1
        if word or address:
            found.append(Bar(first, "memory64" if wide else "memory", address, bool(word & 8)))
    return tuple(found)


def parse_pci_header(data: bytes) -> PciHeader:
    """Decode the first 64 bytes of a function's configuration space.

    Raises:
        FormatError: There are fewer.
    """
    if len(data) < HEADER_SIZE:
        raise FormatError(f"a PCI header of {len(data)} bytes; {HEADER_SIZE} are needed")
    vendor, device, command, status, revision, interface, sub, base, _, _, header, _ = _HEAD.unpack_from(data)
    kind = header & 0x7F
    bars = _bars(data, {0: 6, _BRIDGE: 2, _CARDBUS: 1}.get(kind, 0))
    subsystem = struct.unpack_from("<HH", data, 0x2C) if kind == 0 else None
    return PciHeader(
        vendor,
        device,
        command,
        status,
        revision,
        base << 16 | sub << 8 | interface,
        kind,
        bool(header & 0x80),
        bars,
        subsystem if subsystem != (0, 0) else None,
        data[0x19] if kind in (_BRIDGE, _CARDBUS) else None,
    )
