"""Damaged dumps and ISF files: nothing but our own errors comes out."""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.errors import KdiveError
from kdive.render.text import TextRenderer
from kdive.samples import layouts
from kdive.samples.world import LAYOUTS, build_world
from kdive.session.session import Session, SessionOptions
from kdive.symbols.isf import open_isf
from kdive.targets.dump import open_dump
from tests.data import need
from tests.fuzz.limits import bounded
from tests.fuzz.mutate import mutate, rounds

if TYPE_CHECKING:
    from pathlib import Path

REAL = (
    "x64-19041.804-amdppm.dmp",
    "x64-19041.3448-1a.dmp",
    "x64-19041.2965-50.dmp",
    "arm64-22000.dmp",
    "arm64-17134.112-e2.dmp",
)
LINE = "vertarget; .bugcheck; r; lm; k 8; !analyze; .enumtag; !process 0 0; db rsp L20; !pte rip"


def exercise(path: Path, cache: Path) -> None:
    """Open a dump and run what a person would; only our own errors may come out."""
    try:
        session = Session(open_dump(path), SessionOptions(symbol_path="", offline=True, cache=cache))
    except KdiveError:
        return
    renderer = TextRenderer()
    dispatcher = Dispatcher(session, lambda _, result: renderer.plain(result), renderer.plain)
    for command in LINE.split(";"):
        outcome = dispatcher.run(command)
        assert outcome.error is None or str(outcome.error)


def small_dumps() -> list[bytes]:
    world = build_world()
    block = layouts.TriageFields(
        drivers=[("\\SystemRoot\\ntoskrnl.exe", 0xFFFFF80000000000, 0x5000, 7)],
        unloaded=[("old.sys", 1, 2)],
        stack=(0xFFFFD00000000000, bytes(range(256))),
        blocks=[(0xFFFF800000000000, b"block")],
        secondary=[("54C84888-01D1-4C1E-BED6-282C98241303", b"recorder")],
    )
    return [
        *(world.dump(layout) for layout in LAYOUTS),
        layouts.triage(world.fields, block),
        layouts.triage(world.fields, block, old=True),
    ]


@pytest.mark.timeout(900)
def test_mutated_dumps_raise_only_our_errors(tmp_path: Path) -> None:
    originals = small_dumps()
    place = tmp_path / "a.dmp"
    for seed in range(rounds(500)):
        data = originals[seed % len(originals)]
        place.write_bytes(mutate(data, seed, min(len(data), 0x4000)))
        with bounded(f"input {seed}"):
            exercise(place, tmp_path / "cache")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", REAL)
def test_real_dumps_cut_at_random_places_open_as_far_as_they_go(name: str, tmp_path: Path) -> None:
    data = need(f"kernel-dumps/{name}").read_bytes()
    chance = random.Random(name)
    place = tmp_path / "a.dmp"
    for _ in range(100):
        size = chance.randrange(len(data))
        place.write_bytes(data[:size])
        with bounded(f"{name} cut at {size:#x}"):
            exercise(place, tmp_path / "cache")


@pytest.mark.parametrize("name", ["CRITICAL_PROCESS_DIED", "IRQL_32bit", "MEMORY_MANAGEMENT", "ACCESS_VIOLATION"])
def test_hand_made_headers_open_or_say_why_not(name: str, tmp_path: Path) -> None:
    with bounded(name):
        exercise(need(f"negative/{name}.dmp"), tmp_path)


def test_mutated_isf_files_raise_only_our_errors(tmp_path: Path) -> None:
    data = json.dumps(build_world().isf()).encode()
    place = tmp_path / "a.json"
    for seed in range(rounds(30)):
        place.write_bytes(mutate(data, seed, len(data)))
        with bounded(f"input {seed}"), contextlib.suppress(KdiveError):
            symbols = open_isf(place)
            symbols.lookup("KeBugCheckEx")
            symbols.nearest(0x1030)
            list(symbols.search("*"))
            for name, _ in list(symbols.search_types("*"))[:50]:
                with contextlib.suppress(KdiveError):
                    symbols.find_type(name)


def test_torn_symbol_indexes_are_made_again(tmp_path: Path) -> None:
    place = tmp_path / "nt.pdb" / "GUID-1.json"
    place.parent.mkdir()
    place.write_text(json.dumps(build_world().isf()), "utf-8")
    cache = tmp_path / "cache"
    first = open_isf(place, cache)
    (index,) = cache.iterdir()
    whole = index.read_bytes()
    for seed in range(40):
        # Replaced, not rewritten: the one before is still mapped.
        torn = tmp_path / "torn"
        torn.write_bytes(mutate(whole, seed, 512) if seed % 2 else whole[: len(whole) * seed // 40])
        torn.replace(index)
        with contextlib.suppress(KdiveError):
            again = open_isf(place, cache)
            again.lookup("KeBugCheckEx")
            list(again.search_types("*"))
    index.unlink()
    assert open_isf(place, cache).lookup("KeBugCheckEx") == first.lookup("KeBugCheckEx")
