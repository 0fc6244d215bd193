"""Recordings of KD sessions stand in for their targets."""

from __future__ import annotations

import json
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from kdive.errors import TargetError
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from kdive.targets.kd import KdTarget, open_kd
from kdive.targets.recording import Recorder, ReplayTransport, read_recording
from kdive.targets.transport import SocketTransport
from kdive.wire.kd.replay import cut
from tests.commands.live import failure, run, text
from tests.data import need
from tests.targets.fake_kd import KERNEL, WAIT, FakeKd
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.targets.line_state import LineState


def session_on(target: KdTarget, folder: Path) -> Session:
    return Session(target, SessionOptions("", (SAMPLE / "isf",), offline=True, cache=folder / "cache"))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A session with a fake target, recorded, and its texts beside it."""
    place = tmp_path / "session.jsonl"
    hit = KERNEL + 0x1000
    fake = FakeKd([hit])
    target = KdTarget(SocketTransport(fake.near, "fake"), Recorder(place))
    target.attach(WAIT)
    session = session_on(target, tmp_path)
    shown = [text(session, line) for line in lines(hit)]
    session.close()
    place.with_suffix(".texts").write_text(json.dumps(shown), encoding="utf-8")
    return place


def lines(hit: int) -> tuple[str, ...]:
    return ("r", "k", "lm", f"bp {hit:#x}; g", "bl", "k", "db nt L20", "p", "r rip")


def test_a_replay_shows_what_the_session_showed(recording: Path, tmp_path: Path) -> None:
    transport = ReplayTransport(recording)
    session = session_on(open_kd(transport), tmp_path / "other")
    shown = [text(session, line) for line in lines(KERNEL + 0x1000)]
    session.close()
    assert shown == json.loads(recording.with_suffix(".texts").read_text(encoding="utf-8"))
    assert (transport.target.refused, transport.target.diverged) == (0, 0)


def test_questions_in_another_order_and_of_other_sizes_are_answered(recording: Path, tmp_path: Path) -> None:
    transport = ReplayTransport(recording)
    session = session_on(open_kd(transport), tmp_path / "other")
    data = session.target.memory.read(KERNEL + 3, 0x11)
    assert data == open_dump(SAMPLE / "crash.dmp").memory.read(KERNEL + 3, 0x11)
    assert text(session, "lm")
    session.close()


def test_what_was_never_asked_is_refused(recording: Path, tmp_path: Path) -> None:
    transport = ReplayTransport(recording)
    session = session_on(open_kd(transport), tmp_path / "other")
    assert failure(session, "rdmsr 1b")
    assert transport.target.refused == 1
    assert not session.target.memory.is_readable(0xFFFFF00000000000)
    session.close()


def test_the_end_of_a_recording_is_told(recording: Path, tmp_path: Path) -> None:
    session = session_on(open_kd(ReplayTransport(recording)), tmp_path / "other")
    run(session, "g")
    run(session, "p")
    (stop,) = run(session, "g")
    assert stop.kind == "lost"
    assert "the recording ends here" in stop.text + "".join(stop.notes)


def test_lines_of_a_recording_are_for_people_too(recording: Path) -> None:
    fields = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    assert all(set(one) == {"t", "dir", "hex", "note"} for one in fields)
    assert fields[0]["note"] == "break-in"
    notes = "\n".join(one["note"] for one in fields)
    assert f"read virtual {KERNEL:016x}" in notes
    assert "exception at" in notes
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600


def test_a_recording_is_never_overwritten(recording: Path) -> None:
    before = recording.read_bytes()
    with pytest.raises(TargetError, match="exists already"):
        Recorder(recording)
    assert recording.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"no json\n", b"\xff\xfe\n", b'{"t": 0, "dir": "host", "hex": "6"}\n', b"[" * 100000]
)
def test_a_file_that_is_no_recording_is_told(content: bytes, tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(content)
    with pytest.raises(TargetError) as caught:
        ReplayTransport(place)
    assert str(place) in str(caught.value.where)


@pytest.mark.parametrize("name", ["boot-to-gui", "breakpoint-and-steps", "errors-and-resync"])
def test_recordings_of_real_kernels_are_cut_into_moments(name: str) -> None:
    place = need(f"kd-serial/{name}.jsonl.xz")
    moments = cut(read_recording(place))
    assert sum(len(moment.asked) for moment in moments) > 0
    assert all(moment.said for moment in moments)
    target = open_kd(ReplayTransport(place))
    assert target.halted
    target.close()


def test_what_is_seen_while_waiting_is_told() -> None:
    near, far = socket.socketpair()
    far.sendall(b"login: ")
    target = KdTarget(SocketTransport(near, "fake"))
    told: list[LineState] = []
    with pytest.raises(TargetError):
        target.attach(1.6, waiting=told.append)
    assert {state.kind for state in told} == {"junk"}
    target.connection.close()
    far.close()
