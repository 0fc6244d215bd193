"""Files that are there whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.atomic import replacing

if TYPE_CHECKING:
    from pathlib import Path


def test_a_body_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")

    def fail() -> None:
        with replacing(place, durable=True) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "a"

    def write() -> None:
        with replacing(place, overwrite=False) as file:
            file.write(b"new")
            place.write_bytes(b"other")

    with pytest.raises(FileExistsError):
        write()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"other")]


def test_a_new_file_takes_its_name_at_the_end(tmp_path: Path) -> None:
    place = tmp_path / "a"
    with replacing(place, durable=True, overwrite=False) as file:
        file.write(b"new")
        assert not place.exists()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]
