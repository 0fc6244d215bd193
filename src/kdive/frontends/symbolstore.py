"""``kdive symbols``: what the local stores hold, what a dump or an image needs, fetching it, putting files in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kdive.errors import KdiveError, UsageError
from kdive.frontends.opening import OpenRequest, open_session
from kdive.record import Record, field
from kdive.symbols.inventory import add_file, find_exact, parse_wanted, stored_files, wanted_by
from kdive.symbols.store import SymbolStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdive.frontends.opening import SymbolRequest
    from kdive.session.session import SessionOptions
    from kdive.symbols.fetch import Fetcher
    from kdive.symbols.wanted import WantedFile

VERBS = {
    "list": "show the files in the local stores of the symbol path",
    "check": "say for each module of a dump, or for an image or NAME/KEY, whether its symbols are at hand",
    "fetch": "get what check finds missing from the servers of the symbol path",
    "import": "copy PDB, image and ISF files to where they are looked for",
}
_WAIT_STEP = 0.5


class Need(Record):
    """A file that something needs.

    Attributes:
        owner: The module or file that needs it.
        wanted: The file; None if it is not known which.
        path: Where it was found, empty if it was not.
        problems: Files that were refused, and why.
        advice: Where to get it and where to put it.
    """

    owner: str
    wanted: WantedFile | None
    path: str = ""
    problems: list[str] = field(default_factory=list[str])
    advice: str = ""

    @property
    def state(self) -> str:
        """``found``, ``mismatched``, ``missing`` or ``unknown``."""
        if self.path:
            return "found"
        if self.wanted is None:
            return "unknown"
        return "mismatched" if self.problems else "missing"


class StoreKeeper:
    """Carries out the subcommands.

    Args:
        request: Where symbols come from.
        write: Takes a line of output; a program's output is ``(text, data)``.
    """

    def __init__(self, request: SymbolRequest, write: Callable[[str, dict[str, Any]], None]) -> None:
        self._request = request
        self._write = write
        self._options: SessionOptions = request.options()
        self._fetcher: Fetcher | None = None
        if not request.offline:
            from kdive.symbols.fetch import Fetcher

            self._fetcher = Fetcher(self._options.cache / "missing")
        path = self._options.effective_symbol_path
        self._store = SymbolStore(path, self._options.cache / "symbols", self._fetcher)

    def list(self) -> int:
        """Show what the stores hold."""
        count = total = 0
        for file in stored_files(self._store.directories()):
            count += 1
            total += file.size
            data = {"name": file.name, "key": file.key or None, "path": str(file.path), "size": file.size}
            self._write(f"{file.key or '(flat)':<34} {file.size:>12,} {file.path}", data)
        sys.stderr.write(f"{count} files, {total:,} bytes, on {self._store.path or 'an empty path'}\n")
        return 0

    def check(self, names: list[str]) -> int:
        """Show which needs are met; 1 if one is not."""
        needs = list(self._needs(names))
        for need in needs:
            self._show(need)
        return int(any(need.state in ("missing", "mismatched") for need in needs))

    def fetch(self, names: list[str]) -> int:
        """Get what is missing; 1 if something still is."""
        if self._fetcher is None:
            raise UsageError("--offline forbids fetching")
        asked: set[WantedFile] = set()
        while True:
            # Twice for a module of which only the image's key is known: the image then names its PDB.
            missing = [need for need in self._needs(names) if need.state in ("missing", "mismatched")]
            fresh = {need.wanted for need in missing if need.wanted is not None} - asked
            if not fresh:
                break
            for wanted in fresh:
                self._store.request(wanted)
            asked |= fresh
            self._wait(self._fetcher)
        for message in self._fetcher.messages:
            sys.stderr.write(message + "\n")
        for need in missing:
            self._show(need)
        sys.stderr.write(f"{len(asked)} files were missing, {self._fetcher.arrived} have come\n")
        return int(bool(missing))

    def import_(self, names: list[str], folder: str | None) -> int:
        """Copy files into the store; 1 if one could not be."""
        store = Path(folder).expanduser() if folder else self._options.cache / "symbols"
        isf = Path(folder).expanduser() if folder else self._options.default_isf
        failed = 0
        for name in names:
            try:
                target = add_file(Path(name).expanduser(), store, isf)
            except KdiveError as error:
                failed = 1
                hint = f"; {error.hint}" if error.hint else ""
                self._write(f"error: {name}: {error}{hint}", {"file": name, "error": str(error)})
                continue
            self._write(f"{name} -> {target}", {"file": name, "path": str(target)})
        return failed

    def _needs(self, names: list[str]) -> Iterator[Need]:
        for name in names:
            path = Path(name).expanduser()
            if not path.is_file():
                need = Need(name, parse_wanted(name))
            elif _is_dump(path):
                yield from self._needs_of_dump(path)
                continue
            else:
                need = Need(path.name, wanted_by(path))
            self._look(need)
            yield need

    def _needs_of_dump(self, path: Path) -> Iterator[Need]:
        # The session stays off the network: fetching is this command's own business.
        session = open_session(OpenRequest("dump", str(path), symbols=self._request.without_network()))
        try:
            for state in session.engine.states:
                symbols = session.engine.symbols_of(state)
                need = Need(state.module.name, state.wanted, problems=list(state.problems))
                if symbols is not None and symbols.kind != "exports":
                    need.path = symbols.path
                elif need.wanted is not None:
                    need.advice = self._store.advice(need.wanted)
                yield need
        finally:
            session.close()

    def _look(self, need: Need) -> None:
        if need.wanted is None:
            return
        need.problems = []
        need.path = ""
        for path in self._store.find(need.wanted, need.problems):
            problem = find_exact(path, need.wanted)
            if not problem:
                need.path = str(path)
                return
            need.problems.append(problem)
        need.advice = self._store.advice(need.wanted)

    def _show(self, need: Need) -> None:
        wanted = need.wanted.relative if need.wanted is not None else ""
        lines = [f"{need.state:<10} {need.owner:<20} {need.path or need.advice or wanted}".rstrip()]
        lines += [f"{'':<10} {problem}" for problem in need.problems]
        data = {
            "owner": need.owner,
            "state": need.state,
            "wanted": wanted or None,
            "path": need.path or None,
            "advice": need.advice or None,
            "problems": need.problems,
        }
        self._write("\n".join(lines), data)

    @staticmethod
    def _wait(fetcher: Fetcher) -> None:
        show = sys.stderr.isatty()
        while not fetcher.wait(_WAIT_STEP):
            transfer = fetcher.transfer
            if show and transfer is not None:
                total = f" of {transfer.total:,}" if transfer.total else ""
                sys.stderr.write(
                    f"\r\x1b[K{fetcher.pending} to go, {transfer.received:,}{total} bytes of {transfer.url}"
                )
                sys.stderr.flush()
        if show:
            sys.stderr.write("\r\x1b[K")


def _is_dump(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAGE"
