"""Finding symbol and image files: local directories and symbol stores now, servers in the background.

Nothing here waits on a network: a lookup answers from disk, and what is missing is handed to the fetcher.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import KdiveError, SymbolError
from kdive.symbols.path import parse_symbol_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.symbols.fetch import Fetcher
    from kdive.symbols.path import SymbolSource
    from kdive.symbols.wanted import WantedFile


class SymbolStore:
    """The symbol path and what can be found along it.

    Args:
        path: The symbol path in WinDbg's syntax.
        default_cache: Directory for downloads where the path names none.
        fetcher: Takes files that are missing locally; None when offline.
    """

    def __init__(self, path: str, default_cache: Path, fetcher: Fetcher | None = None) -> None:
        self.default_cache = default_cache
        self.fetcher = fetcher
        self.sources: list[SymbolSource] = []
        self.set_path(path)

    def set_path(self, path: str) -> None:
        """Replace the symbol path."""
        self.sources = parse_symbol_path(path, str(self.default_cache))

    @property
    def path(self) -> str:
        """The symbol path as it stands."""
        return ";".join(str(source) for source in self.sources)

    def directories(self) -> Iterator[Path]:
        """Every local directory of the path, in search order, each once."""
        seen: set[str] = set()
        for source in self.sources:
            for place in (*source.caches, *(() if source.is_server or not source.place else (source.place,))):
                if place not in seen:
                    seen.add(place)
                    yield Path(place).expanduser()

    def find(self, wanted: WantedFile, problems: list[str] | None = None) -> Iterator[Path]:
        """Yield local files that may be the wanted one, best first; the caller checks their identity.

        Args:
            wanted: The file.
            problems: Takes a line for each place that has the file in a form that cannot be used.
        """
        keys = tuple(dict.fromkeys((wanted.key, wanted.key.upper(), wanted.key.lower())))
        names = tuple(dict.fromkeys((wanted.name, wanted.name.lower())))
        for directory in self.directories():
            for name in names:
                # One look tells a folder of a store from a file in a flat folder.
                place = directory / name
                if place.is_file():
                    yield place
                elif place.is_dir():
                    yield from self._in_store(place, keys, wanted, problems)
                # Two-tier stores (with an index2.txt) put a folder of two letters in between.
                deeper = directory / name[:2] / name
                if deeper.is_dir():
                    yield from self._in_store(deeper, keys, wanted, problems)

    def _in_store(
        self, folder: Path, keys: tuple[str, ...], wanted: WantedFile, problems: list[str] | None
    ) -> Iterator[Path]:
        for key in keys:
            place = folder / key
            if not place.is_dir():
                continue
            file = place / folder.name
            if file.is_file():
                yield file
                continue
            try:
                other = self._other_form(place, folder.name, wanted)
            except KdiveError as error:
                if problems is not None:
                    problems.append(f"{error}; {error.hint}" if error.hint else str(error))
                continue
            if other is not None:
                yield other

    def _other_form(self, place: Path, name: str, wanted: WantedFile) -> Path | None:
        """The file behind a compressed form or a ``file.ptr``."""
        from kdive.symbols.compressed import compressed_name, expand

        packed = place / compressed_name(name)
        if packed.is_file():
            target = self.default_cache / wanted.relative
            if not target.is_file():
                expand(packed, target)
            return target
        pointer = place / "file.ptr"
        if pointer.is_file():
            return _pointed_to(pointer)
        return None

    def request(self, wanted: WantedFile) -> None:
        """Have the file fetched in the background, if there is a server on the path and the network is allowed."""
        if self.fetcher is None:
            return
        for source in self.sources:
            if source.is_server:
                self.fetcher.request(source.place, wanted, Path(source.caches[0]).expanduser())

    def advice(self, wanted: WantedFile) -> str:
        """Say where a person can get the file and where to put it."""
        servers = [source for source in self.sources if source.is_server]
        if servers:
            target = Path(servers[0].caches[0]) / wanted.relative
            return f"fetch {servers[0].place.rstrip('/')}/{wanted.relative} and save it as {target}"
        return f"put it on the symbol path as {wanted.relative}"


def _pointed_to(pointer: Path) -> Path:
    """Follow a ``file.ptr``: ``PATH:`` and the place of the file, or ``MSG:`` and why it is not to be had."""
    try:
        with pointer.open("rb") as file:
            text = file.read(4096).decode("utf-8", "replace").strip()
    except OSError as error:
        raise SymbolError(f"cannot read: {error.strerror or error}", where=str(pointer)) from error
    kind, _, rest = text.partition(":")
    path = Path(rest.strip())
    if kind.upper() == "PATH" and rest and path.is_file():
        return path
    raise SymbolError(f"the store only points elsewhere: {text[:200]}", where=str(pointer))
