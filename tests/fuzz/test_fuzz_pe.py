"""Damaged PE images are read in part or refused, and never worse."""

from __future__ import annotations

import contextlib

import pytest

from kdive.errors import KdiveError
from kdive.formats.pe.image import PeImage
from kdive.formats.pe.resources import version_info
from kdive.symbols.exports import ExportSymbols
from tests.data import need
from tests.formats.pe.build import SECTION_RVA, exports, image
from tests.fuzz.limits import bounded
from tests.fuzz.mutate import mutate, rounds


def exercise(data: bytes, *, mapped: bool = False) -> None:
    found = PeImage(data, mapped=mapped)
    symbols = ExportSymbols(found)
    for symbol in list(symbols.search("*"))[:50]:
        symbols.lookup(symbol.name)
        symbols.nearest(symbol.rva)
    version_info(found)
    assert found.pdb_identity is None or found.pdb_identity.key


def small() -> bytes:
    content = exports([(f"Name{i}", i) for i in range(20)], [0x1800 + 16 * i for i in range(24)], strings={3: "A.B"})
    return image(content.ljust(0x1000, b"\0"), {0: (SECTION_RVA, len(content))})


def test_damaged_small_images_raise_only_our_errors() -> None:
    whole = small()
    for seed in range(rounds(250)):
        with bounded(f"input {seed}"), contextlib.suppress(KdiveError):
            exercise(mutate(whole, seed, hot=0x700), mapped=seed % 4 == 0)


@pytest.mark.parametrize("relative", ["symbols/pairs/ksi-amd64/ksi.dll", "symbols/pairs/seh-x64/xframe_eh_dll.dll"])
def test_damaged_images_raise_only_our_errors(relative: str) -> None:
    whole = need(relative).read_bytes()
    for seed in range(rounds(125)):
        with bounded(f"input {seed}"), contextlib.suppress(KdiveError):
            exercise(mutate(whole, seed, hot=0x400), mapped=seed % 4 == 0)
