"""Downloads from symbol servers, in the background.

One daemon thread takes requests in turn. A server that does not answer costs a short deadline, then is left alone for
the rest of the run; a file that a server does not have is remembered on disk for a day. Nobody waits here unless they
call :meth:`Fetcher.wait`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from kdive.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.cancel import CancelToken
    from kdive.symbols.wanted import WantedFile

CONNECT_DEADLINE = 3.0
READ_DEADLINE = 15.0
NEGATIVE_LIFE = 24 * 3600.0
_MAX_FILE = 2 << 30
_MAX_FAILURES = 2


class _Request(Record, frozen=True):
    server: str
    wanted: WantedFile
    cache: Path

    @property
    def url(self) -> str:
        return f"{self.server.rstrip('/')}/{self.wanted.relative}"


class Fetcher:
    """The background downloader.

    Args:
        negative: Folder in which answers "not there" are remembered.
        connect_deadline: Seconds that a connection may take.
    """

    def __init__(self, negative: Path, connect_deadline: float = CONNECT_DEADLINE) -> None:
        self._negative = negative
        self._deadline = connect_deadline
        self._queue: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._seen: set[_Request] = set()
        self._pending = 0
        self._idle = threading.Condition()
        self._thread: threading.Thread | None = None
        self._failures: dict[str, int] = {}
        self.messages: list[str] = []
        """What happened to requests, one line each, for ``!sym noisy`` and ``.reload``."""
        self.arrived = 0
        """How many files have been stored since the start."""

    def request(self, server: str, wanted: WantedFile, cache: Path) -> None:
        """Queue a download unless it was queued before or the server is known not to have it."""
        request = _Request(server, wanted, cache)
        with self._idle:
            if request in self._seen or self._known_missing(request):
                return
            self._seen.add(request)
            self._pending += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kdive-symbol-fetch", daemon=True)
                self._thread.start()
        self._queue.put(request)

    def retry(self) -> None:
        """Forget what failed in this run, so that it is asked for again."""
        with self._idle:
            self._seen.clear()
            self._failures.clear()

    @property
    def pending(self) -> int:
        """How many downloads are waiting or running."""
        with self._idle:
            return self._pending

    def wait(self, seconds: float, cancel: CancelToken | None = None) -> bool:
        """Wait until nothing is pending, for at most ``seconds``; say whether that was reached.

        Raises:
            CancelledError: The token was cancelled.
        """
        end = time.monotonic() + seconds
        while True:
            with self._idle:
                if not self._pending:
                    return True
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._idle.wait(min(left, 0.1))
            if cancel is not None:
                cancel.check()

    def _marker(self, request: _Request) -> Path:
        import hashlib

        return self._negative / hashlib.sha256(request.url.encode()).hexdigest()[:32]

    def _known_missing(self, request: _Request) -> bool:
        try:
            return time.time() - self._marker(request).stat().st_mtime < NEGATIVE_LIFE
        except OSError:
            return False

    def _run(self) -> None:
        while True:
            request = self._queue.get()
            try:
                message = self._fetch(request)
            except Exception as error:  # noqa: BLE001 (a failed download is a message, whatever raised it)
                message = f"{request.url}: {error}"
            with self._idle:
                self.messages.append(message)
                self._pending -= 1
                self._idle.notify_all()

    def _fetch(self, request: _Request) -> str:
        import socket
        import urllib.parse

        server = request.server
        if self._failures.get(server, 0) >= _MAX_FAILURES:
            return f"{request.url}: skipped, the server did not answer before"
        parts = urllib.parse.urlsplit(server)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            # urllib has one timeout for everything; a probe of its own keeps the connect deadline short.
            socket.create_connection((parts.hostname or "", port), timeout=self._deadline).close()
            return self._download(request)
        except OSError as error:
            self._failures[server] = self._failures.get(server, 0) + 1
            return f"{request.url}: {error}"

    def _download(self, request: _Request) -> str:
        # Imported only once a server has answered: where there is no network, nothing is paid for it.
        import urllib.error
        import urllib.request

        query = urllib.request.Request(request.url, headers={"User-Agent": "Microsoft-Symbol-Server/10.0"})
        try:
            with urllib.request.urlopen(query, timeout=READ_DEADLINE) as answer:
                return self._store(request, answer)
        except urllib.error.HTTPError as error:
            if error.code in (404, 410):
                with contextlib.suppress(OSError):
                    self._negative.mkdir(parents=True, exist_ok=True)
                    self._marker(request).touch()
                return f"{request.url}: not on the server"
            return f"{request.url}: HTTP {error.code}"

    def _store(self, request: _Request, answer: Any) -> str:
        read = answer.read
        length = answer.headers.get("Content-Length")
        target = request.cache / request.wanted.name / request.wanted.key / request.wanted.name
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".download-")
        total = 0
        try:
            with os.fdopen(handle, "wb") as file:
                while chunk := read(1 << 18):
                    total += len(chunk)
                    if total > _MAX_FILE:
                        return f"{request.url}: larger than {_MAX_FILE >> 30} GiB, given up"
                    file.write(chunk)
            if length is not None and total != int(length):
                return f"{request.url}: cut short, {total} of {length} bytes"
            os.replace(temporary, target)  # noqa: PTH105 - atomic
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
        with self._idle:
            self.arrived += 1
        return f"{request.url}: {total} bytes"
