"""Downloads from symbol servers, in the background.

One daemon thread takes requests in turn. A server that does not answer costs a short deadline, then is left alone for
the rest of the run; a file that a server does not have is remembered on disk for a day. Nobody waits here unless they
call :meth:`Fetcher.wait`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING

from kdive.errors import KdiveError
from kdive.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.cancel import CancelToken
    from kdive.symbols.download import Download, Transfer
    from kdive.symbols.wanted import WantedFile

CONNECT_DEADLINE = 3.0
NEGATIVE_LIFE = 24 * 3600.0
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
        self._two_tier: dict[str, bool] = {}
        self._current: Download | None = None
        self._stopping = False
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

    def stop(self) -> None:
        """Give up what is running and waiting; nothing half fetched stays. Later requests are served again."""
        with self._idle:
            self._stopping = bool(self._pending)

    @property
    def transfer(self) -> Transfer | None:
        """The download that is running, with how far it has come."""
        current = self._current
        return None if current is None else current.transfer

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
                message = f"{request.url}: stopped" if self._stopping else self._fetch(request)
            except Exception as error:  # noqa: BLE001 (a failed download is a message, whatever raised it)
                message = f"{request.url}: {error}"
            with self._idle:
                self.messages.append(message)
                self._pending -= 1
                self._stopping = self._stopping and bool(self._pending)
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
        from kdive.symbols.download import Download, NotOnServerError

        download = Download(request.server, request.wanted, request.cache, lambda: self._stopping)
        self._current = download
        try:
            message = download.run(two_tier=lambda: self._is_two_tier(request.server))
        except NotOnServerError as error:
            with contextlib.suppress(OSError):
                self._negative.mkdir(parents=True, exist_ok=True)
                self._marker(request).touch()
            return str(error)
        except KdiveError as error:
            return f"{error.what}; {error.hint}" if error.hint else error.what
        finally:
            self._current = None
        with self._idle:
            self.arrived += 1
        return message

    def _is_two_tier(self, server: str) -> bool:
        from kdive.symbols.download import has_index2

        if server not in self._two_tier:
            self._two_tier[server] = has_index2(server)
        return self._two_tier[server]
