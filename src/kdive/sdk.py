"""The Python SDK: a debugger as an object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kdive.errors import KdiveError, StaleHandleError
from kdive.frontends.opening import OpenRequest, SymbolRequest, open_session
from kdive.frontends.shell import Shell
from kdive.nt.bugchecks import Bugcheck, bugcheck
from kdive.nt.processes import processes, threads
from kdive.record import Record
from kdive.sdk_live import Breakpoints, run_control
from kdive.sdk_stops import (
    BreakpointHit,
    BugcheckRaised,
    ExceptionRaised,
    Interrupted,
    LinkLost,
    ModuleChanged,
    Question,
    Reloaded,
    Stepped,
    Stop,
    WatchpointHit,
    stop_of,
)
from kdive.session.crash import recorded_bugcheck
from kdive.symbols.views import Struct
from kdive.targets.live import Disposition

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from kdive.memory.interface import Memory
    from kdive.nt.processes import Process, Thread
    from kdive.session import run
    from kdive.session.session import Session
    from kdive.symbols.images import Module
    from kdive.symbols.interface import Symbol
    from kdive.symbols.types import StructType


_WAIT = 1.0
"""Seconds between two looks at whether a wait without an end was cancelled."""


class Frame(Record, frozen=True):
    """A stack frame.

    Attributes:
        index: Number from the innermost, 0.
        child_sp: Stack pointer in the frame.
        ip: Instruction pointer.
        symbol: ``mod!name+0x…``.
        module: Module name, None outside every module.
        source: ``file @ line``, None if unknown.
        how: ``context``, ``unwind``, ``inline`` or ``scan``.
    """

    index: int
    child_sp: int
    ip: int
    symbol: str
    module: str | None
    source: str | None
    how: str


class Symbols:
    """Names and addresses of a target."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def address_of(self, name: str) -> int:
        """Return the address of a symbol (``nt!KeBugCheckEx``).

        Raises:
            SymbolNotFoundError: There is none.
        """
        return self._debugger.session.engine.address_of(name)

    def name_of(self, address: int) -> str | None:
        """Return ``mod!name+0x…`` of an address, None outside every module."""
        return self._debugger.session.engine.name_of(address)

    def search(self, pattern: str) -> Iterator[tuple[Module, Symbol]]:
        """Yield symbols that match ``module!name`` with WinDbg wildcards."""
        return self._debugger.session.engine.search(pattern)


class Types:
    """Type layouts of a target."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def layout(self, name: str) -> StructType:
        """Return the layout of a structure (``nt!_EPROCESS``).

        Raises:
            SymbolNotFoundError: No module's symbols have it.
        """
        return self._debugger.session.engine.struct_type(name)

    def view(self, name: str, address: int) -> Struct:
        """View a structure at an address: ``view["Field"]``, ``view["Inner.Field"]``."""
        return Struct(self._debugger.memory, address, self.layout(name))


class Debugger:
    """An open target.

    Use it on one thread, as a context manager or with :meth:`close`.

    Args:
        session: The session; the debugger closes it.
    """

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session
        self._results: list[Any] = []
        self._shell = Shell(session, lambda _, result: self._results.append(result))
        self.symbols = Symbols(self)
        self.types = Types(self)

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the target; a live one runs on without breakpoints. Every later use raises ``StaleHandleError``.

        Raises:
            KdiveError: A live target could not be left running and whole; the message says how it was left.
        """
        session, self._session = self._session, None
        if session is not None:
            self._shell.close()
            session.close()

    @property
    def session(self) -> Session:
        """The session below, for what the SDK does not cover.

        Raises:
            StaleHandleError: The debugger is closed.
        """
        if self._session is None:
            raise StaleHandleError("the debugger is closed")
        return self._session

    @property
    def memory(self) -> Memory:
        """Virtual memory in the present scope."""
        return self.session.memory

    @property
    def physical(self) -> Memory | None:
        """Physical memory, None if the target has none."""
        return self.session.target.physical

    @property
    def modules(self) -> list[Module]:
        """Loaded modules by ascending base."""
        return self.session.engine.modules

    @property
    def processes(self) -> list[Process]:
        """Active processes that the target holds.

        Raises:
            SymbolNotFoundError: The kernel's types are not known.
        """
        return list(processes(self.session.kernel))

    def threads(self, process: Process) -> list[Thread]:
        """Threads of a process."""
        return list(threads(self.session.kernel, process))

    @property
    def registers(self) -> dict[str, int]:
        """Registers of the present context."""
        return dict(self.session.context().values)

    @property
    def bugcheck(self) -> tuple[Bugcheck, tuple[int, ...]] | None:
        """The bugcheck and its parameters, None if the target did not crash."""
        code, parameters = recorded_bugcheck(self.session)
        return (bugcheck(code, parameters), parameters) if code else None

    def stack(self, limit: int = 256) -> list[Frame]:
        """Walk the call stack of the present context."""
        from kdive.commands.stack import frame_info

        session = self.session
        frames = session.stack(limit)
        infos = (frame_info(session, index, frames) for index in range(len(frames)))
        return [
            Frame(info.index, info.child_sp, info.ip, info.symbol, info.module, info.source, info.how) for info in infos
        ]

    # --- live targets ----------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a live target runs."""
        control = self.session.run
        return control is not None and not control.target.halted

    @property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints of a live target.

        Raises:
            CapabilityError: The target is not live.
        """
        return Breakpoints(self.session)

    def run(self, timeout: float | None = None, *, handled: bool | None = None) -> Stop | None:
        """Let a live target run, and wait until it stops.

        Args:
            timeout: Seconds to wait; it runs on when they are over. None waits until it stops.
            handled: What becomes of the exception that it stopped for; None does what is usual for its kind.

        Returns:
            Why it stopped; None if it still runs.

        Raises:
            KdiveError: It cannot run, or a breakpoint cannot be set.
        """
        self.resume(handled=handled)
        return self.wait(timeout)

    def resume(self, *, handled: bool | None = None) -> None:
        """Let a live target run, and wait for nothing.

        Raises:
            KdiveError: It cannot run, or a breakpoint cannot be set.
        """
        choice = None
        if handled is not None:
            choice = Disposition.HANDLED if handled else Disposition.NOT_HANDLED
        run_control(self.session).resume(choice)

    def wait(self, timeout: float | None = None) -> Stop | None:
        """Wait until a live target stops; None if it still runs when the time is over. No stop is lost by that.

        Raises:
            CapabilityError: The target is not live.
        """
        control = run_control(self.session)
        while True:
            stop = control.wait(_WAIT if timeout is None else timeout, self.session.cancel)
            if stop is not None or timeout is not None:
                return None if stop is None else stop_of(self.session, stop)

    def interrupt(self, timeout: float = 5.0) -> Stop | None:
        """Stop a live target, and wait until it stands still.

        Returns:
            Why it stopped, which may be something that came first; None if it stood still already.

        Raises:
            KdiveError: It does not stop, or is not live.
        """
        control = run_control(self.session)
        if control.halt(timeout, self.session.cancel) and control.waiting is None:
            return None
        stop = control.wait(0) or control.last
        return None if stop is None else stop_of(self.session, stop)

    def step(self) -> Stop:
        """Run one instruction, into calls.

        Raises:
            KdiveError: The target did not come back, or is not live.
        """
        return self._stepped("into")

    def step_over(self) -> Stop:
        """Run one instruction, over calls.

        Raises:
            KdiveError: The target did not come back, or is not live.
        """
        return self._stepped("over")

    def step_out(self) -> Stop:
        """Run until the current function returns.

        Raises:
            KdiveError: Its return address is not known, or the target is not live.
        """
        return self._stepped("out")

    def _stepped(self, how: Literal["into", "over", "out"]) -> Stop:
        from kdive.session.stepping import Stepper

        session = self.session
        stepper = Stepper(session, run_control(session))
        stop: run.Stop = {"into": stepper.into, "over": stepper.over, "out": stepper.out}[how]()
        return stop_of(session, stop)

    def output(self) -> str:
        """What a live target has printed since this was last asked."""
        return "".join(run_control(self.session).target.take_output())

    # --- commands --------------------------------------------------------------------------------------------------

    def command_results(self, line: str) -> list[Any]:
        """Run a line of commands; return the data of each.

        Raises:
            KdiveError: A command failed.
        """
        self.session.cancel.check()
        self._results.clear()
        outcome = self._shell.run(line)
        if outcome.error is not None:
            raise outcome.error
        return [result for result in self._results if result is not None]

    def command(self, line: str) -> str:
        """Run a line of commands; return their text.

        Raises:
            KdiveError: A command failed.
        """
        return "\n".join(self._shell.renderer.plain(result) for result in self.command_results(line))

    def eval(self, expression: str) -> int:
        """Evaluate a MASM expression.

        Raises:
            ExpressionError: It is wrong.
            MemoryAccessError: It reads memory that is not there.
        """
        self.session.cancel.check()
        return self._shell.dispatcher.evaluate(expression).number


def open_dump(
    path: str | os.PathLike[str],
    *,
    symbol_path: str | None = None,
    isf: Iterable[str | os.PathLike[str]] = (),
    offline: bool = False,
) -> Debugger:
    """Open a kernel crash dump.

    Args:
        path: The dump file.
        symbol_path: WinDbg symbol path; None means ``_NT_SYMBOL_PATH``, else the cache and Microsoft's server.
        isf: Folders with Volatility 3 symbol files.
        offline: Never use the network.

    Raises:
        TargetError: The file cannot be read.
        FormatError: It is not a kernel dump.
        UnsupportedError: It is a kind of dump that kdive does not handle.
    """
    symbols = SymbolRequest(path=symbol_path, isf=tuple(str(Path(folder)) for folder in isf), offline=offline)
    return Debugger(open_session(OpenRequest("dump", str(Path(path)), symbols=symbols)))


def attach(
    place: str | os.PathLike[str],
    *,
    backend: str = "kd",
    symbol_path: str | None = None,
    isf: Iterable[str | os.PathLike[str]] = (),
    offline: bool = False,
) -> Debugger:
    """Attach to a live target; it stands still then.

    Use it in a ``with`` block: leaving that takes the breakpoints out and lets the target run on.

    Args:
        place: The virtual machine's serial socket, or HOST:PORT.
        backend: How to reach it.
        symbol_path: WinDbg symbol path; None means ``_NT_SYMBOL_PATH``, else the cache and Microsoft's server.
        isf: Folders with Volatility 3 symbol files.
        offline: Never use the network.

    Raises:
        TargetError: Nobody answers there.
        UnsupportedError: It is a kind of target that kdive does not handle.
    """
    symbols = SymbolRequest(path=symbol_path, isf=tuple(str(Path(folder)) for folder in isf), offline=offline)
    return Debugger(open_session(OpenRequest(backend, str(place), symbols=symbols)))


__all__ = [
    "BreakpointHit",
    "Breakpoints",
    "BugcheckRaised",
    "Debugger",
    "ExceptionRaised",
    "Frame",
    "Interrupted",
    "KdiveError",
    "LinkLost",
    "ModuleChanged",
    "Question",
    "Reloaded",
    "Stepped",
    "Stop",
    "Symbols",
    "Types",
    "WatchpointHit",
    "attach",
    "open_dump",
]
