"""Lines, inlined calls, variables and what a PDB lacks, on real files."""

from __future__ import annotations

import struct

import pytest

from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.info import FEATURE_MINIMAL
from kdive.formats.pdb.msf import MsfFile
from kdive.symbols.exports import ExportSymbols
from kdive.symbols.interface import (
    ConstantPlace,
    LocalVariable,
    PartsPlace,
    RegisterPlace,
    RegisterRelativePlace,
    StaticPlace,
    UnavailablePlace,
)
from kdive.symbols.pdb import PdbSymbols
from tests.data import need
from tests.formats.pdb import llvm
from tests.formats.pdb.build import GUID, msf

DRIVER = "symbols/pairs/ksi-amd64/systeminformer.pdb"
DRIVERS = [DRIVER, "symbols/pairs/ksi-arm64/systeminformer.pdb"]


@pytest.fixture(scope="module")
def driver() -> PdbSymbols:
    return PdbSymbols.open(need(DRIVER))


def at(symbols: PdbSymbols, name: str) -> int:
    found = symbols.lookup(name)
    assert found is not None
    return found.rva


def test_an_inlined_call_inside_another_gives_both_the_innermost_first(driver: PdbSymbols) -> None:
    rva = at(driver, "KphpAddConnectedClient") + 0x49
    inner, outer = driver.inline_frames(rva)
    assert (inner.name, outer.name) == ("InterlockedIncrementSSizeTNoFence", "KphReferenceObject")
    assert inner.line is not None
    assert inner.line.file.endswith("kph.h")
    assert inner.call_line == outer.line
    assert outer.call_line is not None
    assert (outer.call_line.file.rpartition(chr(92))[2], outer.call_line.line) == ("comms.c", 260)
    assert outer.call_line == driver.line(rva)
    assert driver.inline_frames(at(driver, "KphpAddConnectedClient")) == ()
    assert driver.inline_frames(0x10) == ()


@pytest.mark.parametrize("relative", DRIVERS)
def test_every_inlined_call_that_llvm_lists_is_found_at_its_code(relative: str) -> None:
    symbols = PdbSymbols.open(need(relative))
    records = llvm.symbols(need(relative), "--symbols")
    checked = 0
    names: set[str] = set()
    for (module, offset), entry in records.items():
        if entry.kind != "S_INLINESITE" or not entry.code or entry.code[0][0] is None:
            continue
        owner = records[module, int(entry.facts[1])]
        while owner.kind == "S_INLINESITE":
            owner = records[module, int(owner.facts[1])]
        if owner.kind not in ("S_GPROC32", "S_LPROC32"):
            continue
        rva = symbols.file.addresses.rva(int(owner.facts[2]), int(owner.facts[3]) + entry.code[0][0])
        assert rva is not None
        found = symbols.procedure(rva)
        assert found is not None
        if found.name != owner.name:  # the linker folded equal procedures into one
            continue
        name = symbols.code.function_name(int(entry.facts[0]), module)
        assert name in [frame.name for frame in symbols.inline_frames(rva)], (module, offset)
        checked += 1
        names.add(name)
    assert checked > 500
    assert not [name for name in names if name.startswith("<function")]


def test_parameters_and_locals_have_places_and_types(driver: PdbSymbols) -> None:
    rva = at(driver, "KphpAddConnectedClient") + 0x49
    client, result, irql, *_ = driver.locals(rva)
    assert isinstance(client, LocalVariable)
    assert (client.name, client.parameter, client.place) == ("Client", True, RegisterPlace("rdi"))
    assert client.type is not None
    assert (result.name, result.parameter) == ("result", False)
    assert isinstance(result.place, UnavailablePlace)
    assert irql.place == RegisterPlace("al")
    names = [variable.name for variable in driver.locals(rva)]
    assert len(names) == len(set(names))
    assert driver.locals(0x10) == ()


def test_variables_of_whole_drivers_are_in_every_kind_of_place() -> None:
    kinds: set[type] = set()
    for symbols in (PdbSymbols.open(need(relative)) for relative in DRIVERS):
        for procedure in symbols.search("K*"):
            for variable in symbols.locals(procedure.rva + procedure.size // 2) if procedure.size else ():
                kinds.add(type(variable.place))
                assert variable.type is not None, variable
                if isinstance(variable.place, PartsPlace):
                    offsets = [offset for offset, _ in variable.place.parts]
                    assert offsets == sorted(set(offsets))
                if isinstance(variable.place, RegisterPlace | RegisterRelativePlace):
                    assert not variable.place.register.startswith("reg")
    assert kinds == {RegisterPlace, RegisterRelativePlace, UnavailablePlace, PartsPlace, ConstantPlace, StaticPlace}


@pytest.mark.parametrize("relative", [DRIVER, "symbols/pairs/seh-x86/xcpt4.pdb"])
def test_the_code_of_a_line_is_found_from_file_and_number(relative: str) -> None:
    symbols = PdbSymbols.open(need(relative))
    for procedure in [found for found in symbols.search("*") if found.size][:200]:
        line = symbols.line(procedure.rva)
        if line is None:
            continue
        assert line.rva in symbols.addresses(line.file, line.line)
        short = line.file.replace(chr(92), "/").rpartition("/")[2].upper()
        assert line.rva in symbols.addresses(short, line.line)
        assert line.rva is not None
        assert line.rva <= procedure.rva < line.rva + line.size
        assert line.source is not None
        assert line.source.path == line.file
    assert symbols.addresses("no such file.c", 1) == ()


def test_source_files_come_once_with_their_checksums(driver: PdbSymbols) -> None:
    files = list(driver.source_files())
    assert len(files) == len(set(files)) > 300
    assert {len(file.checksum) for file in files if file.checksum_kind == "SHA-256"} == {32}


def test_all_lines_are_the_same_as_those_of_single_addresses(driver: PdbSymbols) -> None:
    rows = [
        (rva, file.path, line)
        for file, rvas, lines in driver.code.all_lines()
        for rva, line in zip(rvas, lines, strict=True)
    ]
    assert len(rows) > 8_000
    for rva, path, line in rows[::97]:
        found = driver.line(rva)
        if line not in (0xFEEFEE, 0xF00F00) and found is not None:
            assert (found.file, found.line) == (path, line) or found.rva == rva


def test_thunks_of_incremental_linking_are_named_by_their_targets() -> None:
    symbols = PdbSymbols.open(need("minidumps/lldb/sigsegv.pdb"))
    section, offset, count = symbols.file.publics.thunk_table
    start = symbols.file.addresses.rva(section, offset)
    assert start is not None
    names = [symbols.nearest(start + 5 * index + 1) for index in range(count)]
    assert [found.name.partition("(")[0] for found in names if found] == [f"ILT+{5 * index}" for index in range(count)]
    main = symbols.lookup("main")
    assert main is not None
    assert any(found is not None and found.name.endswith("(main)") for found in names)
    assert symbols.nearest(main.rva) == main


@pytest.mark.parametrize(
    ("relative", "lacking"),
    [
        (DRIVER, []),
        ("symbols/store/amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31/amdppm.pdb", ["private symbols", "source lines"]),
        ("pdb/llvm/llvm-pdbutil/Inputs/TypeServerTest.pdb", ["symbols"]),
        ("pdb/llvm/llvm-pdbutil/Inputs/Stripped.pdb", ["types", "private symbols", "source lines"]),
    ],
)
def test_a_pdb_says_what_it_lacks(relative: str, lacking: list[str]) -> None:
    missing = PdbSymbols.open(need(relative)).missing()
    assert [reason.partition(":")[0] for reason in missing] == lacking


def test_a_fastlink_pdb_says_that_its_symbols_stayed_behind() -> None:
    dbi = struct.pack("<iIIHHHHHHiiiiiIiiHHI", -1, 19990903, 1, *[0xFFFF, 0] * 3, *[0] * 8, 0, 0x8664, 0)
    info = (
        struct.pack("<III", 20000404, 0, 1)
        + GUID.bytes_le
        + struct.pack("<5I2I", 0, 0, 1, 0, 0, 20140508, FEATURE_MINIMAL)
    )
    symbols = PdbSymbols(PdbFile(MsfFile(msf([b"", info, b"", dbi]))), "made by hand")
    assert any("FASTLINK" in reason for reason in symbols.missing())


def test_files_without_code_information_answer_with_nothing() -> None:
    from kdive.formats.pe.image import PeImage

    exports = ExportSymbols(PeImage(need("symbols/pairs/ksi-amd64/ksi.dll").read_bytes()))
    assert (exports.locals(0x1000), exports.inline_frames(0x1000), exports.addresses("a.c", 1)) == ((), (), ())
    assert list(exports.source_files()) == []
    assert exports.missing() == ()
