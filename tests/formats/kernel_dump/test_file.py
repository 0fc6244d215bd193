"""Kernel dump files of every layout, whole, cut off and lying."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kdive.errors import FormatError, KdiveError, TargetError, UnsupportedError
from kdive.formats.kernel_dump.file import open_dump32_file, open_dump_file
from kdive.memory.physical import PagedFileMemory
from kdive.samples import layouts
from kdive.samples.world import LAYOUTS, World, build_world
from tests.data import need

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def world() -> World:
    return build_world()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_page_reads_back(layout: str, world: World, tmp_path: Path) -> None:
    place = tmp_path / "a.dmp"
    place.write_bytes(world.dump(layout))
    dump = open_dump_file(place)
    assert dump.missing == []
    assert dump.pages is not None
    assert dump.pages.page_count == len(world.pages)
    memory = PagedFileMemory(dump.buffer.view, dump.pages)
    for pfn, page in world.pages.items():
        assert memory.read(pfn << 12, 0x1000) == bytes(page)
    low, high = min(world.pages), max(world.pages)
    for pfn in range(low - 2, high + 3):
        assert memory.is_readable(pfn << 12) == (pfn in world.pages)
    runs = {pfn for region in memory.regions() for pfn in range(region.start >> 12, region.end >> 12)}
    assert runs == set(world.pages)
    whole = memory.read_available(low << 12, (high - low + 1) << 12)
    assert b"".join(data for _, data in whole) == b"".join(bytes(world.pages[pfn]) for pfn in sorted(world.pages))


def test_header_fields_and_filler(world: World, tmp_path: Path) -> None:
    place = tmp_path / "a.dmp"
    place.write_bytes(world.dump())
    header = open_dump_file(place).header
    assert header.bugcheck_code == 0xD1
    assert header.comment == "kdive sample"
    assert header.uptime is not None
    assert header.uptime.total_seconds() == pytest.approx(3.747069)
    assert header.required_size is None
    assert header.attributes is None
    assert header.secondary_data_state is None
    assert not header.checked_build


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cut_file_opens_as_far_as_it_goes(layout: str, world: World, tmp_path: Path) -> None:
    data = world.dump(layout)
    place = tmp_path / "a.dmp"
    for size in sorted(
        {0, 1, 7, 8, 100, 0x1000, 0x1FFF, 0x2000, 0x2010, 0x2040, 0x3000, len(data) // 2, len(data) - 1}
    ):
        place.write_bytes(data[:size])
        try:
            dump = open_dump_file(place)
        except KdiveError:
            assert size < 0x2000
            continue
        assert dump.missing, size
        if dump.pages is not None:
            memory = PagedFileMemory(dump.buffer.view, dump.pages)
            for pfn in world.pages:
                memory.read_available(pfn << 12, 0x1000)


def test_a_64_gib_dump_is_opened_without_reading_it(world: World, tmp_path: Path) -> None:
    place = tmp_path / "huge.dmp"
    fields = layouts.HeaderFields(directory_table_base=0x1000, runs=[(0, (64 << 30) >> 12)])
    with place.open("wb") as file:
        file.write(layouts.header(1, fields))
        file.truncate((64 << 30) + 0x2000)
    dump = open_dump_file(place)
    assert dump.missing == []
    assert dump.pages is not None
    assert dump.pages.locate((32 << 30) >> 12, 4) == ((32 << 30) + 0x2000, 4)
    assert place.stat().st_blocks * 512 < 1 << 20
    del world


@pytest.mark.parametrize(
    ("offset", "form", "value"),
    [
        (0x88, "<I", 43),
        (0x88, "<I", 0xFFFFFFFF),
        (0x98, "<Q", 1 << 60),
        (0xA0, "<Q", 1 << 60),
    ],
)
def test_a_lying_run_list_is_refused(offset: int, form: str, value: int, world: World, tmp_path: Path) -> None:
    data = bytearray(world.dump())
    struct.pack_into(form, data, offset, value)
    place = tmp_path / "a.dmp"
    place.write_bytes(data)
    with pytest.raises(FormatError):
        open_dump_file(place)


@pytest.mark.parametrize("offset", [0x2020, 0x2028, 0x2030])
def test_a_lying_bitmap_is_said_to_be_missing(offset: int, world: World, tmp_path: Path) -> None:
    data = bytearray(world.dump("bitmap-full"))
    struct.pack_into("<Q", data, offset, 0xFFFFFFFFFFFF if offset != 0x2020 else 1)
    place = tmp_path / "a.dmp"
    place.write_bytes(data)
    assert open_dump_file(place).missing


def test_triage_parts_are_found(tmp_path: Path) -> None:
    stack = bytes(range(256))
    block = layouts.TriageFields(
        drivers=[("\\SystemRoot\\a.exe", 0xFFFFF80000000000, 0x5000, 7), ("b.sys", 0xFFFFF80000010000, 0x3000, 8)],
        unloaded=[("old.sys", 0xFFFFF80000020000, 0xFFFFF80000021000)],
        stack=(0xFFFFD00000000000, stack),
        blocks=[(0xFFFF800000000000, b"first"), (0xFFFF800000000003, b"second")],
        broken_driver="b.sys",
        secondary=[("54C84888-01D1-4C1E-BED6-282C98241303", b"recorder")],
    )
    for old in (False, True):
        place = tmp_path / f"{old}.dmp"
        place.write_bytes(layouts.triage(layouts.HeaderFields(), block, old=old))
        dump = open_dump_file(place)
        triage = dump.triage
        assert triage is not None
        assert triage.valid
        assert [(driver.path, driver.base, driver.size, driver.timestamp) for driver in triage.drivers] == list(
            block.drivers
        )
        assert [(entry.name, entry.start, entry.end) for entry in triage.unloaded] == list(block.unloaded)
        assert triage.broken_driver == "b.sys"
        assert not triage.overflowed
        pieces = {piece.address: dump.buffer.bytes(piece.offset, piece.size) for piece in triage.fragments(None)}
        assert pieces[0xFFFFD00000000000] == stack
        assert (0xFFFF800000000003 in pieces) is not old
        assert [(entry.guid, entry.size) for entry in dump.secondary] == [("54C84888-01D1-4C1E-BED6-282C98241303", 8)]


@pytest.mark.parametrize(
    ("data", "error", "part"),
    [
        (b"", FormatError, "empty"),
        (b"MZ" + bytes(100), FormatError, "not a Windows kernel dump"),
        (b"MDMP" + bytes(100), UnsupportedError, "user-mode minidump"),
        (b"\x7fELF" + bytes(100), UnsupportedError, "ELF"),
        (b"PAGEDU64" + bytes(100), FormatError, "cut off inside the dump header"),
    ],
)
def test_other_files_are_named(data: bytes, error: type[KdiveError], part: str, tmp_path: Path) -> None:
    place = tmp_path / "x.dmp"
    place.write_bytes(data)
    with pytest.raises(error, match=part):
        open_dump_file(place)


def test_paths_that_are_no_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no such file"):
        open_dump_file(tmp_path / "nothing")
    with pytest.raises(TargetError, match="directory"):
        open_dump_file(tmp_path)


def test_a_32_bit_dump_is_refused_but_its_modules_are_read() -> None:
    place = need("kernel-dumps/arm32-17134.dmp")
    with pytest.raises(UnsupportedError, match=r"ARM \(32-bit\) build 17134.*136 modules"):
        open_dump_file(place)
    dump = open_dump32_file(place)
    assert len(dump.drivers) == 136
    assert dump.drivers[0].path.endswith("ntoskrnl.exe")
    assert dump.drivers[0].timestamp
    assert dump.drivers[0].size == 0x5B1000


def test_the_head_of_a_full_dump_opens() -> None:
    dump = open_dump_file(need("kernel-dumps/x64-19045-full-head16k.bin"))
    assert dump.type_name == "full memory dump"
    assert len(dump.header.runs) == 5
    assert dump.missing
