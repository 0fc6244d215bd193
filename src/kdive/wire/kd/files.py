"""Files that the target asks its debugger for: a driver to load in the place of its own.

Source: ``windbgkd.h`` (``DBGKD_FILE_IO``). A request has an 8-byte head and 56 bytes that depend on what is asked; the
name of the file (UTF-16) or its data follows.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from kdive.errors import FormatError
from kdive.record import Record

HEADER_SIZE = 64
MAX_READ = 0xF00
"""Most bytes of an answer to a read: with its header below the transport's 4000."""

STATUS_SUCCESS, STATUS_END_OF_FILE, STATUS_INVALID_HANDLE = 0, 0xC0000011, 0xC0000008
STATUS_ACCESS_DENIED, STATUS_NO_SUCH_FILE, STATUS_NOT_IMPLEMENTED = 0xC0000022, 0xC000000F, 0xC0000002
_MAX_NAME = 1024
_CREATE = struct.Struct("<5I4xQQ")
_TRANSFER = struct.Struct("<QQI")
_WRITES = 0x40000000 | 0x10000000 | 0x2 | 0x4
"""``GENERIC_WRITE``, ``GENERIC_ALL``, ``FILE_WRITE_DATA``, ``FILE_APPEND_DATA``."""

_FILE_OPEN = 1


class FileApi(IntEnum):
    """What is asked for (``DbgKd…FileApi``)."""

    CREATE = 0x3430
    READ = 0x3431
    WRITE = 0x3432
    CLOSE = 0x3433


class OpenFile(Record, frozen=True):
    """Open a file.

    Attributes:
        name: Its name, as the target knows it.
        reads: Whether an existing file is to be opened for reading only.
    """

    name: str
    reads: bool


class ReadFile(Record, frozen=True):
    """Read a part of an open file."""

    handle: int
    offset: int
    size: int


class CloseFile(Record, frozen=True):
    """Close a file."""

    handle: int


class OtherFileRequest(Record, frozen=True):
    """Writing, or something that is not known."""

    api: int


FileRequest = OpenFile | ReadFile | CloseFile | OtherFileRequest


def parse_file_request(payload: bytes) -> FileRequest:
    """Decode a request.

    Raises:
        FormatError: It is cut short.
    """
    if len(payload) < HEADER_SIZE:
        raise FormatError(f"a file request of {len(payload)} bytes is cut short")
    api = int.from_bytes(payload[:4], "little")
    match api:
        case FileApi.CREATE:
            access, _, _, disposition, _, _, _ = _CREATE.unpack_from(payload, 8)
            raw = payload[HEADER_SIZE : HEADER_SIZE + 2 * _MAX_NAME]
            name = raw[: len(raw) & ~1].decode("utf-16-le", "replace").split("\0", 1)[0]
            return OpenFile(name, not access & _WRITES and disposition == _FILE_OPEN)
        case FileApi.READ:
            handle, offset, size = _TRANSFER.unpack_from(payload, 8)
            return ReadFile(handle, offset, size)
        case FileApi.CLOSE:
            return CloseFile(int.from_bytes(payload[8:16], "little"))
        case _:
            return OtherFileRequest(api)


def opened(payload: bytes, handle: int, size: int) -> bytes:
    """The answer to an open that worked."""
    answer = bytearray(_answer(payload, STATUS_SUCCESS))
    struct.pack_into("<QQ", answer, 32, handle, size)
    return bytes(answer)


def data_read(payload: bytes, data: bytes) -> bytes:
    """The answer to a read that worked."""
    answer = bytearray(_answer(payload, STATUS_SUCCESS))
    struct.pack_into("<I", answer, 24, len(data))
    return bytes(answer) + data


def answered(payload: bytes, status: int) -> bytes:
    """Any other answer."""
    return _answer(payload, status)


def _answer(payload: bytes, status: int) -> bytes:
    return (payload[:4].ljust(4, b"\0") + status.to_bytes(4, "little") + payload[8:HEADER_SIZE]).ljust(
        HEADER_SIZE, b"\0"
    )
