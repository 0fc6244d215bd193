"""Damaged PDBs are read in part or refused, and never worse."""

from __future__ import annotations

from itertools import islice

import pytest

from kdive.errors import KdiveError
from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.msf import MsfFile
from kdive.symbols.pdb import PdbSymbols
from kdive.symbols.types import StructType, TypeReference
from tests.data import need
from tests.formats.pdb.build import msf
from tests.fuzz.mutate import mutate, rounds

SEEDS = [
    "pdb/llvm/DebugInfo-PDB/Inputs/every-class.pdb",
    "pdb/llvm/DebugInfo-PDB/Inputs/every-type.pdb",
    "pdb/llvm/DebugInfo-PDB/Inputs/every-function.pdb",
    "pdb/llvm/llvm-pdbutil/Inputs/ClassLayoutTest.pdb",
    "pdb/llvm/llvm-pdbutil/Inputs/FilterTest.pdb",
    "pdb/llvm/llvm-pdbutil/Inputs/TypeServerTest.pdb",
]
SHARE = 4


def exercise(data: bytes) -> None:
    symbols = PdbSymbols(PdbFile(MsfFile(data)), "damaged")
    names: list[str] = []
    for step in (
        lambda: names.extend(symbol.name for symbol in islice(symbols.search("*"), 100)),
        lambda: [symbols.lookup(name) for name in [*names[:50], "main", "No::Such"]],
        lambda: [symbols.nearest(rva) for rva in range(0, 0x20000, 0x1357)],
        lambda: [symbols.line(rva) for rva in range(0, 0x20000, 0x2357)],
        lambda: [symbols.type_of(name) for name in names[:50]],
    ):
        try:
            step()
        except KdiveError:
            continue
    for name, _ in islice(symbols.search_types("*"), 300):
        try:
            layout = symbols.find_type(name)
            for field in islice(layout.fields if isinstance(layout, StructType) else (), 64):
                if isinstance(field.type, TypeReference):
                    field.type.resolve()
        except KdiveError:
            continue


@pytest.mark.parametrize("relative", SEEDS)
def test_damaged_pdbs_raise_only_our_errors(relative: str) -> None:
    whole = need(relative).read_bytes()
    for seed in range(rounds(200) // (2 * len(SEEDS)) + 1):
        try:
            exercise(mutate(whole, seed, hot=512))
        except KdiveError:
            continue


@pytest.mark.parametrize("relative", SEEDS)
def test_damaged_streams_in_a_sound_container_raise_only_our_errors(relative: str) -> None:
    container = MsfFile(need(relative).read_bytes())
    streams = [container.stream(index) for index in range(container.stream_count)]
    for seed in range(rounds(200) // (2 * len(SEEDS)) + 1):
        damaged = list(streams)
        for number in (1, 2, 3, *range(5, len(damaged))):
            if len(damaged[number]) >= 16 and (number * 7 + seed) % SHARE == 0:
                damaged[number] = mutate(damaged[number], seed * 1000 + number, hot=64)
        try:
            exercise(msf(damaged, 4096))
        except KdiveError:
            continue


def test_a_pdb_from_another_fuzzer_is_refused_or_read() -> None:
    data = need("pdb/odd/fuzzed.pdb").read_bytes()
    try:
        exercise(data)
    except KdiveError:
        return
