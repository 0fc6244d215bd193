"""What the server's options allow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import CommandError, UsageError
from kdive.frontends.mcp.text import Cleaner, parse_redactions
from kdive.record import Record, field
from kdive.session.hostfiles import HostFiles

if TYPE_CHECKING:
    from kdive.session.session import Session

_STORE = re.compile(r"(?:srv|symsrv|cache)\*", re.IGNORECASE)


class Policy(Record, frozen=True):
    """What clients may do.

    Attributes:
        host_files: Which files of the host commands may open.
        read_only: Nothing in the target may be changed.
        cleaner: Cleans and redacts what leaves the server.
        cache: Folder in which symbols are kept.
    """

    host_files: HostFiles = HostFiles(confined=True)
    read_only: bool = False
    cleaner: Cleaner = field(default_factory=Cleaner)
    cache: Path | None = None

    def apply(self, session: Session) -> None:
        """Make a session that was just opened follow it."""
        from kdive.frontends.mcp.refusal import WRITES

        session.host_files = self.host_files
        if self.read_only:
            # Commands that look for themselves what the target can do see a target that cannot be changed.
            session.target.capabilities = session.target.capabilities - WRITES

    def check_symbol_path(self, command: str) -> None:
        """Refuse a symbol path that would have downloads written to a folder of the client's choice.

        Raises:
            CommandError: It would.
        """
        _, _, path = command.strip().partition(" ")
        if command.lower().startswith(".symfix"):
            stores = [path.strip().lstrip("+").strip()]
        else:
            elements = [part for part in path.strip().strip('"').split(";") if _STORE.match(part.strip())]
            stores = [store for element in elements for store in element.split("*")[1:]]
        for store in stores:
            if not store or re.match(r"https?://", store, re.IGNORECASE):
                continue
            folder = Path(store).expanduser()
            if self.cache is not None and folder.resolve().is_relative_to(self.cache.resolve()):
                continue
            try:
                self.host_files.path(store)
            except CommandError as error:
                raise CommandError(
                    "a symbol store would be written there", where=store, hint=error.hint or error.what
                ) from error


def make_policy(allow_host_files: str | None, *, read_only: bool, redact: tuple[str, ...]) -> Policy:
    """Read the options.

    Raises:
        UsageError: One cannot be followed.
    """
    from kdive.directories import cache_directory

    folder = Path(allow_host_files).expanduser() if allow_host_files else None
    if folder is not None and not folder.is_dir():
        raise UsageError("--allow-host-files: no such folder", where=str(folder))
    return Policy(
        HostFiles(confined=True, folder=folder), read_only, Cleaner(parse_redactions(redact)), cache_directory()
    )
