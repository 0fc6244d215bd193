"""``.dump`` on targets that need no machine."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from kdive.commands.results.dump_file import DumpWritten
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.commands.live import failure, run, text
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Session]:
    session = opened(SAMPLE / "crash.dmp", tmp_path)
    yield session
    session.close()


def opened(place: Path, folder: Path) -> Session:
    return Session(open_dump(place), SessionOptions("", (SAMPLE / "isf",), offline=True, cache=folder / "cache"))


def test_a_dump_written_again_shows_the_same(sample: Session, tmp_path: Path) -> None:
    place = tmp_path / "again.dmp"
    (written,) = run(sample, f".dump /f {place}")
    assert isinstance(written, DumpWritten)
    assert written.missing == 0
    assert place.stat().st_size == written.size
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    again = opened(place, tmp_path)
    for line in ("k", "lm", "r", "!process 0 0", ".bugcheck"):
        assert text(again, line) == text(sample, line)
    again.close()


def test_a_file_that_exists_is_overwritten_only_if_that_is_said(sample: Session, tmp_path: Path) -> None:
    place = tmp_path / "there.dmp"
    place.write_bytes(b"mine")
    error = failure(sample, f".dump /f {place}")
    assert (error.what, error.hint) == ("the file exists", ".dump /o overwrites it")
    assert place.read_bytes() == b"mine"
    run(sample, f".dump /f /o {place}")
    assert place.read_bytes()[:8] == b"PAGEDU64"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["there.dmp"]


def test_places_that_cannot_be_written_are_told_at_once(sample: Session, tmp_path: Path) -> None:
    assert failure(sample, f".dump {tmp_path}").what == "this is a folder"
    assert failure(sample, f".dump {tmp_path / 'none' / 'a.dmp'}").what == "no such folder"
    assert "only full kernel dumps" in failure(sample, f".dump /ma {tmp_path / 'a.dmp'}").what
    assert "one file name" in failure(sample, ".dump /f").what
