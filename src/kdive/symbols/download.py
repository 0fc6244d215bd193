"""One file from one symbol server: asked for in each form that stores have, checked, and stored whole.

Source: Microsoft, "SymStore" (compressed files, ``file.ptr``, two-tier stores with an ``index2.txt``).
"""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from kdive.atomic import replacing
from kdive.errors import FormatError, KdiveError
from kdive.record import Record
from kdive.symbols.compressed import compressed_name, expand
from kdive.symbols.identify import identify, same_identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kdive.symbols.wanted import WantedFile

READ_DEADLINE = 15.0
_MAX_FILE = 2 << 30
_CHUNK = 1 << 18
_NOT_THERE = (404, 410)


class Transfer(Record):
    """How far a download has come.

    Attributes:
        url: What is fetched.
        received: Bytes so far.
        total: Bytes in all, None if the server does not say.
    """

    url: str
    received: int = 0
    total: int | None = None


class NotOnServerError(KdiveError):
    """The server answered that it does not have the file."""


class StoppedError(KdiveError):
    """Somebody asked the download to stop."""


class Download:
    """Fetches one file.

    Args:
        server: Address of the store's root.
        wanted: Which file.
        cache: Folder, in store layout, that it is put in.
        stopped: Asked between chunks; true ends the download.
    """

    def __init__(self, server: str, wanted: WantedFile, cache: Path, stopped: Callable[[], bool]) -> None:
        self._root = server.rstrip("/")
        self._wanted = wanted
        self._target = cache / wanted.relative
        self._stopped = stopped
        self.transfer = Transfer(f"{self._root}/{wanted.relative}")

    def run(self, *, two_tier: Callable[[], bool]) -> str:
        """Fetch the file and say what was done.

        Args:
            two_tier: Says whether the store has folders of two letters; asked when the plain place is empty.

        Raises:
            NotOnServerError: The server does not have it.
            FormatError: What came is not the file.
            StoppedError: ``stopped`` said so.
            OSError: The connection failed.
        """
        folders = [f"{self._root}/{self._wanted.name}/{self._wanted.key}"]
        forms = (self._plain, self._compressed, self._pointer)
        for form in forms:
            if (done := form(folders[0])) is not None:
                return done
        if two_tier():
            deeper = f"{self._root}/{self._wanted.name[:2]}/{self._wanted.name}/{self._wanted.key}"
            for form in forms:
                if (done := form(deeper)) is not None:
                    return done
        raise NotOnServerError(f"{self._root}/{self._wanted.relative}: not on the server")

    def _plain(self, folder: str) -> str | None:
        url = f"{folder}/{self._wanted.name}"
        answer = self._ask(url)
        if answer is None:
            return None
        with answer, replacing(self._target) as file:
            size = self._copy(answer, file)
            file.flush()
            self._check(url, file.name)
        return f"{url}: {size} bytes"

    def _compressed(self, folder: str) -> str | None:
        name = compressed_name(self._wanted.name)
        answer = self._ask(f"{folder}/{name}")
        if answer is None:
            return None
        packed = self._target.with_name(name)
        try:
            with answer, replacing(packed) as file:
                size = self._copy(answer, file)
            expand(packed, self._target)
        except BaseException:
            packed.unlink(missing_ok=True)
            raise
        packed.unlink(missing_ok=True)
        try:
            self._check(f"{folder}/{name}", str(self._target))
        except FormatError:
            self._target.unlink(missing_ok=True)
            raise
        return f"{folder}/{name}: {size} bytes, expanded"

    def _pointer(self, folder: str) -> str | None:
        url = f"{folder}/file.ptr"
        answer = self._ask(url)
        if answer is None:
            return None
        with answer:
            text = answer.read(4096).decode("utf-8", "replace").strip()
        raise FormatError(f"{url}: the store only points elsewhere: {text}", hint="copy that file to the symbol path")

    def _ask(self, url: str) -> Any | None:
        """Open an address; None if there is nothing at it."""
        if self._stopped():
            raise StoppedError(f"{url}: stopped")
        self.transfer = Transfer(url)
        query = urllib.request.Request(url, headers={"User-Agent": "Microsoft-Symbol-Server/10.0"})
        try:
            return urllib.request.urlopen(query, timeout=READ_DEADLINE)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _NOT_THERE:
                    return None
                raise FormatError(f"{url}: HTTP {error.code}") from error

    def _copy(self, answer: Any, file: Any) -> int:
        length = answer.headers.get("Content-Length")
        transfer = self.transfer
        transfer.total = int(length) if length is not None and length.isdigit() else None
        while chunk := answer.read(_CHUNK):
            if self._stopped():
                raise StoppedError(f"{transfer.url}: stopped after {transfer.received} bytes")
            transfer.received += len(chunk)
            if transfer.received > _MAX_FILE:
                raise FormatError(f"{transfer.url}: larger than {_MAX_FILE >> 30} GiB, given up")
            file.write(chunk)
        if transfer.total is not None and transfer.received != transfer.total:
            raise FormatError(f"{transfer.url}: cut short, {transfer.received} of {transfer.total} bytes")
        return transfer.received

    def _check(self, url: str, path: str) -> None:
        """Refuse what is not the file that was asked for (an error page, another build)."""
        from pathlib import Path

        try:
            found = identify(Path(path), self._wanted.name)
        except KdiveError as error:
            raise FormatError(f"{url}: {error.what}, so it was not kept") from error
        if not same_identity(found, self._wanted):
            raise FormatError(f"{url}: is {found.key}, wanted was {self._wanted.key}, so it was not kept")


def has_index2(server: str) -> bool:
    """Whether a store's root holds the ``index2.txt`` that marks a two-tier store.

    Raises:
        OSError: The connection failed.
    """
    query = urllib.request.Request(f"{server.rstrip('/')}/index2.txt", method="HEAD")
    try:
        with urllib.request.urlopen(query, timeout=READ_DEADLINE):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False
