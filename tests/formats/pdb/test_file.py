from __future__ import annotations

import struct

import pytest

from kdive.errors import FormatError
from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.gsi import PublicSymbols, SymbolHash, hash_v1
from kdive.formats.pdb.info import FEATURE_VC140, StringTable, parse_info
from kdive.formats.pdb.kinds import S_PUB32
from kdive.formats.pdb.msf import MsfFile
from kdive.formats.pdb.records import Located, SymbolRecords, parse_record
from kdive.formats.pdb.source import BytesSource
from tests.data import need
from tests.formats.pdb.build import GUID, info, msf

AMDPPM = "symbols/store/amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31/amdppm.pdb"


def public(name: bytes, section: int, offset: int) -> bytes:
    body = struct.pack("<IIH", 2, offset, section) + name + b"\0"
    body += b"\0" * (-(len(body) + 4) % 4)
    return struct.pack("<HH", len(body) + 2, S_PUB32) + body


def hash_table(names: dict[bytes, int]) -> bytes:
    """A hash table over records at these offsets."""
    buckets: dict[int, list[int]] = {}
    for name, offset in names.items():
        buckets.setdefault(hash_v1(name) % 4096, []).append(offset)
    bitmap, starts, records = 0, b"", b""
    for bucket in sorted(buckets):
        bitmap |= 1 << bucket
        starts += struct.pack("<I", len(records) // 8 * 12)
        records += b"".join(struct.pack("<II", offset + 1, 1) for offset in buckets[bucket])
    tail = bitmap.to_bytes(129 * 4, "little") + starts
    return struct.pack("<IIII", 0xFFFFFFFF, 0xF12F091A, len(records), len(tail)) + records + tail


def test_the_info_stream_gives_identity_and_features() -> None:
    found = parse_info(info(7))
    assert (found.guid, found.age) == (GUID.hex.upper(), 7)
    assert FEATURE_VC140 in found.features
    with pytest.raises(FormatError):
        parse_info(info()[:20])


def test_a_real_info_stream_names_its_streams() -> None:
    file = PdbFile.open(need(AMDPPM))
    assert "/names" in file.info.streams
    assert file.strings.get(0) == ""
    assert file.dbi is not None
    assert file.dbi.modules[0].name
    with pytest.raises(FormatError):
        file.module(len(file.dbi.modules))


def test_the_name_hash_finds_every_name_and_no_other() -> None:
    names = {f"Name{index}".encode(): index * 16 for index in range(300)}
    raw = hash_table(names)
    table = SymbolHash(BytesSource(raw), 0, len(raw))
    assert table.usable
    for name, offset in names.items():
        assert offset + 1 in table.candidates(hash_v1(name))
    assert len(table.candidates(hash_v1(b"Other name"))) < 5
    assert not SymbolHash(BytesSource(b""), 0, 0).usable
    assert not SymbolHash(BytesSource(b"\1" * 64), 0, 64).usable


def test_the_address_map_is_searched_by_section_and_offset() -> None:
    places = [(b"a", 1, 0x10), (b"b", 1, 0x20), (b"b2", 1, 0x20), (b"c", 2, 0x5)]
    records, offsets = b"", []
    for place in places:
        offsets.append(len(records))
        records += public(*place)
    table = hash_table({name: at for (name, _, _), at in zip(places, offsets, strict=True)})
    head = struct.pack("<IIIIHHII", len(table), 16, 0, 0, 0, 0, 0, 0)
    stream = head + table + struct.pack("<4I", *offsets)
    container = MsfFile(msf([b"", stream, records]))
    publics = PublicSymbols(container.view(1), SymbolRecords(container.view(2)))

    def names(section: int, offset: int) -> list[str]:
        found = [parse_record(records, publics.offset(i)) for i in publics.at_or_below(section, offset)]
        return [record.name for record in found if isinstance(record, Located)]

    assert names(1, 0xF) == []
    assert names(1, 0x1F) == ["a"]
    assert names(1, 0x2000) == ["b", "b2"]
    assert names(2, 4) == []
    assert names(2, 5) == ["c"]


@pytest.mark.parametrize("cut", [1, 3, 10, 15])
def test_records_cut_short_are_refused(cut: int) -> None:
    whole = public(b"name", 1, 2)
    with pytest.raises(FormatError):
        parse_record(whole[:-cut], 0)
    with pytest.raises(FormatError):
        parse_record(whole, len(whole))


def test_a_string_table_without_its_signature_is_refused() -> None:
    with pytest.raises(FormatError, match="signature"):
        StringTable(b"\0" * 16)
