"""Source files: where they lie here, and whether they are what was compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import CommandError
from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.symbols.interface import SourceFile

_HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256"}
_MAX_SOURCE = 64 << 20
_MAX_PARTS = 64


class SourceRoot(Record, frozen=True):
    """An element of the source path: a folder, or a folder that stands for the beginning of recorded paths."""

    folder: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.prefix}={self.folder}" if self.prefix else self.folder


class LocatedSource(Record, frozen=True):
    """A source file that was looked for.

    Attributes:
        recorded: Its path on the machine that compiled it.
        path: The file here; None if there is none that may be shown.
        refused: Files of that name with other contents.
        checked: Whether its checksum was compared.
    """

    recorded: str
    path: Path | None = None
    refused: list[str] = field(default_factory=list[str])
    checked: bool = False


def parse_source_path(text: str) -> list[SourceRoot]:
    """Read a source path: folders and ``PREFIX=FOLDER``, parted by semicolons."""
    roots: list[SourceRoot] = []
    for element in text.split(";"):
        prefix, equals, folder = element.strip().strip('"').rpartition("=")
        if folder:
            roots.append(SourceRoot(folder, prefix if equals else ""))
    return roots


class SourcePath:
    """The source path, and the position of the listing.

    Args:
        text: The path.
    """

    def __init__(self, text: str = "") -> None:
        self.roots = parse_source_path(text)
        self.listing: tuple[Path, int] | None = None
        """The file that was listed last, and the line to go on with."""

    def __str__(self) -> str:
        return ";".join(str(root) for root in self.roots)

    def locate(self, source: SourceFile) -> LocatedSource:
        """Find a source file.

        Of each root, the file that agrees with the longest end of the recorded path is taken, names in any case. A file
        whose checksum differs from the recorded one is not what was compiled and is refused.
        """
        refused: list[str] = []
        for candidate in self._candidates(source.path):
            if not source.checksum:
                return LocatedSource(source.path, candidate, refused)
            if _checksum(candidate, source.checksum_kind) == source.checksum:
                return LocatedSource(source.path, candidate, refused, checked=True)
            refused.append(str(candidate))
        return LocatedSource(source.path, None, refused)

    def _candidates(self, recorded: str) -> Iterator[Path]:
        plain = Path(recorded)
        if plain.is_absolute() and plain.is_file():
            yield plain
        parts = [part for part in recorded.replace("\\", "/").split("/") if part not in ("", ".")]
        for root in self.roots:
            folder = Path(root.folder).expanduser()
            if root.prefix:
                prefix = [part for part in root.prefix.replace("\\", "/").split("/") if part]
                if [part.casefold() for part in parts[: len(prefix)]] == [part.casefold() for part in prefix]:
                    found = _descend(folder, parts[len(prefix) :])
                    if found is not None:
                        yield found
                continue
            for start in range(max(len(parts) - _MAX_PARTS, 0), len(parts)):
                found = _descend(folder, parts[start:])
                if found is not None:
                    yield found
                    break


def _descend(folder: Path, parts: list[str]) -> Path | None:
    """Follow names below a folder, each as written or else in any case; None if no file is at the end."""
    place = folder
    for part in parts:
        if part == "..":
            return None
        exact = place / part
        if exact.exists():
            place = exact
            continue
        try:
            place = next(entry for entry in place.iterdir() if entry.name.casefold() == part.casefold())
        except (OSError, StopIteration):
            return None
    return place if place.is_file() else None


def _checksum(path: Path, kind: str) -> bytes:
    name = _HASHES.get(kind)
    if name is None:
        return b""
    import hashlib

    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.new(name, usedforsecurity=False)).digest()
    except OSError:
        return b""


def read_lines(path: Path) -> list[str]:
    """Read a source file.

    Raises:
        CommandError: It cannot be read, or is too large to be source code.
    """
    try:
        if path.stat().st_size > _MAX_SOURCE:
            raise CommandError(f"larger than {_MAX_SOURCE >> 20} MiB, so no source file", where=str(path))
        return path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise CommandError(f"cannot read: {error.strerror or error}", where=str(path)) from error
