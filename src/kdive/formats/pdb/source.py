"""Where the bytes of an MSF file come from.

A file is read piece by piece and not mapped where the system can read at an offset: what was read would count twice
against memory otherwise, and a file that is cut off by another program while mapped would end the process.
"""

from __future__ import annotations

import mmap
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kdive.errors import FormatError

if TYPE_CHECKING:
    from os import PathLike


class Source(Protocol):
    """Bytes that can be read at an offset."""

    size: int
    """How many bytes there are."""

    def read(self, at: int, size: int) -> bytes:
        """Return the bytes at an offset, fewer at the end."""
        ...


class BytesSource:
    """Bytes in memory, or a map of a file."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        self.size = len(data)

    def read(self, at: int, size: int) -> bytes:
        """Return the bytes at an offset, fewer at the end."""
        return self._data[at : at + size]


class FileSource:
    """An open file; closed when nothing refers to this object any more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self.size = os.fstat(descriptor).st_size

    def read(self, at: int, size: int) -> bytes:
        """Return the bytes at an offset, fewer at the end.

        Raises:
            FormatError: The system cannot read the file.
        """
        try:
            data = os.pread(self._descriptor, size, at)
            while len(data) < size:  # one call moves 2 GiB at most
                more = os.pread(self._descriptor, size - len(data), at + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise FormatError(f"cannot read the file: {error.strerror or error}", offset=at) from error
        return data


def open_source(path: str | PathLike[str]) -> Source:
    """Open a file.

    Raises:
        FormatError: It cannot be read.
    """
    try:
        if hasattr(os, "pread"):
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            source = FileSource(descriptor)
            source.read(0, 1)  # a folder can be opened, but not read
            return source
        with Path(path).open("rb") as stream:
            try:
                return BytesSource(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError:  # an empty file cannot be mapped
                return BytesSource(b"")
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except FormatError as error:
        raise FormatError(f"cannot read {path}: {error.what}") from error
