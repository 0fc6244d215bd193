"""Finding symbol and image files: local directories and symbol stores now, servers in the background.

Nothing here waits on a network: a lookup answers from disk, and what is missing is handed to the fetcher.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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

    def _candidates(self, wanted: WantedFile) -> Iterator[Path]:
        keys = dict.fromkeys((wanted.key, wanted.key.upper(), wanted.key.lower()))
        names = dict.fromkeys((wanted.name, wanted.name.lower()))
        for directory in self.directories():
            for name in names:
                for key in keys:
                    yield directory / name / key / name
                    # Two-tier stores (with an index2.txt) put a folder of two letters in between.
                    yield directory / name[:2] / name / key / name
                yield directory / name

    def find(self, wanted: WantedFile) -> Iterator[Path]:
        """Yield local files that may be the wanted one, best first; the caller checks their identity."""
        for candidate in self._candidates(wanted):
            if candidate.is_file():
                yield candidate

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
