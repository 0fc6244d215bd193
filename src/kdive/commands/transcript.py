"""The transcript that ``.logopen`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO


class Transcript:
    """A log file, if one is open."""

    def __init__(self) -> None:
        self._file: TextIO | None = None
        self._path: Path | None = None

    def open(self, path: Path, *, append: bool) -> None:
        """Open a log file; the one before is closed.

        Raises:
            CommandError: The file exists (unless appending) or cannot be written.
        """
        try:
            file = path.open("a" if append else "x", encoding="utf-8")
        except FileExistsError as error:
            raise CommandError("the file exists", where=str(path), hint=".logappend adds to it") from error
        except OSError as error:
            raise CommandError(f"cannot write the log: {error.strerror}", where=str(path)) from error
        self.close()
        self._file, self._path = file, path

    @property
    def active(self) -> bool:
        """Whether a log is open."""
        return self._file is not None

    def write(self, text: str) -> None:
        """Add a text, if a log is open."""
        if self._file is not None:
            self._file.write(text + "\n")
            self._file.flush()

    def close(self) -> Path | None:
        """Close the log; return its path if one was open."""
        path = self._path
        if self._file is not None:
            self._file.close()
        self._file = self._path = None
        return path
