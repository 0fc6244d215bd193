"""Byte streams to a target: Unix sockets, TCP, serial devices and pseudo-terminals."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import TargetError, UsageError

if TYPE_CHECKING:
    from kdive.cancel import CancelToken

CONNECT_DEADLINE = 5.0
WRITE_DEADLINE = 5.0
_CHUNK = 1 << 16
_POLL = 0.1
_BYTE_TIME = 1e-6
_GATHER = 1e-3

FORMS = "PATH of a Unix socket or serial device, HOST:PORT, listen:PATH or listen:HOST:PORT"


class Transport(ABC):
    """A stream of bytes in both directions.

    Attributes:
        description: What it is connected to, for people.
    """

    description: str

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor that becomes readable when bytes are there."""

    @abstractmethod
    def receive(self) -> bytes:
        """Return what is there, without waiting; empty if the other end has closed.

        Raises:
            BlockingIOError: Nothing is there.
            OSError: The stream is broken.
        """

    @abstractmethod
    def transmit(self, data: bytes) -> int:
        """Write what can be written without waiting; return how much that was."""

    @abstractmethod
    def close(self) -> None:
        """Close the stream."""

    def read(self, seconds: float, expected: int = 0) -> bytes | None:
        """Wait for bytes, at most so long; None if none came.

        Args:
            seconds: How long to wait for the first byte.
            expected: How many are on their way, if that is known: a virtual serial port hands over a dozen at a time,
                and waking up for each dozen costs more than the transfer.

        Raises:
            TargetError: The stream has ended.
        """
        try:
            ready, _, _ = select.select([self.fileno()], [], [], max(seconds, 0))
            if not ready:
                return None
            data = self.receive()
            if data and len(data) < expected:
                data = self._gather(data, expected)
        except BlockingIOError:
            return None
        except (OSError, ValueError) as error:
            raise TargetError(f"the connection broke: {error}", where=self.description) from error
        if not data:
            raise TargetError(
                "the other end closed the connection",
                where=self.description,
                hint="is the virtual machine still running, and is no other debugger attached?",
            )
        return data

    def _gather(self, first: bytes, expected: int) -> bytes:
        """Take more of what is on its way, as long as it keeps coming."""
        data = bytearray(first)
        while len(data) < expected:
            time.sleep(min((expected - len(data)) * _BYTE_TIME, _GATHER))
            try:
                more = self.receive()
            except BlockingIOError:
                break
            if not more:
                break
            data += more
        return bytes(data)

    def write(self, data: bytes) -> None:
        """Write all bytes.

        Raises:
            TargetError: The stream has ended, or nobody takes the bytes for five seconds.
        """
        view = memoryview(data)
        while view:
            try:
                _, ready, _ = select.select([], [self.fileno()], [], WRITE_DEADLINE)
                if not ready:
                    raise TargetError("the other end takes no bytes", where=self.description)
                with contextlib.suppress(BlockingIOError):
                    view = view[self.transmit(bytes(view)) :]
            except (OSError, ValueError) as error:
                raise TargetError(f"the connection broke: {error}", where=self.description) from error


class SocketTransport(Transport):
    """A connected socket."""

    def __init__(self, connection: socket.socket, description: str) -> None:
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self.description = description

    def fileno(self) -> int:
        """See :meth:`Transport.fileno`."""
        return self._socket.fileno()

    def receive(self) -> bytes:
        """See :meth:`Transport.receive`."""
        return self._socket.recv(_CHUNK)

    def transmit(self, data: bytes) -> int:
        """See :meth:`Transport.transmit`."""
        return self._socket.send(data)

    def close(self) -> None:
        """See :meth:`Transport.close`."""
        self._socket.close()


class DeviceTransport(Transport):
    """A serial device or the near end of a pseudo-terminal, in raw mode."""

    def __init__(self, path: Path, baud: int = 115200) -> None:
        import termios
        import tty

        self.description = str(path)
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise TargetError(f"cannot open: {error.strerror}", where=str(path)) from error
        try:
            tty.setraw(self._descriptor)
            settings = termios.tcgetattr(self._descriptor)
            speed = getattr(termios, f"B{baud}", termios.B115200)
            settings[4] = settings[5] = speed
            termios.tcsetattr(self._descriptor, termios.TCSANOW, settings)
        except termios.error as error:
            os.close(self._descriptor)
            raise TargetError(f"not a serial device: {error}", where=str(path)) from error

    def fileno(self) -> int:
        """See :meth:`Transport.fileno`."""
        return self._descriptor

    def receive(self) -> bytes:
        """See :meth:`Transport.receive`."""
        return os.read(self._descriptor, _CHUNK)

    def transmit(self, data: bytes) -> int:
        """See :meth:`Transport.transmit`."""
        return os.write(self._descriptor, data)

    def close(self) -> None:
        """See :meth:`Transport.close`."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def open_transport(place: str, cancel: CancelToken | None = None) -> Transport:
    """Open a stream to a target.

    Args:
        place: See :data:`FORMS`.
        cancel: Ends the wait for a peer when listening.

    Raises:
        UsageError: The place is of no form that is known.
        TargetError: It cannot be reached.
        CancelledError: The token was cancelled.
    """
    listening = place.startswith("listen:")
    rest = place.removeprefix("listen:")
    host, colon, port = rest.rpartition(":")
    if colon and port.isdigit() and "/" not in rest:
        return _tcp(host.strip("[]") or "127.0.0.1", int(port), cancel, listening=listening)
    path = Path(rest).expanduser()
    if listening:
        return _listen(socket.AF_UNIX, str(path), cancel)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise TargetError(
            f"cannot reach the target: {error.strerror}", where=str(path), hint=f"a place is a {FORMS}"
        ) from error
    if stat.S_ISCHR(mode):
        return DeviceTransport(path)
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} is neither a socket nor a serial device", hint=f"a place is a {FORMS}")
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(CONNECT_DEADLINE)
    return _connect(connection, str(path), str(path))


def _tcp(host: str, port: int, cancel: CancelToken | None, *, listening: bool) -> Transport:
    if listening:
        return _listen(socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port), cancel)
    connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    connection.settimeout(CONNECT_DEADLINE)
    return _connect(connection, (host, port), f"{host}:{port}")


def _connect(connection: socket.socket, address: str | tuple[str, int], description: str) -> Transport:
    try:
        connection.connect(address)
    except OSError as error:
        connection.close()
        raise TargetError(
            f"cannot connect: {error.strerror or error}",
            where=description,
            hint="is the virtual machine running, with its serial port on this socket?",
        ) from error
    return SocketTransport(connection, description)


def _listen(family: int, address: str | tuple[str, int], cancel: CancelToken | None) -> Transport:
    """Wait for the virtual machine to connect to us."""
    server = socket.socket(family)
    try:
        if family != socket.AF_UNIX:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen(1)
        while True:
            if cancel is not None:
                cancel.check()
            if select.select([server], [], [], _POLL)[0]:
                connection, _ = server.accept()
                return SocketTransport(connection, str(address))
    except OSError as error:
        raise TargetError(f"cannot listen: {error.strerror or error}", where=str(address)) from error
    finally:
        server.close()
        if isinstance(address, str):
            with contextlib.suppress(OSError):
                Path(address).unlink()
