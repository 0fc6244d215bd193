from __future__ import annotations

import pytest

from kdive.errors import FormatError, KdiveError
from kdive.formats.pe.image import PeImage
from kdive.symbols.pdb import PdbSymbols
from kdive.symbols.types import EnumType, FunctionType, PointerType, StructType
from tests.data import data_root, need
from tests.symbols import pdbutil

AMDPPM = "symbols/store/amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31/amdppm.pdb"
NTDLL = "symbols/pairs/ntdll-x64/ntdll.pdb"
SYSTEM_INFORMER = "symbols/pairs/ksi-amd64/systeminformer.pdb"
WHOLE = [AMDPPM, NTDLL, SYSTEM_INFORMER, "symbols/pairs/ksi-arm64/systeminformer.pdb"]
PAIRS = [
    ("symbols/store/amdppm.sys/c9c030003b000/amdppm.sys", AMDPPM),
    ("symbols/pairs/ksi-amd64/systeminformer.sys", SYSTEM_INFORMER),
    ("symbols/pairs/ksi-arm64/systeminformer.sys", "symbols/pairs/ksi-arm64/systeminformer.pdb"),
    ("symbols/pairs/seh-x86/xcpt4.exe", "symbols/pairs/seh-x86/xcpt4.pdb"),
]


def opened(relative: str) -> PdbSymbols:
    return PdbSymbols.open(need(relative))


@pytest.mark.parametrize(("image", "pdb"), PAIRS)
def test_guid_age_and_machine_are_those_that_the_image_asks_for(image: str, pdb: str) -> None:
    wanted = PeImage(need(image).read_bytes())
    symbols = opened(pdb)
    assert wanted.pdb_identity is not None
    assert (symbols.guid, symbols.age) == (wanted.pdb_identity.guid, wanted.pdb_identity.age)
    assert symbols.machine == wanted.machine


def test_the_two_ages_of_a_pdb_are_kept_apart() -> None:
    symbols = opened(AMDPPM)
    assert (symbols.age, symbols.info_age, symbols.stripped) == (1, 3, True)


@pytest.mark.parametrize("relative", [*WHOLE, "symbols/pairs/seh-x86/xcpt4.pdb", "symbols/pairs/seh-x64/xcpt4.pdb"])
def test_every_public_has_the_address_that_llvm_gives_it(relative: str) -> None:
    symbols = opened(relative)
    starts = pdbutil.sections(need(relative))
    publics = pdbutil.publics(need(relative))
    assert len(publics) > 300
    expected: dict[str, set[int]] = {}
    for name, section, offset in publics:
        if section in starts:
            expected.setdefault(symbols.display_name(name), set()).add(starts[section] + offset)
    found: dict[str, set[int]] = {}
    for symbol in symbols.search("*"):
        found.setdefault(symbol.name, set()).add(symbol.rva)
    assert {name for name in expected if not expected[name] <= found.get(name, set())} == set()
    for name, section, offset in publics:
        symbol = symbols.lookup(name)
        if section not in starts:
            assert symbol is None
            continue
        assert symbol is not None, name
        assert symbol.rva == starts[section] + offset or symbol.rva in found[symbol.name], name
        nearest = symbols.nearest(starts[section] + offset)
        assert nearest is not None
        assert nearest.rva == starts[section] + offset


@pytest.mark.parametrize("relative", WHOLE)
def test_every_named_structure_has_the_layout_that_llvm_gives_it(relative: str) -> None:
    symbols = opened(relative)
    expected = pdbutil.structures(need(relative))
    assert len(expected) > 300
    for name, layouts in expected.items():
        if name in ("<unnamed-tag>", "__unnamed"):
            continue
        found = symbols.find_type(name)
        assert isinstance(found, StructType), name
        assert (found.size, [(field.name, field.offset) for field in found.fields]) in layouts, name
    assert {name for name, _ in symbols.search_types("*")} >= set(expected)


def test_lookup_knows_procedures_with_their_size() -> None:
    symbols = opened(SYSTEM_INFORMER)
    entry = symbols.lookup("KphReferenceDynData")
    assert entry is not None
    assert entry.kind == "function"
    assert entry.size > 0
    for rva in (entry.rva, entry.rva + 1, entry.rva + entry.size - 1):
        assert symbols.procedure(rva) == entry
        assert symbols.nearest(rva) == entry
    assert symbols.lookup("kphreferencedyndata") is None
    assert [found.name for found in symbols.search("kphreferencedyn*")] == ["KphReferenceDynData"]


def test_every_procedure_is_nearest_to_its_own_addresses() -> None:
    symbols = opened(SYSTEM_INFORMER)
    procedures = [symbol for symbol in symbols.search("*") if symbol.size]
    assert len(procedures) > 500
    for symbol in procedures:
        for rva in (symbol.rva, symbol.rva + symbol.size - 1):
            found = symbols.procedure(rva)
            assert found is not None
            assert (found.rva, found.size) == (symbol.rva, symbol.size)


def test_a_name_between_two_publics_is_that_of_the_lower_one() -> None:
    symbols = opened(AMDPPM)
    symbol = symbols.lookup("WriteIoMemRawEx")
    assert symbol is not None
    assert symbols.nearest(symbol.rva + 0x70) == symbol
    assert symbols.nearest(0x10) is None


def test_types_spell_primitives_as_c_does_and_defer_structures() -> None:
    symbols = opened(NTDLL)
    peb = symbols.find_type("_PEB")
    assert isinstance(peb, StructType)
    loader = peb.field("Ldr")
    assert loader is not None
    assert loader.offset == 0x18
    assert isinstance(loader.type, PointerType)
    entry = symbols.find_type("LIST_ENTRY64")
    assert isinstance(entry, StructType)
    assert [getattr(field.type, "name", "") for field in entry.fields] == ["unsigned long long"] * 2


def test_variables_procedures_and_constants_have_types_and_values() -> None:
    symbols = opened(SYSTEM_INFORMER)
    assert symbols.type_of("__guard_flags") == symbols.find_type("ULONG")
    assert isinstance(symbols.type_of("KphReferenceDynData"), FunctionType)
    assert symbols.constant("JobObjectContainerId") == 30
    assert symbols.constant("NoSuchThing") is None
    ids = symbols.find_type("_KPH_MESSAGE_ID")
    assert isinstance(ids, EnumType)
    assert ids.values["KphMsgRegPostCreateKey"] == 1073741954


def test_source_lines_lead_to_the_function_they_belong_to() -> None:
    symbols = opened(SYSTEM_INFORMER)
    entry = symbols.lookup("KphReferenceDynData")
    assert entry is not None
    line = symbols.line(entry.rva)
    assert line is not None
    assert line.file.lower().endswith("dyndata.c")
    assert line.line > 0
    assert symbols.line(0x10) is None


def test_x86_names_are_found_without_their_decoration() -> None:
    symbols = opened("symbols/pairs/seh-x86/xcpt4.pdb")
    for decorated, plain in (("_memset", "memset"), ("___isa_available_init", "__isa_available_init")):
        found, same = symbols.lookup(plain), symbols.lookup(decorated)
        assert found is not None
        assert same is not None
        assert found.name == same.name == plain
        assert found.rva == same.rva
    stdcall = [name for name, _, _ in pdbutil.publics(need("symbols/pairs/seh-x86/xcpt4.pdb")) if "@" in name[1:]]
    plain_names = {symbols.display_name(name) for name in stdcall if name[0] in "_@"}
    assert plain_names
    for plain in plain_names:
        assert symbols.lookup(plain) is not None, plain


@pytest.mark.parametrize(
    "folder", ["pdb/llvm/DebugInfo-PDB/Inputs", "pdb/llvm/llvm-pdbutil/Inputs", "pdb/odd", "symbols/pairs", "minidumps"]
)
def test_every_pdb_at_hand_is_read_or_refused_properly(folder: str) -> None:
    need(folder)
    refused: list[str] = []
    for path in sorted((data_root() / folder).rglob("*.pdb")):
        try:
            symbols = PdbSymbols.open(path)
            names = list(symbols.search("*"))
            for symbol in names[:200]:
                assert symbols.nearest(symbol.rva) is not None
                symbols.line(symbol.rva)
            for name, _ in symbols.search_types("*"):
                symbols.find_type(name)
        except KdiveError:
            refused.append(path.name)
    assert set(refused) <= {"bad-block-size.pdb", "fuzzed.pdb"}


def test_managed_pdbs_are_read_as_containers_or_refused() -> None:
    for path in sorted(need("pdb/llvm/llvm-pdbutil/Inputs").glob("dotnet*.pdb")):
        try:
            PdbSymbols.open(path)
        except FormatError:
            continue


@pytest.mark.parametrize("relative", [SYSTEM_INFORMER, "symbols/pairs/seh-x86/xcpt4.pdb"])
def test_source_lines_agree_with_llvm(relative: str) -> None:
    symbols = opened(relative)
    starts = pdbutil.sections(need(relative))
    expected = {place: lines for place, lines in pdbutil.lines(need(relative)).items() if place[0] in starts}
    assert len(expected) > 2000
    wrong = 0
    for (section, offset), lines in expected.items():
        found = symbols.line(starts[section] + offset)
        wrong += found is None or (found.file, found.line) not in lines
    # Where the linker folded equal functions of two sources, either source is right.
    assert wrong <= len(expected) // 500
