"""32-bit kernel dumps (``PAGEDUMP``): the header and the module list of a triage dump.

kdive does not debug 32-bit kernels: it reads enough to say what the file is and what was loaded.

Format facts: ``DUMP_HEADER32``/``TRIAGE_DUMP32`` of ``ntiodump.h``; the 0x4C-byte driver entry was seen in a dump of an
ARM (0x1C4) system of build 17134.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.formats.kernel_dump.header import FILLER32, DumpType
from kdive.formats.kernel_dump.triage import TriageDriver
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.formats.buffer import Buffer

HEADER_SIZE32 = 0x1000
_ENTRY_SIZE = 0x4C
_MACHINES = {0x14C: "x86", 0x1C4: "ARM (32-bit)", 0x1C0: "ARM (32-bit)"}


class Dump32(Record, frozen=True):
    """What kdive reads of a 32-bit dump."""

    build: int
    machine: int
    processors: int
    bugcheck_code: int
    bugcheck_parameters: tuple[int, int, int, int]
    dump_type: int
    drivers: tuple[TriageDriver, ...]

    @property
    def machine_name(self) -> str:
        """The architecture in words."""
        return _MACHINES.get(self.machine, f"machine {self.machine:#x}")


def _string(buffer: Buffer, offset: int) -> str:
    if not offset or offset + 4 > len(buffer):
        return ""
    count = buffer.u32(offset)
    return buffer.utf16(offset + 4, count) if count <= 1024 and offset + 4 + 2 * count <= len(buffer) else ""


def _drivers(buffer: Buffer) -> tuple[TriageDriver, ...]:
    offset, count = buffer.u32(HEADER_SIZE32 + 0x30), buffer.u32(HEADER_SIZE32 + 0x34)
    found: list[TriageDriver] = []
    for index in range(min(count, 4096)):
        at = offset + index * _ENTRY_SIZE
        if at + _ENTRY_SIZE > len(buffer):
            break
        # The entry holds the string offset and a copy of the 32-bit loader entry from +4 (DllBase at +0x18 of it).
        base, entry, size = buffer.u32(at + 4 + 0x18), buffer.u32(at + 4 + 0x1C), buffer.u32(at + 4 + 0x20)
        checksum, timestamp = buffer.u32(at + 4 + 0x40), buffer.u32(at + 4 + 0x44)
        found.append(TriageDriver(_string(buffer, buffer.u32(at)), base, size, timestamp, checksum, entry))
    return tuple(found)


def parse_dump32(buffer: Buffer) -> Dump32:
    """Decode the header and, in a triage dump, the module list.

    Raises:
        FormatError: The header is cut off.
    """
    buffer.check(0, 0xF8C)
    dump_type = buffer.u32(0xF88)
    drivers: tuple[TriageDriver, ...] = ()
    if dump_type == DumpType.TRIAGE and len(buffer) >= HEADER_SIZE32 + 0x40:
        drivers = _drivers(buffer)
    code = buffer.u32(0x28)
    parameters = (buffer.u32(0x2C), buffer.u32(0x30), buffer.u32(0x34), buffer.u32(0x38))
    return Dump32(
        buffer.u32(0xC),
        buffer.u32(0x20),
        buffer.u32(0x24),
        code,
        parameters,
        0 if dump_type == FILLER32 else dump_type,
        drivers,
    )
