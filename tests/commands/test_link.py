"""What crossed the link, what the target printed, which files it may have."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import pytest

from kdive.commands.results.link import LinkReport, PrintedLines
from kdive.session.prints import MAX_LINE, Prints
from kdive.targets.driver_files import DriverFiles
from kdive.wire.kd import files
from kdive.wire.kd.packets import PacketType
from tests.commands.live import failure, live_session, run, text
from tests.targets.fake_kd import KERNEL, WAIT, FakeKd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kdive.session.session import Session

NAME = "\\SystemRoot\\system32\\drivers\\mine.sys"


class FileAsker(FakeKd):
    """Asks its debugger for files when it is sent on; stops when all is answered."""

    def __init__(self, *asked: bytes) -> None:
        self.asked = list(asked)
        self.answers: list[bytes] = []
        super().__init__()

    def _go(self, *, trace: bool) -> None:
        self._halted = False
        self._next_file()
        del trace

    def _next_file(self) -> None:
        if self.asked:
            self._send(PacketType.FILE_IO, self.asked.pop(0))
        else:
            self._stop(0xC0000005)
            self.went_on.set()

    def _take(self, item: object) -> None:
        before = self._expected
        super()._take(item)  # type: ignore[arg-type]
        if getattr(item, "type", None) == PacketType.FILE_IO and self._expected != before:
            self.answers.append(item.payload)  # type: ignore[attr-defined]
            self._next_file()

    def _answer(self, payload: bytes) -> None:
        if len(payload) >= 4 and int.from_bytes(payload[:4], "little") >> 8 != 0x34:
            super()._answer(payload)


def create(name: str, access: int = 0x80000000, disposition: int = 1) -> bytes:
    head = struct.pack("<II5I4xQQ", files.FileApi.CREATE, 0, access, 0, 1, disposition, 0, 0, 0)
    return head.ljust(files.HEADER_SIZE, b"\0") + name.encode("utf-16-le") + b"\0\0"


def read(handle: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQI", files.FileApi.READ, 0, handle, offset, size).ljust(files.HEADER_SIZE, b"\0")


def close(handle: int) -> bytes:
    return struct.pack("<IIQ", files.FileApi.CLOSE, 0, handle).ljust(files.HEADER_SIZE, b"\0")


def status(answer: bytes) -> int:
    return int.from_bytes(answer[4:8], "little")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Callable[[FakeKd], Session]]:
    opened: list[Session] = []

    def opener(fake: FakeKd) -> Session:
        opened.append(live_session(fake, tmp_path / "cache"))
        return opened[-1]

    yield opener
    for session in opened:
        session.close()


def test_what_crossed_the_link_is_counted(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd())
    (before,) = run(session, "!kdstats")
    assert isinstance(before, LinkReport)
    before = before.counts
    session.target.memory.read(KERNEL, 0x10)
    session.target.memory.read(KERNEL, 0x10)
    after = run(session, "!kdstats")[0].counts
    assert after.cache_hits > before.cache_hits
    assert after.requests >= before.requests
    assert after.bytes_in >= before.bytes_in > 0
    assert (after.damaged, after.resent, after.prints_lost) == (0, 0, 0)
    assert f"{after.requests}" in text(session, "!kdstats")


def test_prints_are_kept_and_shown(live: Callable[[FakeKd], Session]) -> None:
    session = live(FakeKd([KERNEL + 0x1000], prints=["one\ntw", "o\r\n", "three"]))
    (stop,) = run(session, f"bp {KERNEL + 0x1000:#x}; g")[-1:]
    assert "".join(stop.output) == "one\ntwo\r\nthree"
    (shown,) = run(session, "!dbgprint")
    assert shown == PrintedLines(["one", "two", "three"])
    assert run(session, "!dbgprint 1") == [PrintedLines(["three"], 2)]
    run(session, "!dbgprint -c")
    assert run(session, "!dbgprint") == [PrintedLines([])]


def test_a_ring_of_prints_counts_what_it_lost() -> None:
    prints = Prints(3)
    for number in range(5):
        prints.add(f"{number}\n")
    prints.add("x" * (MAX_LINE + 1))
    assert (list(prints.lines), prints.partial, prints.dropped) == (["3", "4", "x" * MAX_LINE], "x", 3)


def test_a_mapped_file_is_given_and_no_other(live: Callable[[FakeKd], Session], tmp_path: Path) -> None:
    content = os.urandom(files.MAX_READ + 10)
    place = tmp_path / "mine.sys"
    place.write_bytes(content)
    fake = FileAsker(
        create(NAME.upper()),
        read(1, 0, 0x2000),
        read(1, files.MAX_READ, 0x2000),
        read(1, len(content), 1),
        close(1),
        read(1, 0, 1),
        create("\\SystemRoot\\system32\\drivers\\other.sys"),
        create(NAME, access=0x40000000),
    )
    session = live(fake)
    assert "mine.sys" in text(session, f".kdfiles -m {NAME} {place}")
    run(session, "g")
    assert fake.went_on.wait(WAIT)
    statuses = [status(answer) for answer in fake.answers]
    assert statuses == [
        *(0, 0, 0, files.STATUS_END_OF_FILE, 0, files.STATUS_INVALID_HANDLE),
        *(files.STATUS_NO_SUCH_FILE, files.STATUS_ACCESS_DENIED),
    ]
    assert struct.unpack_from("<QQ", fake.answers[0], 32) == (1, len(content))
    assert fake.answers[1][files.HEADER_SIZE :] + fake.answers[2][files.HEADER_SIZE :] == content
    shown = text(session, ".kdfiles")
    assert "opened 1 times" in shown
    assert "asked for and not given: \\SystemRoot\\system32\\drivers\\other.sys (1 times)" in shown


def test_a_map_file_is_read(live: Callable[[FakeKd], Session], tmp_path: Path) -> None:
    place = tmp_path / "mine.sys"
    place.write_bytes(b"x")
    listing = tmp_path / "map.txt"
    listing.write_text(f"# mine\nmap\n{NAME}\n{place}\n\nmap\nlast.sys\n{place}\n", encoding="utf-8")
    session = live(FakeKd())
    (found,) = run(session, f".kdfiles {listing}")
    assert [(row.name, row.path) for row in found.files] == [(NAME, str(place)), ("last.sys", str(place))]
    run(session, ".kdfiles -c")
    assert run(session, ".kdfiles")[0].files == []
    listing.write_text("map\nonly", encoding="utf-8")
    assert failure(session, f".kdfiles {listing}").what == "this is no map"
    assert failure(session, f".kdfiles -m {NAME} {tmp_path / 'none'}").what == "no such file"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "pipe"
    os.mkfifo(place)
    mapped = DriverFiles()
    mapped.mapped["pipe.sys"] = place
    assert status(mapped.answer(create("\\a\\pipe.sys"))) == files.STATUS_NO_SUCH_FILE


@pytest.mark.parametrize("payload", [b"", b"\x30\x34", bytes(64), b"\x32\x34\0\0" + bytes(60), b"\x33\x34" + bytes(62)])
def test_every_request_is_answered_with_a_whole_header(payload: bytes) -> None:
    answer = DriverFiles().answer(payload)
    assert len(answer) == files.HEADER_SIZE
    assert status(answer) >> 31
