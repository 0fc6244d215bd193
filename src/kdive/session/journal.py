"""What was written over in a guest, kept on disk until it is put back.

A breakpoint instruction in physical memory outlives a debugger that is killed. Each is written down before it is
written to the guest; whoever attaches next to the same target puts the original byte back.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from kdive.atomic import replacing
from kdive.errors import MemoryAccessError
from kdive.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.memory.interface import Memory


class PatchedByte(Record, frozen=True):
    """A byte that was written over.

    Attributes:
        kernel: Load address of the kernel that ran: another boot has another guest memory.
        physical: Its physical address.
        original: What was there.
        written: What was written.
    """

    kernel: int
    physical: int
    original: int
    written: int


class Journal:
    """The bytes that were written over in one target.

    Args:
        folder: Where journals are kept.
        target: What tells this target from others: where it is attached.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._path = folder / f"{hashlib.sha256(target.encode()).hexdigest()[:24]}.json"
        self._entries: dict[int, PatchedByte] = {entry.physical: entry for entry in self._load()}

    def _load(self) -> list[PatchedByte]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[PatchedByte])
        except (OSError, msgspec.DecodeError):
            return []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: PatchedByte) -> None:
        """Write down a byte, before it is written over.

        Raises:
            OSError: It cannot be written down.
        """
        self._entries[entry.physical] = entry
        self._save()

    def discard(self, physical: int) -> None:
        """Strike out a byte that has been put back."""
        if self._entries.pop(physical, None) is not None:
            self._save()

    def _save(self) -> None:
        if not self._entries:
            self._path.unlink(missing_ok=True)
            return
        with replacing(self._path) as file:
            file.write(msgspec.json.encode(list(self._entries.values())))
            file.flush()
            os.fsync(file.fileno())

    def put_back(self, kernel: int, physical: Memory) -> int:
        """Put back what an earlier debugger left written over, and return how many bytes that were.

        A byte is touched only if the same kernel still runs and the byte is what was written.

        Raises:
            MemoryAccessError: One could not be written; it stays in the journal.
        """
        repaired = 0
        for entry in list(self._entries.values()):
            try:
                there = physical.read(entry.physical, 1)[0] if entry.kernel == kernel else None
            except MemoryAccessError:
                there = None
            if there == entry.written:
                physical.write(entry.physical, bytes((entry.original,)))
                repaired += 1
            self._entries.pop(entry.physical)
        self._save()
        return repaired
