"""The one interface behind which every kind of memory stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kdive.errors import MemoryAccessError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdive.cancel import CancelToken


class Region(Record, frozen=True):
    """A run of readable addresses: ``start`` (inclusive), ``size`` in bytes."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.start + self.size


class Memory(ABC):
    """Byte-addressed memory.

    Implementations give :meth:`read_available` (and :meth:`regions`, :meth:`write` where they can); everything else is
    built on it. Addresses are unsigned 64-bit numbers. Readers should fetch a structure once and whole.

    Attributes:
        remote: Whether each place that is read costs a request to another machine.
    """

    remote = False

    @abstractmethod
    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        """Return what is readable in ``[address, address + size)`` as ascending ``(address, bytes)`` runs.

        Adjacent runs are merged; the list is empty if nothing is there. Never raises for absent memory.
        """

    @abstractmethod
    def reason(self, address: int) -> str:
        """Say in a few words why ``address`` cannot be read ("not in the dump", "page not present")."""

    def read(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes.

        Raises:
            MemoryAccessError: Not all of them are readable; ``address`` is the first byte that is not.
        """
        if size < 0:
            raise MemoryAccessError(address, size, "negative size")
        if size == 0:
            return b""
        runs = self.read_available(address, size)
        if len(runs) == 1 and runs[0][0] == address and len(runs[0][1]) == size:
            return runs[0][1]
        missing = address
        if runs and runs[0][0] == address:
            missing += len(runs[0][1])
        raise MemoryAccessError(missing, address + size - missing, self.reason(missing))

    def read_prefix(self, address: int, size: int) -> bytes:
        """Return the readable bytes at the start of the range (empty if the first byte is not readable)."""
        runs = self.read_available(address, size)
        return runs[0][1] if runs and runs[0][0] == address else b""

    def read_many(self, requests: Sequence[tuple[int, int]]) -> list[bytes | MemoryAccessError]:
        """Read a batch of ``(address, size)``; a target may answer it in one go."""
        answers: list[bytes | MemoryAccessError] = []
        for address, size in requests:
            try:
                answers.append(self.read(address, size))
            except MemoryAccessError as error:
                answers.append(error)
        return answers

    def write(self, address: int, data: bytes) -> None:
        """Write ``data``.

        Raises:
            MemoryAccessError: This memory cannot be written.
        """
        raise MemoryAccessError(address, len(data), "this memory is read-only")

    def regions(self) -> Iterable[Region]:
        """Return the known runs of readable addresses, ascending (empty if unknown)."""
        return ()

    def chunks(
        self, address: int, size: int, step: int = 1 << 20, cancel: CancelToken | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the readable runs of a long range in bounded pieces of at most ``step`` bytes.

        Raises:
            CancelledError: The token was cancelled; it is looked at before each piece, also where nothing is readable.
        """
        end = address + size
        while address < end:
            if cancel is not None:
                cancel.check()
            length = min(step, end - address)
            yield from self.read_available(address, length)
            address += length

    def is_readable(self, address: int, size: int = 1) -> bool:
        """Whether the whole range is readable."""
        try:
            self.read(address, size)
        except MemoryAccessError:
            return False
        return True

    def u8(self, address: int) -> int:
        """Read an unsigned byte."""
        return self.read(address, 1)[0]

    def u16(self, address: int) -> int:
        """Read a little-endian unsigned 16-bit integer."""
        return int.from_bytes(self.read(address, 2), "little")

    def u32(self, address: int) -> int:
        """Read a little-endian unsigned 32-bit integer."""
        return int.from_bytes(self.read(address, 4), "little")

    def u64(self, address: int) -> int:
        """Read a little-endian unsigned 64-bit integer."""
        return int.from_bytes(self.read(address, 8), "little")

    def cstring(self, address: int, limit: int = 4096) -> str:
        """Read a NUL-terminated narrow string of at most ``limit`` bytes, bad bytes replaced.

        Raises:
            MemoryAccessError: The first byte is not readable.
        """
        raw = self.read_prefix(address, limit)
        if not raw:
            raise MemoryAccessError(address, 1, self.reason(address))
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")

    def wstring(self, address: int, limit: int = 2048) -> str:
        """Read a NUL-terminated UTF-16LE string of at most ``limit`` code units.

        Raises:
            MemoryAccessError: The first code unit is not readable.
        """
        raw = self.read_prefix(address, limit * 2)
        if len(raw) < 2:
            raise MemoryAccessError(address, 2, self.reason(address))
        return raw[: len(raw) & ~1].decode("utf-16-le", "replace").split("\0", 1)[0]
