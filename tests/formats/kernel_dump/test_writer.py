"""Dumps that are written read back as they were meant."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import FormatError
from kdive.formats.buffer import Buffer
from kdive.formats.kernel_dump.file import open_dump_file
from kdive.formats.kernel_dump.header import MAX_HEADER_RUNS, PAGE_SIZE, DumpType, PhysicalRun, parse_header
from kdive.formats.kernel_dump.writer import encode_header, full_dump, full_dump_size, merged_runs
from kdive.memory.physical import PagedFileMemory
from kdive.samples.world import build_world

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kdive.formats.kernel_dump.header import DumpHeader


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> DumpHeader:
    place = tmp_path_factory.mktemp("sample") / "a.dmp"
    place.write_bytes(build_world().dump())
    return open_dump_file(place).header


def contents(runs: Iterable[PhysicalRun]) -> list[bytes]:
    frames = [page for run in runs for page in range(run.base_page, run.base_page + run.page_count)]
    return [page.to_bytes(8, "little") * (PAGE_SIZE // 8) for page in frames]


def test_a_header_reads_back(header: DumpHeader) -> None:
    assert parse_header(Buffer(encode_header(header))) == header


@pytest.mark.parametrize("count", [1, 3, MAX_HEADER_RUNS, MAX_HEADER_RUNS + 1, 100])
def test_pages_read_back_at_their_frames(count: int, header: DumpHeader, tmp_path: Path) -> None:
    runs = [PhysicalRun(5 + 20 * index, 1 + index % 19) for index in range(count)]
    place = tmp_path / "a.dmp"
    place.write_bytes(b"".join(full_dump(header, reversed(runs), contents(runs))))
    assert place.stat().st_size == full_dump_size(runs)
    dump = open_dump_file(place)
    assert dump.header.dump_type == (DumpType.FULL if count <= MAX_HEADER_RUNS else DumpType.BITMAP_FULL)
    assert dump.header.required_size == place.stat().st_size
    assert dump.missing == []
    assert dump.pages is not None
    assert list(dump.pages.runs()) == runs
    memory = PagedFileMemory(dump.buffer.view, dump.pages)
    for run in runs:
        data = b"".join(contents([run]))
        assert memory.read(run.base_page * PAGE_SIZE, len(data)) == data
        assert not memory.is_readable((run.base_page + run.page_count) * PAGE_SIZE)


@pytest.mark.parametrize(("extra", "said"), [(-1, "less"), (1, "more")])
def test_a_wrong_number_of_pages_is_told(extra: int, said: str, header: DumpHeader) -> None:
    with pytest.raises(FormatError, match=said):
        list(full_dump(header, [PhysicalRun(0, 2)], [bytes(PAGE_SIZE)] * (2 + extra)))


def test_overlapping_runs_are_refused() -> None:
    with pytest.raises(FormatError, match="overlap"):
        merged_runs([PhysicalRun(0, 5), PhysicalRun(4, 1)])


@given(st.sets(st.integers(0, 300), max_size=100))
def test_merged_runs_are_the_fewest_that_hold_the_same_frames(frames: set[int]) -> None:
    merged = merged_runs(PhysicalRun(frame, 1) for frame in frames)
    assert {page for run in merged for page in range(run.base_page, run.base_page + run.page_count)} == frames
    for first, second in itertools.pairwise(merged):
        assert first.base_page + first.page_count < second.base_page
