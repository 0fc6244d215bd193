"""Hardware error records (WHEA), as bugcheck 0x124 points at them.

Facts: UEFI specification, appendix N "Common Platform Error Record": a header of 128 bytes {``CPER``, revision,
end mark 0xFFFFFFFF, section count at 10, severity at 12, record length at 20}, then a descriptor of 72 bytes for each
section with the section's type, a GUID, at 16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.guid import guid_text
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdive.formats.buffer import Buffer

HEADER_SIZE = 128
MAX_RECORD = 1 << 20
_DESCRIPTOR_SIZE = 72
_MAX_SECTIONS = 64
_SEVERITIES = ("recoverable", "fatal", "corrected", "informational")
_SECTIONS: Mapping[str, str] = {
    "9876CCAD-47B4-4BDB-B65E-16F193C4F3DB": "processor",
    "DC3EA0B0-A144-4797-B95B-53FA242B6E1D": "x86/x64 processor",
    "E429FAF1-3CB7-11D4-BCA7-0080C73C8881": "Itanium processor",
    "E19E3D16-BC11-11E4-9CAA-C2051D5D46B0": "ARM processor",
    "A5BC1114-6F64-4EDE-B863-3E83ED7C83B1": "memory",
    "61EC04FC-48E6-D813-25C9-8DAA44750B12": "memory, second form",
    "D995E954-BBC1-430F-AD91-B44DCB3C6F35": "PCI Express",
    "C5753963-3B84-4095-BF78-EDDAD3F9C9DD": "PCI bus",
    "EB5E4685-CA66-4769-B6A2-26068B001326": "PCI device",
    "81212A96-09ED-4996-9471-8D729C8E69ED": "firmware",
    "5B51FEF7-C79D-4434-8F1B-AA62DE3E2C64": "direct memory access",
}
"""Section types of the specification."""


class ErrorRecord(Record, frozen=True):
    """A hardware error.

    Attributes:
        severity: How bad it is.
        sections: What each section is about; a GUID where the type is not known.
    """

    severity: str
    sections: list[str]


def record_length(header: Buffer) -> int:
    """Return the length that a record's header states.

    Raises:
        FormatError: It is no error record.
    """
    if header.bytes(0, 4) != b"CPER" or header.u32(6) != 0xFFFFFFFF:
        raise FormatError("no hardware error record: the mark CPER is missing", where=header.name)
    return max(header.u32(20), HEADER_SIZE)


def parse_record(buffer: Buffer) -> ErrorRecord:
    """Decode a record.

    Raises:
        FormatError: It is no error record.
    """
    record_length(buffer)
    severity = buffer.u32(12)
    count = min(buffer.u16(10), _MAX_SECTIONS)
    sections: list[str] = []
    for index in range(count):
        at = HEADER_SIZE + index * _DESCRIPTOR_SIZE
        if at + _DESCRIPTOR_SIZE > len(buffer):
            break
        guid = guid_text(buffer.bytes(at + 16, 16))
        sections.append(_SECTIONS.get(guid, guid))
    name = _SEVERITIES[severity] if severity < len(_SEVERITIES) else f"severity {severity}"
    return ErrorRecord(name, sections)
