"""Files of the host that a target may have in the place of its own: those that the user named, and no others."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.wire.kd import files

if TYPE_CHECKING:
    from pathlib import Path

_MAX_OPEN = 16


class DriverFiles:
    """The map, and what is open of it.

    Attributes:
        mapped: Name that the target asks for, as the user wrote it, to the file.
        served: Names that were opened, with how often.
        refused: Names that were asked for and not given, with how often.
    """

    def __init__(self) -> None:
        self.mapped: dict[str, Path] = {}
        self.served: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self._open: dict[int, int] = {}
        self._next = 1

    def find(self, name: str) -> Path | None:
        """The file for a name: the whole name, or its last part if that is all the user gave; case does not matter."""
        wanted = name.casefold()
        last = wanted.rpartition("\\")[2]
        for key, path in self.mapped.items():
            known = key.casefold()
            if known == wanted or ("\\" not in known and known == last):
                return path
        return None

    def answer(self, payload: bytes) -> bytes:
        """Answer a request of the target."""
        try:
            request = files.parse_file_request(payload)
        except FormatError:
            return files.answered(payload, files.STATUS_NOT_IMPLEMENTED)
        match request:
            case files.OpenFile():
                return self._opened(payload, request)
            case files.ReadFile():
                return self._read(payload, request)
            case files.CloseFile():
                descriptor = self._open.pop(request.handle, None)
                if descriptor is None:
                    return files.answered(payload, files.STATUS_INVALID_HANDLE)
                os.close(descriptor)
                return files.answered(payload, files.STATUS_SUCCESS)
            case _:
                return files.answered(payload, files.STATUS_ACCESS_DENIED)

    def close(self) -> None:
        """Close what is open: the target has restarted, or is gone."""
        while self._open:
            with contextlib.suppress(OSError):
                os.close(self._open.popitem()[1])

    def _opened(self, payload: bytes, request: files.OpenFile) -> bytes:
        path = self.find(request.name)
        descriptor = None
        if path is not None and request.reads and len(self._open) < _MAX_OPEN:
            descriptor = _open_regular(path)
        if descriptor is None:
            self.refused[request.name] = self.refused.get(request.name, 0) + 1
            status = files.STATUS_NO_SUCH_FILE if request.reads else files.STATUS_ACCESS_DENIED
            return files.answered(payload, status)
        handle = self._next
        self._next += 1
        self._open[handle] = descriptor
        self.served[request.name] = self.served.get(request.name, 0) + 1
        return files.opened(payload, handle, os.fstat(descriptor).st_size)

    def _read(self, payload: bytes, request: files.ReadFile) -> bytes:
        descriptor = self._open.get(request.handle)
        if descriptor is None:
            return files.answered(payload, files.STATUS_INVALID_HANDLE)
        try:
            os.lseek(descriptor, min(request.offset, 1 << 62), os.SEEK_SET)
            data = os.read(descriptor, min(request.size, files.MAX_READ))
        except OSError:
            data = b""
        if not data and request.size:
            return files.answered(payload, files.STATUS_END_OF_FILE)
        return files.data_read(payload, data)


def _open_regular(path: Path) -> int | None:
    """Open a regular file; None for anything else, which might block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return descriptor
