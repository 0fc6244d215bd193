"""Downloads from a real HTTP server on loopback: good, missing, slow, lying and dead ones."""

from __future__ import annotations

import http.server
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kdive.cancel import CancelToken
from kdive.errors import CancelledError
from kdive.symbols.fetch import NEGATIVE_LIFE, Fetcher
from kdive.symbols.store import SymbolStore
from kdive.symbols.wanted import WantedFile
from tests.formats.pdb.build import GUID, msf
from tests.symbols.cabinet import cabinet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INFO = struct.pack("<III", 20000404, 0, 1) + GUID.bytes_le + struct.pack("<IIIIII", 0, 0, 0, 0, 0, 0)
BODY = msf([b"", INFO, b"", b"", bytes(range(256)) * 1000])
KEY = f"{GUID.hex.upper()}1"
BOUND = 30.0


class Files:
    """Two-tier store, compressed files and pointers, by path."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {
            f"/symbols/packed.pdb/{KEY}/packed.pd_": cabinet("packed.pdb", BODY),
            f"/symbols/spoilt.pdb/{KEY}/spoilt.pd_": cabinet("spoilt.pdb", BODY)[:-100],
            f"/symbols/away.pdb/{KEY}/file.ptr": rb"PATH:\\server\share\away.pdb",
            f"/symbols/other.pdb/{KEY[:-2]}AA/other.pdb": BODY,
            f"/symbols/page.pdb/{KEY}/page.pdb": b"<html>Sign in</html>",
            f"/tiers/de/deep.pdb/{KEY}/deep.pdb": BODY,
            "/tiers/index2.txt": b"",
        }


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the name of the file."""

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked.append(self.path)
        name = self.path.rsplit("/", 1)[-1]
        if self.path in server.files.content:
            self._send(server.files.content[self.path])
            return
        if self.path.startswith("/tiers") or not name.startswith(("good", "broken", "hanging", "lying", "cut")):
            self.send_error(404)
            return
        if name.startswith("broken"):
            self.send_error(500)
            return
        if name.startswith("hanging"):
            server.released.wait(BOUND)
            return
        self.send_response(200)
        length = len(BODY) + (1000 if name.startswith("lying") else 0)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(BODY[: len(BODY) // 2] if name.startswith("cut") else BODY)

    def do_HEAD(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        self.send_response(200 if self.path in server.files.content else 404)
        self.end_headers()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.files = Files()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/symbols"

    @property
    def two_tier_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/tiers"


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.released.set()
    running.shutdown()
    thread.join()
    running.server_close()


def fetch(fetcher: Fetcher, server: str, name: str, cache: Path) -> Path:
    wanted = WantedFile(name, KEY)
    fetcher.request(server, wanted, cache)
    assert fetcher.wait(BOUND)
    return cache / wanted.relative


def test_a_file_lands_in_the_cache_whole(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    place = fetch(fetcher, server.url, "good.pdb", tmp_path / "cache")
    assert place.read_bytes() == BODY
    assert server.asked == [f"/symbols/good.pdb/{KEY}/good.pdb"]
    assert fetcher.arrived == 1
    assert [path.name for path in place.parent.iterdir()] == ["good.pdb"]


def test_a_file_is_asked_for_once(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    for _ in range(3):
        fetch(fetcher, server.url, "good.pdb", tmp_path / "cache")
    assert len(server.asked) == 1


def test_what_a_server_lacks_is_remembered_for_a_day(server: Server, tmp_path: Path) -> None:
    negative = tmp_path / "missing"
    fetch(Fetcher(negative), server.url, "missing.pdb", tmp_path / "cache")
    fetch(Fetcher(negative), server.url, "missing.pdb", tmp_path / "cache")
    assert len(server.asked) == 3
    (marker,) = negative.iterdir()
    past = time.time() - NEGATIVE_LIFE - 1
    os.utime(marker, (past, past))
    fetch(Fetcher(negative), server.url, "missing.pdb", tmp_path / "cache")
    assert len(server.asked) == 6


@pytest.mark.parametrize(("name", "part"), [("cut.pdb", ""), ("lying.pdb", ""), ("broken.pdb", "HTTP 500")])
def test_a_bad_answer_leaves_nothing_behind(name: str, part: str, server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    place = fetch(fetcher, server.url, name, tmp_path / "cache")
    assert not place.exists()
    assert not place.parent.exists() or list(place.parent.iterdir()) == []
    assert part in fetcher.messages[-1]
    assert fetcher.arrived == 0
    # A failure is not an answer "not there": the next run asks again.
    assert not (tmp_path / "missing").exists()


def test_a_dead_server_is_left_alone_after_it_failed(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    fetcher = Fetcher(tmp_path / "missing", connect_deadline=0.5)
    for index in range(4):
        fetch(fetcher, f"http://127.0.0.1:{port}", f"{index}.pdb", tmp_path / "cache")
    assert sum("skipped" in message for message in fetcher.messages) == 2


def test_waiting_can_be_cancelled_while_a_server_hangs(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    fetcher.request(server.url, WantedFile("hanging.pdb", "K"), tmp_path)
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        fetcher.wait(BOUND, token)
    assert fetcher.pending == 1
    assert not fetcher.wait(0)


def test_a_request_returns_at_once_while_a_server_hangs(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    store = SymbolStore(f"srv*{tmp_path / 'c'}*{server.url}", tmp_path, fetcher)
    for index in range(5):
        store.request(WantedFile(f"hanging{index}.pdb", "K"))
    assert fetcher.pending == 5
    assert list(store.find(WantedFile("hanging0.pdb", "K"))) == []


def test_retry_asks_again_for_what_failed(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    fetch(fetcher, server.url, "broken.pdb", tmp_path / "cache")
    fetcher.retry()
    fetch(fetcher, server.url, "broken.pdb", tmp_path / "cache")
    assert len(server.asked) == 2


def test_a_compressed_file_is_expanded_on_its_way(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    place = fetch(fetcher, server.url, "packed.pdb", tmp_path / "cache")
    assert place.read_bytes() == BODY
    assert [path.name for path in place.parent.iterdir()] == ["packed.pdb"]


def test_stores_of_two_tiers_are_asked_where_they_keep_the_file(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    assert fetch(fetcher, server.two_tier_url, "deep.pdb", tmp_path / "cache").read_bytes() == BODY


@pytest.mark.parametrize(
    ("name", "key", "part"),
    [
        ("page.pdb", KEY, "neither a PDB nor a PE image, so it was not kept"),
        ("other.pdb", f"{KEY[:-2]}AA", f"is {KEY}, wanted was {KEY[:-2]}AA"),
        ("away.pdb", KEY, r"points elsewhere: PATH:\\server\share\away.pdb"),
        ("spoilt.pdb", KEY, "cannot expand"),
    ],
)
def test_what_is_not_the_file_is_not_kept(name: str, key: str, part: str, server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    fetcher.request(server.url, WantedFile(name, key), tmp_path / "cache")
    assert fetcher.wait(BOUND)
    assert part in fetcher.messages[-1]
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    assert not (tmp_path / "missing").exists()


def test_stopping_gives_up_what_waits_and_serves_later_requests(server: Server, tmp_path: Path) -> None:
    fetcher = Fetcher(tmp_path / "missing")
    fetcher.request(server.url, WantedFile("hanging.pdb", KEY), tmp_path / "cache")
    fetcher.request(server.url, WantedFile("good.pdb", KEY), tmp_path / "cache")
    fetcher.stop()
    server.released.set()
    assert fetcher.wait(BOUND)
    assert not (tmp_path / "cache" / "good.pdb" / KEY / "good.pdb").exists()
    fetcher.retry()
    assert fetch(fetcher, server.url, "good.pdb", tmp_path / "cache").exists()
