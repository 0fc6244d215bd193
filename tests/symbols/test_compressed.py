"""Cabinets that are not what they should be."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import cabarchive
import pytest

from kdive.errors import FormatError, KdiveError
from kdive.symbols.compressed import expand
from tests.fuzz.limits import bounded
from tests.fuzz.mutate import mutate
from tests.symbols.cabinet import cabinet

if TYPE_CHECKING:
    from pathlib import Path


def test_damaged_cabinets_raise_only_our_errors_and_leave_nothing(tmp_path: Path) -> None:
    whole = cabinet("a.pdb", bytes(range(256)) * 400)
    source, target = tmp_path / "a.pd_", tmp_path / "out" / "a.pdb"
    for seed in range(200):
        source.write_bytes(mutate(whole, seed, hot=96))
        with bounded(f"input {seed}"), contextlib.suppress(KdiveError):
            expand(source, target)
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"a.pdb"}


def test_a_cabinet_of_several_files_is_refused(tmp_path: Path) -> None:
    archive = cabarchive.CabArchive()
    for name in ("a", "b"):
        archive[name] = cabarchive.CabFile(b"data")
    (tmp_path / "a.pd_").write_bytes(archive.save(compress=True))
    with pytest.raises(FormatError, match="holds one file, this one 2"):
        expand(tmp_path / "a.pd_", tmp_path / "a.pdb")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pd_").write_bytes(b"SZDD" + bytes(100))
    with pytest.raises(FormatError, match="not a cabinet"):
        expand(tmp_path / "a.pd_", tmp_path / "a.pdb")
