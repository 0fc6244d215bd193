"""From options to an open session."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from kdive.errors import TargetError, UnsupportedError, UsageError
from kdive.options import AVAILABLE_BACKENDS, BACKENDS
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.cancel import CancelToken
    from kdive.session.session import Session, SessionOptions
    from kdive.targets.base import Target
    from kdive.targets.line_state import LineState


DEFAULT_PLACES = {"kd": "/tmp/kdive-kd.sock", "kdnet": "0.0.0.0:50000", "gdb": "127.0.0.1:1234"}
"""Where a live target is looked for when a client of the MCP server does not say."""


class SymbolRequest(Record, frozen=True):
    """Where symbols come from.

    Attributes:
        path: WinDbg symbol path, None for the default.
        append: Path elements to add.
        servers: Symbol servers to add.
        isf: Folders with ISF files.
        sources: Source roots.
        offline: Never use the network.
    """

    path: str | None = None
    append: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    isf: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    offline: bool = False

    def options(self) -> SessionOptions:
        """The session options that say the same."""
        from kdive.session.session import SessionOptions

        options = SessionOptions(
            symbol_path=self.path,
            isf_directories=tuple(Path(folder).expanduser() for folder in self.isf),
            offline=self.offline,
            source_path=";".join(self.sources),
        )
        if not self.append and not self.servers:
            return options
        servers = [f"srv*{options.cache / 'symbols'}*{server}" for server in self.servers]
        whole = ";".join(part for part in (options.effective_symbol_path, *self.append, *servers) if part)
        return SessionOptions(whole, options.isf_directories, options.offline, options.source_path)

    def without_network(self) -> SymbolRequest:
        """The same places, offline."""
        return SymbolRequest(self.path, self.append, self.servers, self.isf, self.sources, offline=True)


class OpenRequest(Record, frozen=True):
    """What to open.

    Attributes:
        backend: Way to reach the target.
        connect: Where it is.
        key: KDNET key.
        symbols: Where symbols come from.
        record: File that what crosses the wire is written to.
        replay: Recording that stands in for the target.
        memory_source: Where guest memory is read: ``auto``, ``host`` or ``kd``.
    """

    backend: str
    connect: str | None = None
    key: str | None = None
    symbols: SymbolRequest = SymbolRequest()
    record: str | None = None
    replay: str | None = None
    memory_source: str = "auto"

    def check(self) -> None:
        """Look at the arguments without opening anything.

        Raises:
            UsageError: They contradict each other, or one is missing.
            UnsupportedError: The backend is not in this release.
        """
        if self.backend not in BACKENDS:
            raise UsageError(f"no backend {self.backend!r}", hint=f"backends: {', '.join(BACKENDS)}")
        if self.key is not None and self.backend != "kdnet":
            raise UsageError("a key belongs to the kdnet backend only")
        if self.backend == "kdnet" and self.key is None:
            raise UsageError("the kdnet backend needs a key")
        if self.backend == "memory" and self.connect is not None:
            raise UsageError("the memory backend takes no address")
        self._check_recordings()
        if self.memory_source == "host":
            raise UnsupportedError(
                "reading guest memory from the host is not in this release",
                hint="--memory-source kd reads it over the link, and so does auto",
            )
        if self.backend == "kd" and not self.connect and not self.replay:
            raise UsageError(
                "the kd backend needs to know where the target is",
                hint="--connect with the path of the virtual machine's serial socket, or HOST:PORT",
            )
        if self.backend == "dump" and not self.connect:
            raise UsageError("the dump backend needs the path of a dump file")
        if self.backend not in AVAILABLE_BACKENDS:
            raise UnsupportedError(
                f"the {self.backend} backend is not in this release",
                hint=f"available: {', '.join(AVAILABLE_BACKENDS)}; live targets over KDNET and GDB come later",
            )

    def _check_recordings(self) -> None:
        for name, value in (("record", self.record), ("replay", self.replay)):
            if value is not None and self.backend != "kd":
                raise UsageError(f"--{name} belongs to the kd backend only")
        if self.replay is not None and self.connect is not None:
            raise UsageError("a replay has no target to connect to", hint="leave out --connect or --replay")


def open_session(
    request: OpenRequest, cancel: CancelToken | None = None, say: Callable[[str], None] | None = None
) -> Session:
    """Open a target and a session on it. Runs on the owner thread.

    Args:
        request: What to open.
        cancel: Ends the wait for a live target; it then runs on.
        say: Called with a line of text about what is waited for.

    Raises:
        CancelledError: The token was cancelled.
        KdiveError: The target cannot be opened.
    """
    request.check()
    from kdive.session.session import Session

    target = _open_kd(request, cancel, say) if request.backend == "kd" else _open_dump(request)
    try:
        return Session(target, request.symbols.options())
    except BaseException:
        with contextlib.suppress(TargetError):
            target.close()
        raise


def _open_dump(request: OpenRequest) -> Target:
    from kdive.targets.dump import open_dump

    path = Path(request.connect or "").expanduser()
    if path.is_dir():
        raise TargetError("a folder is not a dump file", where=str(path))
    try:
        return open_dump(path)
    except OSError as error:
        raise TargetError(f"cannot open: {error.strerror or error}", where=str(path)) from error


def _open_kd(request: OpenRequest, cancel: CancelToken | None, say: Callable[[str], None] | None) -> Target:
    from kdive.targets.kd import open_kd
    from kdive.targets.recording import Recorder, ReplayTransport
    from kdive.targets.transport import open_transport

    place = request.connect or ""
    if say is not None and place.startswith("listen:"):
        say(f"waiting for the virtual machine to connect to {place.removeprefix('listen:')}")
    # The recording is made first: a name that cannot be had is told before the target is stopped.
    recorder = Recorder(Path(request.record).expanduser()) if request.record is not None else None
    try:
        replay = request.replay
        if replay is None:
            transport = open_transport(place, cancel=cancel)
        else:
            transport = ReplayTransport(Path(replay).expanduser())
    except BaseException:
        if recorder is not None:
            recorder.discard()
        raise
    told = ""

    def waiting(state: LineState) -> None:
        nonlocal told
        if say is not None and state.kind != told:
            told = state.kind
            say(f"waiting for a KD target at {transport.description}: {state.seen}; {state.hint}")

    return open_kd(transport, cancel, recorder=recorder, waiting=waiting)
