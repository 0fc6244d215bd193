from __future__ import annotations

import struct

import pytest

from kdive.errors import FormatError, SymbolNotFoundError
from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.gsi import hash_v1
from kdive.formats.pdb.msf import MsfFile
from kdive.formats.pdb.numeric import numeric
from kdive.symbols.pdb import PdbSymbols
from kdive.symbols.types import ArrayType, BitfieldType, EnumType, PointerType, StructType, TypeReference
from tests.formats.pdb.build import member, record, structure, types_only


def pointer(target: int) -> bytes:
    return record(0x1002, struct.pack("<II", target, 0x1000C))


def symbols(records: list[bytes], names: dict[int, str] | None = None, *, hashed: bool = True) -> PdbSymbols:
    return PdbSymbols(PdbFile(MsfFile(types_only(records, names, hashed=hashed))), "made by hand")


def struct_type(found: object) -> StructType:
    assert isinstance(found, StructType)
    return found


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("0700", 7),
        ("0080ff", -1),
        ("0180feff", -2),
        ("0280ffff", 0xFFFF),
        ("0380ffffffff", -1),
        ("0480ffffffff", 0xFFFFFFFF),
        ("0980ffffffffffffffff", -1),
        ("0a80ffffffffffffffff", 0xFFFFFFFFFFFFFFFF),
        ("1880" + "ff" * 16, (1 << 128) - 1),
    ],
)
def test_numeric_leaves_have_their_value_and_length(raw: str, value: int) -> None:
    data = bytes.fromhex(raw)
    assert numeric(data + b"rest", 0) == (value, len(data))


@pytest.mark.parametrize("raw", ["", "07", "0380ffff", "ff80", "0a80"])
def test_broken_numeric_leaves_are_refused(raw: str) -> None:
    with pytest.raises(FormatError):
        numeric(bytes.fromhex(raw), 0)


def test_the_name_hash_ignores_the_case_of_letters() -> None:
    assert hash_v1(b"_EPROCESS") == hash_v1(b"_eprocess")
    assert hash_v1(b"") == 0x20202020 ^ 0x20202020 >> 11 ^ (0x20202020 ^ 0x20202020 >> 11) >> 16


@pytest.mark.parametrize("hashed", [True, False])
def test_a_field_list_goes_on_in_its_continuation(hashed: bool) -> None:
    records = [
        record(0x1203, member("second", 0x22, 4)),
        record(0x1203, member("first", 0x22, 0) + struct.pack("<HHI", 0x1404, 0, 0x1000)),
        structure("_PAIR", 0x1001, 8),
    ]
    found = struct_type(symbols(records, {2: "_PAIR"}, hashed=hashed).find_type("_PAIR"))
    assert [(field.name, field.offset) for field in found.fields] == [("first", 0), ("second", 4)]
    assert found.size == 8


def test_a_field_list_that_continues_in_itself_is_refused() -> None:
    records = [
        record(0x1203, member("only", 0x22, 0) + struct.pack("<HHI", 0x1404, 0, 0x1000)),
        structure("_LOOP", 0x1000, 4),
    ]
    with pytest.raises(FormatError, match="never ends"):
        symbols(records, {1: "_LOOP"}).find_type("_LOOP")


def test_a_member_whose_type_contains_itself_does_not_hide_the_others() -> None:
    records = [
        pointer(0x1000),
        record(0x1203, member("bad", 0x1000, 0) + member("good", 0x22, 8)),
        structure("_S", 0x1001, 12),
    ]
    found = struct_type(symbols(records, {2: "_S"}).find_type("_S"))
    assert [field.name for field in found.fields] == ["bad", "good"]
    assert "unknown" in getattr(found.fields[0].type, "name", "")


def test_a_class_that_is_its_own_base_does_not_hang() -> None:
    base = struct.pack("<HHIH", 0x1400, 3, 0x1001, 0) + b"\xf2\xf1"
    records = [record(0x1203, base * 50 + member("x", 0x22, 0)), structure("_B", 0x1000, 4)]
    struct_type(symbols(records, {1: "_B"}).find_type("_B"))


def test_members_of_bases_come_first_and_at_their_places() -> None:
    base = struct.pack("<HHIH", 0x1400, 3, 0x1001, 4) + b"\xf2\xf1"
    records = [
        record(0x1203, member("b", 0x22, 0)),
        structure("Base", 0x1000, 4),
        record(0x1203, base + member("d", 0x22, 8)),
        structure("Derived", 0x1002, 12),
    ]
    found = struct_type(symbols(records, {1: "Base", 3: "Derived"}).find_type("Derived"))
    assert [(field.name, field.offset) for field in found.fields] == [("b", 4), ("d", 8)]


@pytest.mark.parametrize("hashed", [True, False])
def test_a_forward_reference_leads_to_the_definition(hashed: bool) -> None:
    records = [
        structure("_NODE", 0, 0, forward=True, unique=".?AU_NODE@@"),
        pointer(0x1000),
        record(0x1203, member("Next", 0x1001, 0)),
        structure("_NODE", 0x1002, 8, unique=".?AU_NODE@@"),
    ]
    found = struct_type(symbols(records, {3: "_NODE"}, hashed=hashed).find_type("struct _NODE"))
    target = found.fields[0].type
    assert isinstance(target, PointerType)
    assert target.size == 8
    assert isinstance(target.target, TypeReference)
    assert (target.target.name, target.target.size) == ("_NODE", 8)
    assert target.target.resolve() == found


def test_a_type_that_is_only_announced_says_so() -> None:
    pdb = symbols([structure("_OPAQUE", 0, 0, forward=True)])
    with pytest.raises(SymbolNotFoundError, match="_OPAQUE"):
        pdb.find_type("_OPAQUE")
    assert pdb.find_type("_ABSENT") is None


def test_arrays_bitfields_modifiers_and_enumerations_are_laid_out() -> None:
    enumerates = b"".join(
        struct.pack("<HHH", 0x1502, 3, value) + name + b"\0" for name, value in ((b"Red", 1), (b"Sky", 2))
    )
    records = [
        record(0x1503, struct.pack("<IIH", 0x21, 0x23, 10) + b"\0"),
        record(0x1205, struct.pack("<IBB", 0x22, 3, 5)),
        record(0x1001, struct.pack("<IHH", 0x620, 1, 0)),
        record(0x1203, enumerates),
        record(0x1507, struct.pack("<HHII", 2, 0, 0x20, 0x1003) + b"_COLOUR\0"),
        record(0x1203, b"".join(member(f"m{i}", 0x1000 + index, i) for i, index in enumerate((0, 1, 2, 4)))),
        structure("_ALL", 0x1005, 64),
    ]
    pdb = symbols(records, {4: "_COLOUR", 6: "_ALL"})
    array, bits, far, colour = (field.type for field in struct_type(pdb.find_type("_ALL")).fields)
    assert isinstance(array, ArrayType)
    assert (array.count, array.size) == (5, 10)
    assert isinstance(bits, BitfieldType)
    assert (bits.position, bits.length, bits.size) == (5, 3, 4)
    assert isinstance(far, PointerType)
    assert isinstance(colour, TypeReference)
    assert colour.size == 1
    enum = pdb.find_type("_COLOUR")
    assert isinstance(enum, EnumType)
    assert dict(enum.values) == {"Red": 1, "Sky": 2}
    assert enum.name_of(2) == "Sky"
    assert list(pdb.search_types("_[ac]*")) == [("_ALL", 64), ("_COLOUR", 1)]


def test_a_pdb_of_types_only_has_no_symbols() -> None:
    pdb = symbols([structure("_E", 0, 4)], {0: "_E"})
    assert pdb.lookup("x") is None
    assert pdb.nearest(0x1000) is None
    assert pdb.procedure(0x1000) is None
    assert pdb.line(0x1000) is None
    assert list(pdb.search("*")) == []
    assert (pdb.guid, pdb.age) == ("00112233445566778899AABBCCDDEEFF", 1)


@pytest.mark.parametrize("hashed", [True, False])
def test_of_several_definitions_the_largest_counts(hashed: bool) -> None:
    records = [
        record(0x1203, member("Short", 0x22, 0)),
        record(0x1203, member("Short", 0x22, 0) + member("Long", 0x22, 4)),
        structure("_KPRCB", 0x1000, 4),
        structure("_KPRCB", 0x1001, 8),
        structure("_KPRCB", 0x1000, 4),
        structure("_KPRCB", 0, 0, forward=True),
        pointer(0x1005),
        record(0x1203, member("Prcb", 0x1006, 0)),
        structure("_KPCR", 0x1007, 8),
    ]
    pdb = symbols(records, {2: "_KPRCB", 3: "_KPRCB", 4: "_KPRCB", 8: "_KPCR"}, hashed=hashed)
    assert struct_type(pdb.find_type("_KPRCB")).size == 8
    target = struct_type(pdb.find_type("_KPCR")).fields[0].type
    assert isinstance(target, PointerType)
    assert target.target.size == 8


def test_the_wide_form_of_structures_and_unions_is_read() -> None:
    body = struct.pack("<IIIIHH", 0x200, 0x1000, 0, 0, 1, 4) + b"_WIDE\0.?AU_WIDE@@\0"
    union = struct.pack("<IIHH", 0, 0x1000, 1, 4) + b"_BOTH\0"
    records = [record(0x1203, member("x", 0x22, 0)), record(0x1609, body), record(0x160A, union)]
    pdb = symbols(records, {1: "_WIDE", 2: "_BOTH"})
    assert struct_type(pdb.find_type("_WIDE")).size == 4
    assert struct_type(pdb.find_type("_BOTH")).kind == "union"
