"""Finding files along the symbol path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.symbols.store import SymbolStore
from kdive.symbols.wanted import WantedFile, image_key
from tests.symbols.cabinet import cabinet

if TYPE_CHECKING:
    from pathlib import Path

WANTED = WantedFile("amdppm.pdb", "1C19FDDB27BB3399D9B45973EFEAFCF31")


@pytest.mark.parametrize(
    "place",
    [
        "amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31/amdppm.pdb",
        "amdppm.pdb/1c19fddb27bb3399d9b45973efeafcf31/amdppm.pdb",
        "am/amdppm.pdb/1C19FDDB27BB3399D9B45973EFEAFCF31/amdppm.pdb",
        "amdppm.pdb",
    ],
)
def test_stores_of_every_layout_are_searched(place: str, tmp_path: Path) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    assert list(SymbolStore(str(tmp_path), tmp_path / "cache").find(WANTED)) == [file]


def test_caches_are_searched_before_what_lies_behind_them(tmp_path: Path) -> None:
    for folder in ("near", "far"):
        file = tmp_path / folder / WANTED.relative
        file.parent.mkdir(parents=True)
        file.write_bytes(folder.encode())
    store = SymbolStore(f"srv*{tmp_path / 'near'}*{tmp_path / 'far'}", tmp_path / "cache")
    assert [path.read_text() for path in store.find(WANTED)] == ["near", "far"]


def test_a_key_is_not_enough_for_another_file(tmp_path: Path) -> None:
    file = tmp_path / "other.pdb" / WANTED.key / "other.pdb"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    assert list(SymbolStore(str(tmp_path), tmp_path).find(WANTED)) == []


def test_image_keys_are_timestamp_and_size() -> None:
    assert image_key(0xC9C03000, 0x3B000).lower() == "c9c030003b000"
    assert image_key(0x12, 0x1000) == "000000121000"


def test_advice_names_the_address_and_the_place(tmp_path: Path) -> None:
    store = SymbolStore(f"srv*{tmp_path}*https://host/symbols/", tmp_path)
    assert store.advice(WANTED) == (
        f"fetch https://host/symbols/{WANTED.relative} and save it as {tmp_path / WANTED.relative}"
    )
    assert WANTED.relative in SymbolStore("/dir", tmp_path).advice(WANTED)


def test_without_a_fetcher_nothing_is_asked(tmp_path: Path) -> None:
    SymbolStore("https://host", tmp_path).request(WANTED)


def test_a_compressed_file_is_expanded_into_the_cache(tmp_path: Path) -> None:
    packed = (tmp_path / "store" / WANTED.relative).with_name("amdppm.pd_")
    packed.parent.mkdir(parents=True)
    packed.write_bytes(cabinet("amdppm.pdb", b"symbols" * 9999))
    store = SymbolStore(str(tmp_path / "store"), tmp_path / "cache")
    for _ in range(2):
        assert [path.read_bytes() for path in store.find(WANTED)] == [b"symbols" * 9999]
    assert [path.name for path in packed.parent.iterdir()] == ["amdppm.pd_"]


def test_a_pointer_leads_to_the_file_or_says_where_it_points(tmp_path: Path) -> None:
    pointer = (tmp_path / WANTED.relative).with_name("file.ptr")
    pointer.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").write_bytes(b"x")
    pointer.write_text(f"PATH:{tmp_path / 'elsewhere'}\n")
    store = SymbolStore(str(tmp_path), tmp_path / "cache")
    assert list(store.find(WANTED)) == [tmp_path / "elsewhere"]
    pointer.write_text("MSG: no longer kept")
    problems: list[str] = []
    assert list(store.find(WANTED, problems)) == []
    assert problems == [f"the store only points elsewhere: MSG: no longer kept ({pointer})"]


def test_a_compression_that_cannot_be_read_names_the_tool(tmp_path: Path) -> None:
    packed = (tmp_path / WANTED.relative).with_name("amdppm.pd_")
    packed.parent.mkdir(parents=True)
    whole = bytearray(cabinet("amdppm.pdb", b"symbols"))
    assert whole[42] == 1  # MSZIP in the folder record behind the 36 bytes of header
    whole[42] = 3  # LZX
    packed.write_bytes(whole)
    problems: list[str] = []
    assert list(SymbolStore(str(tmp_path), tmp_path / "cache").find(WANTED, problems)) == []
    assert "LZX compression not supported" in problems[0]
    assert f"cabextract -p {packed}" in problems[0]
