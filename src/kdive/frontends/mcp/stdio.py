"""MCP on standard input and output.

Two daemon threads move bytes, so that neither a silent client nor one that does not read holds up the event loop or
the end of the process. The real descriptors are kept for the protocol alone: whatever else writes to standard output
lands on standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

MAX_MESSAGE = 4 << 20
"""Bytes that one message may have; the rest of a longer line is thrown away."""
_CHUNK = 1 << 16
_FLUSH_SECONDS = 2.0
_BACKLOG = 64
"""Messages that may wait for the event loop."""


def take_standard_streams() -> tuple[int, int]:
    """Keep descriptors 0 and 1 for the protocol and put harmless ones in their place."""
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return wire_in, wire_out


class Inbox:
    """The messages that come in, for the event loop; at most a few wait, then the reading thread does.

    Ends when the input ends.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[SessionMessage | Exception | None] = asyncio.Queue()
        self._room = threading.Semaphore(_BACKLOG)

    def put(self, message: SessionMessage | Exception | None) -> None:
        """Add a message, or the end (None); called by the reading thread.

        Raises:
            RuntimeError: The event loop has ended.
        """
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, message)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            EndOfStream: There is none any more.
        """
        message = await self._waiting.get()
        if message is None:
            self._waiting.put_nowait(None)
            raise anyio.EndOfStream
        self._room.release()
        return message

    async def aclose(self) -> None:
        """Let the reading thread go on to its end."""
        self._room.release(_BACKLOG)

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Inbox:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class Outbox:
    """The messages that go out: written by a thread, in order."""

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    async def send(self, item: SessionMessage, /) -> None:
        """Hand a message on."""
        self.lines.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def aclose(self) -> None:
        """Nothing more will come; the thread is ended by :func:`stdio_streams`."""

    async def __aenter__(self) -> Outbox:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def stdio_streams(wire_in: int, wire_out: int) -> AsyncGenerator[tuple[Inbox, Outbox]]:
    """Message streams over two descriptors; the incoming one ends with the input."""
    inbox, outbox = Inbox(), Outbox()
    loop = asyncio.get_running_loop()
    written = asyncio.Event()
    reader = threading.Thread(target=_read, args=(wire_in, inbox), name="kdive-mcp-stdin", daemon=True)
    writer = threading.Thread(
        target=_write, args=(wire_out, outbox.lines, loop, written), name="kdive-mcp-stdout", daemon=True
    )
    reader.start()
    writer.start()
    try:
        yield inbox, outbox
    finally:
        outbox.lines.put(None)
        with contextlib.suppress(TimeoutError):
            # A client that does not read must not hold up the end.
            await asyncio.wait_for(written.wait(), _FLUSH_SECONDS)


def _read(descriptor: int, inbox: Inbox) -> None:
    """Cut the input into lines and hand on the messages."""
    pending = bytearray()
    skipping = False
    try:
        while chunk := os.read(descriptor, _CHUNK):
            pending += chunk
            *whole, rest = pending.split(b"\n")
            pending = bytearray(rest)
            for line in whole:
                if skipping:
                    skipping = False
                elif line.strip():
                    inbox.put(_parse(bytes(line)))
            if len(pending) > MAX_MESSAGE:
                pending.clear()
                if not skipping:
                    skipping = True
                    inbox.put(ValueError(f"a message is longer than {MAX_MESSAGE} bytes"))
        inbox.put(None)
    except OSError:
        with contextlib.suppress(RuntimeError):
            inbox.put(None)
    except RuntimeError:
        # The loop has ended before the input.
        return


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def _write(
    descriptor: int, lines: queue.SimpleQueue[bytes | None], loop: asyncio.AbstractEventLoop, written: asyncio.Event
) -> None:
    """Write lines until the queue ends, or until nobody reads them any more."""
    try:
        while (line := lines.get()) is not None:
            view = memoryview(line)
            while view:
                view = view[os.write(descriptor, view) :]
    except OSError:
        # The client is gone; the end of the input tells the rest of the server.
        while lines.get() is not None:
            pass
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(written.set)
