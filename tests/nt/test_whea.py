"""Hardware error records."""

from __future__ import annotations

import struct
import uuid

import pytest

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.nt.whea import parse_record, record_length

MEMORY = "A5BC1114-6F64-4EDE-B863-3E83ED7C83B1"


def record(sections: list[str], severity: int = 1) -> bytes:
    head = struct.pack("<4sHIHIII", b"CPER", 0x210, 0xFFFFFFFF, len(sections), severity, 0, 128 + 72 * len(sections))
    bodies = (bytes(16) + uuid.UUID(guid).bytes_le + bytes(40) for guid in sections)
    return head.ljust(128, b"\0") + b"".join(bodies)


def test_a_record_names_its_severity_and_sections() -> None:
    other = "11111111-2222-3333-4444-555555555555"
    raw = record([MEMORY, other])
    assert record_length(Buffer(raw)) == len(raw)
    parsed = parse_record(Buffer(raw))
    assert parsed.severity == "fatal"
    assert parsed.sections == ["memory", other]


def test_sections_that_are_cut_off_are_left_out() -> None:
    assert parse_record(Buffer(record([MEMORY, MEMORY])[:220])).sections == ["memory"]


def test_something_else_is_refused() -> None:
    with pytest.raises(FormatError):
        parse_record(Buffer(bytes(128)))
    with pytest.raises(FormatError):
        record_length(Buffer(b"CPER"))
