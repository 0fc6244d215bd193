"""The export directory of a PE image.

Format facts: Microsoft's "PE Format" specification, "The .edata Section".
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.formats.pe.image import DIRECTORY_EXPORT
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.formats.pe.image import PeImage

_DIRECTORY = struct.Struct("<IIHHIIIIIII")
_MAX_EXPORTS = 1 << 16
"""Ordinals are 16-bit."""
_MAX_NAME = 4096
_NAME_WINDOW = 1 << 20


class Export(Record, frozen=True):
    """One exported entry.

    Attributes:
        name: The name, None if it is exported by ordinal only.
        ordinal: The ordinal, with the directory's base added.
        rva: Where it lies; 0 for a forwarder.
        forwarder: ``MODULE.Name`` of the export that this one stands for, or None.
    """

    name: str | None
    ordinal: int
    rva: int
    forwarder: str | None = None


class ExportTable(Record, frozen=True):
    """The export directory: the image's own name and its exports in order of their ordinals."""

    module: str
    exports: tuple[Export, ...]


def _words(image: PeImage, rva: int, count: int, letter: str, size: int) -> tuple[int, ...]:
    data = image.read_available(rva, count * size)
    return struct.unpack_from(f"<{len(data) // size}{letter}", data)


class _Strings:
    """Reads many strings of one neighbourhood with few reads: names lie side by side."""

    def __init__(self, image: PeImage) -> None:
        self._image = image
        self._start = 0
        self._data = b""

    def get(self, rva: int) -> str:
        at = rva - self._start
        end = self._data.find(b"\0", at, at + _MAX_NAME) if at >= 0 else -1
        if end < 0:
            self._start, at = rva, 0
            self._data = self._image.read_available(rva, _MAX_NAME)
            end = self._data.find(b"\0")
            if end < 0:
                return self._data.decode("utf-8", "replace")
        return self._data[at:end].decode("utf-8", "replace")

    def load(self, rva: int, size: int) -> None:
        """Fetch a whole neighbourhood."""
        self._start, self._data = rva, self._image.read_available(rva, size)


def parse_exports(image: PeImage) -> ExportTable | None:
    """Read the export directory; None if the image has none or nothing of it is there.

    Entries whose tables are cut off (an image whose pages are partly missing) are left out.
    """
    rva, size = image.directory(DIRECTORY_EXPORT)
    head = image.read_available(rva, _DIRECTORY.size) if rva else b""
    if len(head) < _DIRECTORY.size:
        return None
    _, _, _, _, name_rva, base, functions, names, functions_rva, names_rva, ordinals_rva = _DIRECTORY.unpack(head)
    strings = _Strings(image)
    strings.load(rva, min(size, _NAME_WINDOW))
    addresses = _words(image, functions_rva, min(functions, _MAX_EXPORTS), "I", 4)
    count = min(names, _MAX_EXPORTS)
    name_rvas = _words(image, names_rva, count, "I", 4)
    indexes = _words(image, ordinals_rva, count, "H", 2)
    module = strings.get(name_rva) if name_rva else ""
    exports: list[Export] = []
    named: set[int] = set()

    def add(index: int, name: str | None) -> None:
        address = addresses[index]
        ordinal = (base + index) & 0xFFFFFFFF
        if rva <= address < rva + size:  # an address inside the directory is that of a forwarder's name
            exports.append(Export(name, ordinal, 0, strings.get(address)))
        else:
            exports.append(Export(name, ordinal, address))

    for at, index in zip(name_rvas, indexes, strict=False):
        if index < len(addresses) and addresses[index]:
            named.add(index)
            name = strings.get(at)
            add(index, name or None)
    for index, address in enumerate(addresses):
        if address and index not in named:
            add(index, None)
    exports.sort(key=lambda export: export.ordinal)
    return ExportTable(module, tuple(exports))
