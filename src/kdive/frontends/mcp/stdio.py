"""MCP on standard input and output.

Two daemon threads move bytes, so that neither a silent client nor one that does not read holds up the event loop or
the end of the process. The real descriptors are kept for the protocol alone: whatever else writes to standard output
lands on standard error.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]

MAX_MESSAGE = 4 << 20
"""Bytes that one message may have; the rest of a longer line is thrown away."""
_CHUNK = 1 << 16
_FLUSH_SECONDS = 2.0


def take_standard_streams() -> tuple[int, int]:
    """Keep descriptors 0 and 1 for the protocol and put harmless ones in their place."""
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return wire_in, wire_out


@asynccontextmanager
async def stdio_streams(wire_in: int, wire_out: int) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Message streams over two descriptors; the incoming one ends with the input."""
    import anyio

    loop = asyncio.get_running_loop()
    feed, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, drain = anyio.create_memory_object_stream[SessionMessage](0)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    written = asyncio.Event()

    async def write_messages() -> None:
        async with drain:
            async for item in drain:
                lines.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    reader = threading.Thread(target=_read, args=(wire_in, feed, loop), name="kdive-mcp-stdin", daemon=True)
    writer = threading.Thread(
        target=_write, args=(wire_out, lines, loop, written), name="kdive-mcp-stdout", daemon=True
    )
    reader.start()
    writer.start()
    task = asyncio.ensure_future(write_messages())
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        incoming.close()
        await asyncio.wait((task,), timeout=_FLUSH_SECONDS)
        lines.put(None)
        flushed = asyncio.ensure_future(written.wait())
        await asyncio.wait((flushed,), timeout=_FLUSH_SECONDS)
        for left in (task, flushed):
            left.cancel()


def _read(
    descriptor: int, feed: MemoryObjectSendStream[SessionMessage | Exception], loop: asyncio.AbstractEventLoop
) -> None:
    """Cut the input into lines and hand on the messages, one at a time."""
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
                    asyncio.run_coroutine_threadsafe(feed.send(_parse(bytes(line))), loop).result()
            if len(pending) > MAX_MESSAGE:
                pending.clear()
                if not skipping:
                    skipping = True
                    too_long = ValueError(f"a message is longer than {MAX_MESSAGE} bytes")
                    asyncio.run_coroutine_threadsafe(feed.send(too_long), loop).result()
    except Exception:  # noqa: BLE001 (the descriptor or the loop is gone: this is how a thread learns of the end)
        return
    finally:
        _call(loop, feed.close)


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
    _call(loop, written.set)


def _call(loop: asyncio.AbstractEventLoop, what: object) -> None:
    try:
        loop.call_soon_threadsafe(what)  # pyright: ignore[reportArgumentType]
    except RuntimeError:
        # The loop has ended before this thread.
        return
