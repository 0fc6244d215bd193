"""Recordings of KD sessions: written while a session runs, and played again without the target."""

from __future__ import annotations

import lzma
import os
import time
from typing import TYPE_CHECKING

from kdive.errors import FormatError, TargetError
from kdive.targets.transport import Transport
from kdive.wire.kd.replay import ReplayedTarget, cut
from kdive.wire.kd.transcript import Chunk, Transcriber, parse_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from kdive.wire.kd.transcript import Direction

_MAX_LINE = 1 << 20
_FLUSH = 1.0


class Recorder:
    """Writes what crosses a wire to a file that its owner may read: it holds the target's memory.

    Args:
        path: A file that must not exist yet.

    Attributes:
        path: The file.
        failure: Why it could not be written any more, empty if it could; the session goes on without it.

    Raises:
        TargetError: It cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure = ""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise TargetError(
                "the recording exists already", where=str(path), hint="give --record another name, or delete it"
            ) from error
        except OSError as error:
            raise TargetError(f"cannot record: {error.strerror or error}", where=str(path)) from error
        self._file = os.fdopen(handle, "w", encoding="utf-8")
        self._transcriber = Transcriber()
        self._start = self._flushed = time.monotonic()

    def __call__(self, direction: Direction, data: bytes) -> None:
        """Write bytes that went in one direction."""
        if self.failure:
            return
        now = time.monotonic()
        try:
            self._file.write(self._transcriber.line(Chunk(now - self._start, direction, data)))
            if now - self._flushed > _FLUSH:
                self._flushed = now
                self._file.flush()
        except OSError as error:
            self.failure = error.strerror or str(error)

    def close(self) -> None:
        """Write what is left and close the file."""
        try:
            self._file.close()
        except OSError as error:
            self.failure = self.failure or error.strerror or str(error)

    def discard(self) -> None:
        """Close the file and remove it: nothing came of the session."""
        self.close()
        self.path.unlink(missing_ok=True)


def read_recording(path: Path) -> Iterator[Chunk]:
    """Read a recording; one whose name ends in ``.xz`` is unpacked.

    Raises:
        TargetError: The file cannot be read, or is no recording.
    """
    try:
        with _opened(path) as file:
            yield from parse_lines(_lines(file))
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TargetError(f"cannot read the recording: {reason}", where=str(path)) from error
    except FormatError as error:
        raise TargetError(
            f"this is no recording: {error.what}", where=str(path), hint="--record FILE writes them"
        ) from error


def _opened(path: Path) -> IO[str]:
    return lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")


def _lines(file: IO[str]) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        yield line


class ReplayTransport(Transport):
    """Stands in for the line to a target: answers as a recorded one did.

    Args:
        path: The recording.

    Raises:
        TargetError: It cannot be read, or holds nothing of a KD target.
    """

    def __init__(self, path: Path) -> None:
        self.description = f"replay of {path}"
        try:
            self.target = ReplayedTarget(cut(read_recording(path)))
        except FormatError as error:
            raise TargetError(error.what, where=str(path), hint="--record FILE writes recordings") from error

    def read(self, seconds: float, expected: int = 0) -> bytes | None:
        """See :meth:`Transport.read`."""
        del expected
        data = self.target.outgoing()
        if data:
            return data
        if self.target.ended:
            raise TargetError("the recording ends here", where=self.description)
        time.sleep(max(seconds, 0))
        return None

    def write(self, data: bytes) -> None:
        """See :meth:`Transport.write`."""
        self.target.receive(data)

    def fileno(self) -> int:
        """There is no descriptor."""
        return -1

    def receive(self) -> bytes:
        """See :meth:`Transport.receive`."""
        return self.target.outgoing()

    def transmit(self, data: bytes) -> int:
        """See :meth:`Transport.transmit`."""
        self.target.receive(data)
        return len(data)

    def close(self) -> None:
        """Nothing is open."""
