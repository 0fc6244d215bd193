"""Writing to a live target's memory, and what is said when it does not take everything."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kdive.errors import CancelledError, CommandError, ExpressionError, UsageError
from tests.commands.live import failure, live_session, run, text
from tests.targets.fake_machine import FLAT, FakeMachine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kdive.session.session import Session

PLACE = 0xFFFFF80000203800
"""Room that the sample's kernel does not use."""


@pytest.fixture
def fake() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
def session(fake: FakeMachine, tmp_path: Path) -> Iterator[Session]:
    opened = live_session(fake, tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("eb {} 1 ff (-1)", b"\x01\xff\xff"),
        ("ew {} 1234 (-2)", b"\x34\x12\xfe\xff"),
        ("ed {} 12345678 80000000", b"\x78\x56\x34\x12\x00\x00\x00\x80"),
        ("eq {} 1`00000002", b"\x02\0\0\0\x01\0\0\0"),
        ("ep {} fffff800`00200000", b"\x00\x00\x20\x00\x00\xf8\xff\xff"),
        ("ef {} 1.5 -2", struct.pack("<2f", 1.5, -2)),
        ("eD {} 3.25", struct.pack("<d", 3.25)),
        ('ea {} "a b"', b"a b"),
        ("eza {} hello", b"hello\0"),
        ('eu {} "é"', b"\xe9\0"),
        ('ezu {} "x"', b"x\0\0\0"),
        ('ezu {} ""', b"\0\0"),
        ("f {} L5 1 2", b"\x01\x02\x01\x02\x01"),
        ('f {} L4 "abc"', b"abca"),
        ("m nt L4 {}", b"MZ"),
    ],
)
def test_what_is_written_is_what_was_said(line: str, expected: bytes, session: Session, fake: FakeMachine) -> None:
    run(session, line.format(f"{PLACE:x}"))
    assert fake.read(PLACE, len(expected)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "eb",
        "eb {}",
        "eb {} 100",
        "ew {} 12345",
        "ef {} x",
        "ef {}",
        "ef {} 1e99",
        'ea {} "x',
        "ea {}",
        "f {} L4",
        "f",
        "m {} L4",
        "m",
        "!ed 0 1`00000000",
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    line: str, session: Session, fake: FakeMachine
) -> None:
    before = dict(fake.writes)
    error = failure(session, line.format(f"{PLACE:x}"))
    assert isinstance(error, UsageError | ExpressionError)
    assert fake.writes == before


def test_overlapping_ranges_are_copied_right(session: Session, fake: FakeMachine) -> None:
    run(session, f"eb {PLACE:x} 1 2 3 4 5; m {PLACE:x} L5 {PLACE + 2:x}")
    assert fake.read(PLACE, 7) == bytes((1, 2, 1, 2, 3, 4, 5))


def test_a_write_that_stops_on_the_way_says_how_far_it_came(session: Session, fake: FakeMachine) -> None:
    fake.written_limit = PLACE + 3
    error = failure(session, f"f {PLACE:x} L8 cc")
    assert isinstance(error, CommandError)
    assert error.what.startswith("0x3 of 0x8 bytes were written: cannot access 5 bytes at")
    assert error.hint is not None
    assert fake.read(PLACE, 4)[:3] == b"\xcc" * 3
    assert fake.read(PLACE + 3, 1) != b"\xcc"
    fake.written_limit = None
    nothing = failure(session, "f 1000 L8 cc")
    assert nothing.what.startswith("0x0 of 0x8 bytes were written")
    assert nothing.hint is None


def test_physical_memory_is_written_as_such(session: Session, fake: FakeMachine) -> None:
    run(session, "!eb 1000 1 2; !ed 1010 12345678; !eq 1020 1; fp 1030 L4 9")
    assert bytes(fake.frames[0x1000 + at] for at in (0, 1)) == b"\x01\x02"
    assert bytes(fake.frames[0x1010 + at] for at in range(4)) == b"\x78\x56\x34\x12"
    assert bytes(fake.frames[0x1030 + at] for at in range(4)) == b"\x09" * 4
    assert fake.frames[0x1020] == 1


def test_a_file_goes_to_memory_and_back(session: Session, fake: FakeMachine, tmp_path: Path) -> None:
    data = bytes(range(256)) * 2
    source, target = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(data)
    run(session, f'.readmem "{source}" {PLACE:x}; .writemem "{target}" {PLACE:x} L200')
    assert fake.read(PLACE, 0x200) == data
    assert target.read_bytes() == data


def test_a_long_read_tells_its_progress_and_leaves_no_file_when_it_is_cancelled(
    session: Session, tmp_path: Path
) -> None:
    from kdive.commands.dispatch import Dispatcher
    from kdive.render.text import TextRenderer

    said: list[object] = []

    def hear(command: str, result: object) -> None:
        said.append(result)
        if not command:
            session.cancel.cancel()

    target = tmp_path / "out.bin"
    line = f'.writemem "{target}" {FLAT.start:x} L{len(FLAT):x}'
    outcome = Dispatcher(session, hear, TextRenderer().plain).run(line)
    assert isinstance(outcome.error, CancelledError)
    assert said == ["10 %"]
    assert not target.exists()


def test_nothing_is_shown_where_windbg_shows_nothing(session: Session) -> None:
    assert text(session, f"eb {PLACE:x} 1") == ""
    assert text(session, f"f {PLACE:x} L10 0") == "Filled 0x10 bytes"
