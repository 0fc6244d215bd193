"""Results of writing dumps."""

from __future__ import annotations

from kdive.record import Record


class DumpWritten(Record, frozen=True):
    """``.dump``.

    Attributes:
        path: The file.
        size: Its size in bytes.
        kind: What kind of dump it is.
        pages: Pages in it.
        runs: Runs of physical memory.
        missing: Pages that could not be read and are zeros.
        note: How the physical memory was found, if not from the kernel's own list.
    """

    path: str
    size: int
    kind: str
    pages: int
    runs: int
    missing: int = 0
    note: str = ""
