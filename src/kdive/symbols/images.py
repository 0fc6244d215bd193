"""The bytes of a loaded image, from the target's memory and from a copy on disk."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pe.image import DIRECTORY_EXCEPTION, PeImage
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kdive.memory.interface import Memory


class Module(Record, frozen=True):
    """A loaded image.

    Attributes:
        name: The name that symbols are qualified with (``nt``, ``amdppm``).
        image_name: File name (``ntoskrnl.exe``).
        path: The path that the loader recorded, or the file name.
        base: Load address.
        size: ``SizeOfImage`` in bytes.
        timestamp: ``TimeDateStamp`` of the image, 0 if unknown.
        checksum: Checksum of the image, 0 if unknown.
    """

    name: str
    image_name: str
    path: str
    base: int
    size: int
    timestamp: int = 0
    checksum: int = 0

    @property
    def end(self) -> int:
        """First address behind the image."""
        return self.base + self.size

    def contains(self, address: int) -> bool:
        """Whether an address lies in the image."""
        return self.base <= address < self.base + self.size


class MemoryImage(PeImage):
    """A PE image whose bytes come from a reader of mapped memory; only the header page is read at once."""

    def __init__(self, read: Callable[[int, int], bytes], name: str) -> None:
        self._reader = read
        super().__init__(read(0, 0x1000), mapped=True, name=name)

    def read_available(self, rva: int, size: int) -> bytes:
        """See :meth:`PeImage.read_available`."""
        return self._reader(rva, size)


def open_image_file(path: Path) -> PeImage:
    """Map an image file.

    Raises:
        FormatError: It is no PE image, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return PeImage(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), name=path.name)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read the image: {error}", where=str(path)) from error


class ModuleImage:
    """The bytes of a module by RVA: what memory holds, completed from the file.

    Args:
        module: Which module.
        memory: The target's memory.
        find_file: Returns the on-disk copy, or None; asked once, when memory does not have the bytes.
    """

    def __init__(self, module: Module, memory: Memory, find_file: Callable[[], PeImage | None]) -> None:
        self.module = module
        self.name = module.name
        self.base = module.base
        self.size = module.size
        self._memory = memory
        self._find_file = find_file
        self._file: PeImage | None = None
        self._asked = False
        self._headers: PeImage | None = None
        self._headers_asked = False

    @property
    def file(self) -> PeImage | None:
        """The on-disk copy, if there is one."""
        if not self._asked:
            self._asked = True
            self._file = self._find_file()
        return self._file

    @property
    def headers(self) -> PeImage | None:
        """The image's headers, from memory or else from the file."""
        if not self._headers_asked:
            self._headers_asked = True
            try:
                self._headers = MemoryImage(self._read_memory, self.name)
            except FormatError:
                self._headers = self.file
        return self._headers

    def _read_memory(self, rva: int, size: int) -> bytes:
        return self._memory.read_prefix(self.base + rva, min(size, max(self.size - rva, 0)))

    def read_image(self, rva: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``rva``; short or empty where nothing is known."""
        if not 0 <= rva < self.size:
            return b""
        data = self._read_memory(rva, size)
        if len(data) < size and self.file is not None:
            other = self.file.read_available(rva, size)
            if len(other) > len(data):
                return data + other[len(data) :]
        return data

    def exception_directory(self) -> tuple[int, int]:
        """``(rva, size)`` of ``.pdata``; ``(0, 0)`` if unknown."""
        return self.headers.directory(DIRECTORY_EXCEPTION) if self.headers is not None else (0, 0)
