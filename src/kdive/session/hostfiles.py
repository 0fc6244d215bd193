"""Which files of the host commands may read and write.

People at a prompt may name any file. A front end that serves programs hands the session a narrower policy, and every
command that opens a file named in its arguments asks it first.
"""

from __future__ import annotations

from pathlib import Path

from kdive.errors import CommandError
from kdive.record import Record


class HostFiles(Record, frozen=True):
    """A policy.

    Attributes:
        confined: Whether only files below ``folder`` may be used.
        folder: The folder; None with ``confined`` forbids all files.
    """

    confined: bool = False
    folder: Path | None = None

    def path(self, name: str) -> Path:
        """Return the path that a command may open.

        Relative names lie in the folder, if there is one. Links are followed before the place is judged.

        Raises:
            CommandError: The file may not be used.
        """
        path = Path(name).expanduser()
        if not self.confined:
            return path
        if self.folder is None:
            raise CommandError(
                "files of the host are off limits here",
                where=name,
                hint="the server must be started with --allow-host-files DIR",
            )
        root = self.folder.resolve()
        try:
            found = (root / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise CommandError("not a usable file name", where=name) from error
        if not found.is_relative_to(root):
            raise CommandError("the file is outside the folder for host files", where=name, hint=f"use {root}")
        return found
