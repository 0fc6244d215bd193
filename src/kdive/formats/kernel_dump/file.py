"""A kernel dump file: memory-mapped, recognised, its parts decoded on demand."""

from __future__ import annotations

import contextlib
import mmap
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import FormatError, TargetError, UnsupportedError
from kdive.formats.buffer import Buffer
from kdive.formats.kernel_dump.header import (
    DUMP_TYPE_NAMES,
    FILLER32,
    HEADER_SIZE,
    DumpType,
    parse_header,
)
from kdive.formats.kernel_dump.pages import (
    PageMap,
    bitmap_dump_pages,
    full_dump_pages,
    rdmp_dump_pages,
    summary_dump_pages,
)
from kdive.formats.kernel_dump.secondary import MARK, SecondaryData, parse_secondary
from kdive.formats.kernel_dump.triage import TriageBlock, parse_triage

if TYPE_CHECKING:
    import os

    from kdive.formats.kernel_dump.dump32 import Dump32

_SECONDARY_SEARCH = 0x10000
_OTHER_FORMATS = {
    b"MDMP": "a user-mode minidump",
    b"USER": "an old user-mode dump",
    b"\x7fELF": "an ELF core file",
    b"KDUM": "a kdump file",
    b"hibr": "a hibernation file",
    b"HIBR": "a hibernation file",
    b"wake": "a hibernation file",
    b"RSTR": "a hibernation file",
}


class KernelDump:
    """An open 64-bit kernel dump.

    Attributes:
        path: The file.
        header: The decoded header.
        missing: What the file should hold but does not (it was cut short), as phrases for the user.
    """

    def __init__(self, data: bytes | mmap.mmap, path: Path) -> None:
        self.path = path
        self.data = data
        self.buffer = Buffer(data, path.name)
        self._check_signature()
        self.header = parse_header(self.buffer)
        self.missing: list[str] = []
        self.triage: TriageBlock | None = None
        self.pages: PageMap | None = None
        self._open_body()

    def _check_signature(self) -> None:
        start = bytes(self.buffer.view[:8])
        if start == b"PAGEDU64":
            if len(self.buffer) < HEADER_SIZE:
                raise FormatError(
                    f"the file is cut off inside the dump header: {len(self.buffer):#x} of {HEADER_SIZE:#x} bytes",
                    where=str(self.path),
                    hint="copy the dump again; a kernel dump is at least 8 KiB long",
                )
            return
        if start == b"PAGEDUMP":
            raise UnsupportedError(_describe32(self.buffer), where=str(self.path), hint="open it with WinDbg")
        for signature, name in _OTHER_FORMATS.items():
            if start.startswith(signature):
                raise UnsupportedError(f"this is {name}, not a kernel dump", where=str(self.path))
        raise FormatError(
            "not a Windows kernel dump (the file does not start with PAGEDU64)",
            where=str(self.path),
            hint="kdive opens the MEMORY.DMP or Minidump\\*.dmp file that Windows writes at a crash",
        )

    def _open_body(self) -> None:
        kind = self.header.dump_type
        try:
            if kind == DumpType.TRIAGE:
                self.triage = parse_triage(self.buffer)
                self.missing = self.triage.missing
                return
            self.pages = self._page_map(kind)
        except FormatError as error:
            self.missing.append(f"the memory: {error}")
            return
        if self.pages is not None and self.pages.end_offset > len(self.buffer):
            lost = self.pages.end_offset - len(self.buffer)
            self.missing.append(f"{lost:#x} bytes ({lost >> 12} pages) at the end of the file")

    def _page_map(self, kind: int) -> PageMap | None:
        if kind == DumpType.FULL:
            return full_dump_pages(self.header.runs)
        if kind == DumpType.SUMMARY:
            return summary_dump_pages(self.buffer)
        if kind in (DumpType.BITMAP_FULL, DumpType.BITMAP_KERNEL):
            return bitmap_dump_pages(self.buffer)
        if kind in (DumpType.KERNEL, DumpType.KERNEL_AND_USER, DumpType.COMPLETE):
            return rdmp_dump_pages(self.buffer, complete=kind == DumpType.COMPLETE)
        if kind == DumpType.HEADER:
            self.missing.append("all memory (the dump holds its header only)")
            return None
        named = "never set by the writer" if kind in (0, FILLER32) else f"{kind}, which is not known"
        self.missing.append(f"the memory: the dump type is {named}")
        return None

    @property
    def type_name(self) -> str:
        """The kind of dump in words."""
        try:
            return DUMP_TYPE_NAMES[DumpType(self.header.dump_type)]
        except ValueError:
            return f"dump of unknown type {self.header.dump_type:#x}"

    @cached_property
    def secondary(self) -> list[SecondaryData]:
        """The tagged secondary data blocks."""
        if self.triage is not None:
            # The blob follows the TRGD mark; its exact place varies by a few bytes of padding.
            start = self.triage.valid_offset
        elif self.pages is not None:
            start = self.pages.end_offset
        else:
            return []
        if not 0 < start < len(self.buffer):
            return []
        window = bytes(self.buffer.view[start : start + _SECONDARY_SEARCH])
        at = window.find(MARK)
        return parse_secondary(self.buffer, start + at) if at >= 0 else []

    def close(self) -> None:
        """Unmap the file. Views handed out before stay valid until they are dropped."""
        if isinstance(self.data, mmap.mmap):
            with contextlib.suppress(BufferError):
                self.buffer.view.release()
                self.data.close()


def _describe32(buffer: Buffer) -> str:
    from kdive.formats.kernel_dump.dump32 import parse_dump32

    dump = parse_dump32(buffer)
    text = (
        f"32-bit kernel dumps are not supported: {dump.machine_name} build {dump.build & 0xFFFF}, "
        f"bugcheck {dump.bugcheck_code:#x}"
    )
    return f"{text}, {len(dump.drivers)} modules" if dump.drivers else text


def _map_file(path: Path) -> bytes | mmap.mmap:
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise FormatError("the file is empty", where=str(path))
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise TargetError("no such file", where=str(path)) from error
    except IsADirectoryError as error:
        raise TargetError("this is a directory, not a dump file", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise TargetError(f"cannot read the file: {error}", where=str(path)) from error


def open_dump_file(path: str | os.PathLike[str]) -> KernelDump:
    """Map a dump file and decode its header.

    Raises:
        TargetError: The file cannot be read.
        FormatError: It is no 64-bit kernel dump, or its header is cut off.
        UnsupportedError: It is a kind of dump that kdive does not handle.
    """
    where = Path(path)
    return KernelDump(_map_file(where), where)


def open_dump32_file(path: str | os.PathLike[str]) -> Dump32:
    """Read the header and module list of a 32-bit (``PAGEDUMP``) dump.

    Raises:
        TargetError: The file cannot be read.
        FormatError: It is not a 32-bit kernel dump, or is cut off inside its header.
    """
    where = Path(path)
    buffer = Buffer(_map_file(where), where.name)
    if bytes(buffer.view[:8]) != b"PAGEDUMP":
        raise FormatError("not a 32-bit kernel dump", where=str(where))
    from kdive.formats.kernel_dump.dump32 import parse_dump32

    return parse_dump32(buffer)
