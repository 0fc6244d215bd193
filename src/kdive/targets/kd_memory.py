"""Memory over a KD link, cached as long as the target stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import MemoryAccessError
from kdive.memory.interface import Memory
from kdive.wire.kd import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdive.cancel import CancelToken
    from kdive.targets.kd_connection import KdConnection

LINE = 0x200
"""Bytes of a cache line: one request fetches whole lines, so that small reads nearby cost nothing more."""

_MAX_LINES = 1 << 15
_PAGE = 0x1000


class KdMemory(Memory):
    """Virtual memory in the address space of the present processor, or physical memory.

    Args:
        connection: The link.
        physical: Which of the two.

    Attributes:
        masked: Bytes that breakpoint instructions stand in the place of, by address: readers see these.
        before_write: Called with the range that is about to be written.
        hits: Reads that needed no request.
        misses: Reads that needed some.
    """

    remote = True

    def __init__(self, connection: KdConnection, *, physical: bool = False) -> None:
        self._connection = connection
        self._physical = physical
        self._lines: dict[int, bytes] = {}
        self._known: tuple[int, bytes] = (0, b"")
        self.masked: dict[int, int] = {}
        self.hits = self.misses = 0
        self.before_write: Callable[[int, int], None] | None = None

    def know(self, address: int, data: bytes) -> None:
        """Take in bytes that the target has sent unasked; reads within them need no request."""
        self._known = (address, self._unmasked(address, data))

    def _unmasked(self, address: int, data: bytes) -> bytes:
        inside = [at for at in self.masked if address <= at < address + len(data)]
        if not inside:
            return data
        changed = bytearray(data)
        for at in inside:
            changed[at - address] = self.masked[at]
        return bytes(changed)

    def forget(self) -> None:
        """Drop what was read: the target has run, or something was written."""
        self._lines.clear()
        self._known = (0, b"")

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        """See :meth:`Memory.read_available`."""
        if size <= 0:
            return []
        address &= MASK64
        start, known = self._known
        if start <= address and address + size <= start + len(known):
            self.hits += 1
            return [(address, known[address - start : address - start + size])]
        end = min(address + size, 1 << 64)
        before = self._connection.requests
        self._fetch(address & ~(LINE - 1), end)
        if self._connection.requests == before:
            self.hits += 1
        else:
            self.misses += 1
        runs: list[tuple[int, bytes]] = []
        parts: list[bytes] = []
        start = address
        for line in range(address & ~(LINE - 1), end, LINE):
            data = self._lines.get(line, b"")
            piece = data[max(address - line, 0) : end - line]
            if piece:
                if not parts:
                    start = max(address, line)
                parts.append(piece)
            if len(data) < LINE and parts:
                runs.append((start, b"".join(parts)))
                parts = []
        if parts:
            runs.append((start, b"".join(parts)))
        return runs

    def _fetch(self, start: int, end: int) -> None:
        """Read the lines of a range that are not known, in as few requests as the transport allows."""
        wanted = [line for line in range(start, end, LINE) if line not in self._lines]
        if len(self._lines) + len(wanted) > _MAX_LINES:
            self._lines.clear()
            wanted = list(range(start, end, LINE))
        index = 0
        while index < len(wanted):
            first = wanted[index]
            length = LINE
            while (
                index + length // LINE < len(wanted)
                and wanted[index + length // LINE] == first + length
                and length < requests.MAX_TRANSFER
            ):
                length += LINE
            data = self._unmasked(first, self._read(first, length))
            if len(data) < length:
                # A page that is not there ended it; those behind it may be there.
                length = min(length, ((first + len(data)) // _PAGE + 1) * _PAGE - first)
            for offset in range(0, length, LINE):
                self._lines[first + offset] = data[offset : offset + LINE]
            index += length // LINE

    def _read(self, address: int, size: int) -> bytes:
        """Read what there is at the start of a range, in pieces that the line lets through."""
        data = bytearray()
        while len(data) < size:
            wanted = min(size - len(data), self._connection.transfer_size)
            place = address + len(data)
            reply = self._connection.ask(requests.read_memory(place, wanted, physical=self._physical))
            piece = requests.transferred(reply)[:wanted]
            data += piece
            if len(piece) < wanted:
                break
        return bytes(data)

    def chunks(
        self, address: int, size: int, step: int = 1 << 20, cancel: CancelToken | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """See :meth:`Memory.chunks`; a long range is read in the largest transfers and not kept."""
        end = address + size
        while address < end:
            limit = min(address + step, end)
            start, data = address, bytearray()
            while address < limit:
                if cancel is not None:
                    cancel.check()
                piece = self._bulk(address, limit - address)
                data += piece
                address += len(piece)
                if not piece:
                    break
            if data:
                yield start, bytes(data)
            if address < limit:
                address = min((address & ~(_PAGE - 1)) + _PAGE, end)

    def _bulk(self, address: int, size: int) -> bytes:
        """One transfer."""
        wanted = min(size, self._connection.transfer_size)
        reply = self._connection.ask(requests.read_memory(address, wanted, physical=self._physical))
        return self._unmasked(address, requests.transferred(reply)[:wanted])

    def reason(self, address: int) -> str:
        """See :meth:`Memory.reason`."""
        del address
        return "no such physical memory" if self._physical else "not present in the target's present address space"

    def write(self, address: int, data: bytes) -> None:
        """Write memory.

        Raises:
            MemoryAccessError: Not all of it could be written; ``address`` is the first byte that was not.
        """
        if self.before_write is not None:
            self.before_write(address, len(data))
        self.write_raw(address, data)

    def write_raw(self, address: int, data: bytes) -> None:
        """Write memory, whatever breakpoints are there.

        Raises:
            MemoryAccessError: Not all of it could be written; ``address`` is the first byte that was not.
        """
        done = 0
        while done < len(data):
            here = address + done
            length = min(len(data) - done, requests.MAX_TRANSFER, _PAGE - here % _PAGE)
            reply = self._connection.ask(
                requests.write_memory(here, data[done : done + length], physical=self._physical)
            )
            count = min(requests.written(reply), length)
            done += count
            if count < length:
                self.forget()
                raise MemoryAccessError(here + count, len(data) - done, f"the target refused ({reply.status:#x})")
        self.forget()
