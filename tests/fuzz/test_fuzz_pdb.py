"""Damaged PDBs are read in part or refused, and never worse."""

from __future__ import annotations

import resource
import time
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
    "minidumps/lldb/sigsegv.pdb",
    "pdb/llvm/DebugInfo-PDB/Inputs/big-read.pdb",
]
SHARE = 4
INPUTS = 1000
"""Ten times as many with ``make fuzz``."""


LIMIT_SECONDS = 1.0
LIMIT_BYTES = 500 << 20


def exercise(data: bytes) -> None:
    """Ask everything of a damaged PDB, within bounds of processor time and memory for each input."""
    started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        _exercise(data)
    finally:
        seconds = time.process_time() - started
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
        if seconds >= LIMIT_SECONDS or grown >= LIMIT_BYTES:
            raise AssertionError(f"{seconds:.2f} s and {grown >> 20} MiB for one input")


def _exercise(data: bytes) -> None:
    symbols = PdbSymbols(PdbFile(MsfFile(data)), "damaged")
    names: list[str] = []
    for step in (
        lambda: names.extend(symbol.name for symbol in islice(symbols.search("*"), 100)),
        lambda: [symbols.lookup(name) for name in [*names[:50], "main", "No::Such"]],
        lambda: [symbols.nearest(rva) for rva in range(0, 0x20000, 0x1357)],
        lambda: [symbols.line(rva) for rva in range(0, 0x20000, 0x2357)],
        lambda: [symbols.type_of(name) for name in names[:50]],
        lambda: [symbols.locals(rva) for rva in range(0x1000, 0x6000, 0x357)],
        lambda: [symbols.inline_frames(rva) for rva in range(0x1000, 0x6000, 0x357)],
        lambda: [symbols.addresses(file.path, 20) for file in islice(symbols.source_files(), 5)],
        lambda: sum(len(lines) for _, _, lines in symbols.code.all_lines()),
        lambda: [symbols.constant(name) for name in names[:20]],
        symbols.missing,
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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("relative", SEEDS)
def test_damaged_pdbs_raise_only_our_errors(relative: str) -> None:
    whole = need(relative).read_bytes()
    for seed in range(rounds(INPUTS) // (2 * len(SEEDS)) + 1):
        try:
            exercise(mutate(whole, seed, hot=512))
        except KdiveError:
            continue


@pytest.mark.timeout(900)
@pytest.mark.parametrize("relative", SEEDS)
def test_damaged_streams_in_a_sound_container_raise_only_our_errors(relative: str) -> None:
    container = MsfFile(need(relative).read_bytes())
    streams = [container.stream(index) for index in range(container.stream_count)]
    for seed in range(rounds(INPUTS) // (2 * len(SEEDS)) + 1):
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
