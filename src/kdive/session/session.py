"""A debugging session: one target, its symbols and kernel, and what the user has set."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.cancel import CancelToken
from kdive.directories import cache_directory, state_directory
from kdive.errors import KdiveError
from kdive.memory.paging import TranslatedMemory
from kdive.nt.clock import Clock, read_clock
from kdive.nt.kernel import Kernel
from kdive.nt.processes import current_process, current_thread, process_at, thread_at
from kdive.nt.processors import crash_processor, processor_context
from kdive.record import Record, field
from kdive.session.aliases import AliasTable
from kdive.session.hostfiles import HostFiles
from kdive.session.run import RunControl
from kdive.session.scope import Scope
from kdive.session.source import SourcePath
from kdive.symbols.catalogue import IsfCatalogue
from kdive.symbols.engine import SymbolEngine
from kdive.symbols.path import MICROSOFT_SERVER
from kdive.symbols.store import SymbolStore
from kdive.targets.dump import DumpTarget
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.arch.context import RegisterContext
    from kdive.expr.values import Value
    from kdive.memory.interface import Memory
    from kdive.nt.processes import Process, Thread
    from kdive.stack.unwinder import StackFrame
    from kdive.symbols.fetch import Fetcher
    from kdive.targets.base import Target

STACK_LIMIT = 256


class SessionOptions(Record, frozen=True):
    """What a session is opened with.

    Attributes:
        symbol_path: WinDbg symbol path; None means ``_NT_SYMBOL_PATH``, else the default cache and server.
        isf_directories: Folders with Volatility 3 ISF files.
        offline: Never use the network.
        source_path: Source roots, in ``.srcpath`` syntax.
        cache: Folder for downloads and indexes.
        state: Folder for what must outlive the program, such as which bytes of a guest are written over.
    """

    symbol_path: str | None = None
    isf_directories: tuple[Path, ...] = ()
    offline: bool = False
    source_path: str = ""
    cache: Path = field(default_factory=cache_directory)
    state: Path = field(default_factory=state_directory)

    @property
    def default_isf(self) -> Path:
        """Folder for ISF files that is always looked into."""
        return self.cache / "isf"

    @property
    def effective_isf_directories(self) -> list[Path]:
        """The ISF folders that apply."""
        default = [self.default_isf] if self.default_isf.is_dir() else []
        return [*self.isf_directories, *default]

    @property
    def effective_symbol_path(self) -> str:
        """The symbol path that applies."""
        if self.symbol_path is not None:
            return self.symbol_path
        return os.environ.get("_NT_SYMBOL_PATH") or f"srv*{self.cache / 'symbols'}*{MICROSOFT_SERVER}"


class Session:
    """One target under the debugger.

    Not safe for concurrent use: everything runs on the thread that owns the session.

    Args:
        target: The opened target; the session closes it.
        options: How symbols are found.
    """

    def __init__(self, target: Target, options: SessionOptions | None = None) -> None:
        self.target = target
        self.options = options or SessionOptions()
        self.cancel = CancelToken()
        self.radix = 16
        self.aliases = AliasTable()
        self.host_files = HostFiles()
        """Which files of the host commands may open."""
        self.variables: dict[str, Value] = {}
        self.results: list[int] = []
        """Result slots ``$0``, ``$1`` … of the last command that found several things."""
        self.last_dump_address = 0
        self.last_disassembly_address: int | None = None
        self.generation = 0
        """Counts the restarts of a live target: what was learnt in an earlier one is void."""
        self.sources = SourcePath(self.options.source_path)
        self.fetcher = self._make_fetcher()
        cache = self.options.cache
        self.store = SymbolStore(self.options.effective_symbol_path, cache / "symbols", self.fetcher)
        catalogue = IsfCatalogue(self.options.effective_isf_directories, cache / "isf-catalogue.json")
        self.engine = SymbolEngine(target.memory, self.store, catalogue, cache / "indexes")
        dump = target.dump if isinstance(target, DumpTarget) else None
        self.kernel = Kernel(
            target,
            self.engine,
            index_cache=cache / "indexes",
            header=dump.header if dump is not None else None,
            triage=dump.triage if dump is not None else None,
            hints=target.hints if isinstance(target, LiveTarget) else None,
        )
        self.scope = Scope(processor=crash_processor(self.kernel))
        self.run = RunControl(self, target) if isinstance(target, LiveTarget) else None
        """Going on and stopping, if the target is live."""

    def _make_fetcher(self) -> Fetcher | None:
        if self.options.offline:
            return None
        from kdive.symbols.fetch import Fetcher

        return Fetcher(self.options.cache / "missing")

    @property
    def dump(self) -> DumpTarget | None:
        """The target as a dump, if it is one."""
        return self.target if isinstance(self.target, DumpTarget) else None

    @property
    def clock(self) -> Clock:
        """The target's clock: a dump's header has it, a running system shows it."""
        dump = self.dump
        if dump is not None:
            return Clock(dump.dump.header.time, dump.dump.header.uptime)
        return read_clock(self.kernel.memory)

    @property
    def pointer_size(self) -> int:
        """Bytes in a pointer of the target."""
        return 8

    def notices(self) -> list[str]:
        """What the user should know about the target's condition."""
        return [*self.target.notices(), *self.kernel.notices]

    def close(self) -> None:
        """Release the target; a live one runs on without breakpoints.

        Raises:
            KdiveError: It could not be left so; the message says how it was left.
        """
        trouble: KdiveError | None = None
        try:
            if self.run is not None:
                self.run.leave()
        except KdiveError as error:
            trouble = error
        try:
            self.target.close()
        except KdiveError as error:
            # The target knows best how it was left.
            raise error from trouble

    # --- scope -----------------------------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """Memory in the present scope: the address space chosen with ``.process``, else the kernel's."""
        return self.scope.memory or self.target.memory

    def set_process(self, process: Process | None) -> None:
        """Choose whose address space ``memory`` shows; None goes back to the default."""
        self.scope.process = process
        self.scope.memory = None if process is None else self.process_memory(process)
        self.scope.drop_stack()

    def process_memory(self, process: Process) -> Memory:
        """A process's address space; the target's memory where it has no page tables to walk."""
        base = self.target.memory
        root = process.directory_table_base
        if isinstance(base, TranslatedMemory) and self.dump is not None:
            return TranslatedMemory(base.physical, self.dump.page_tables(root))
        if isinstance(self.target, LiveTarget) and self.target.physical is not None:
            return TranslatedMemory(self.target.physical, self.target.page_tables(root))
        return base

    def set_context(self, context: RegisterContext | None, how: str) -> None:
        """Choose the registers that the stack starts from; None goes back to the processor's own."""
        self.scope.context = context
        self.scope.context_how = how
        self.scope.drop_stack()

    def set_processor(self, processor: int) -> None:
        """Look at another processor.

        Raises:
            KdiveError: Its registers are not in the target.
        """
        processor_context(self.kernel, processor)
        self.scope.processor = processor
        self.scope.thread = None
        self.set_context(None, "")

    def context(self) -> RegisterContext:
        """The registers in the present scope: of the selected frame, context record or processor.

        Raises:
            KdiveError: The target has none.
        """
        frame = self.scope.frame
        if frame:
            frames = self.stack()
            if frame < len(frames):
                return frames[frame].context
        return self.base_context()

    def base_context(self) -> RegisterContext:
        """The registers that the stack starts from."""
        if self.scope.context is not None:
            return self.scope.context
        return processor_context(self.kernel, self.scope.processor)

    @property
    def thread(self) -> Thread | None:
        """The thread in scope: chosen with ``.thread``, else what the processor was running."""
        if self.scope.thread is not None:
            return self.scope.thread
        default = crash_processor(self.kernel) == self.scope.processor
        if default and isinstance(self.target, LiveTarget) and self.target.thread:
            return self.stopped_thread
        return current_thread(self.kernel, None if default else self.scope.processor)

    @property
    def process(self) -> Process | None:
        """The process in scope: chosen with ``.process``, else that of the current thread."""
        return self.scope.process or self.current_process

    def stopped(self) -> None:
        """Take in that a live target has stopped: what was known of it as it stood before is void."""
        self.__dict__.pop("current_process", None)
        self.__dict__.pop("stopped_thread", None)
        self.scope = Scope(processor=crash_processor(self.kernel), process=self.scope.process, memory=self.scope.memory)
        if self.scope.process is not None:
            self.scope.memory = self.process_memory(self.scope.process)
        self.last_disassembly_address = None

    def restarted(self) -> None:
        """Take in that a live target has started anew: the kernel is looked for again."""
        target = self.target
        hints = target.hints if isinstance(target, LiveTarget) else None
        self.generation += 1
        self.scope = Scope()
        self.engine.set_modules([])
        self.kernel = Kernel(target, self.engine, index_cache=self.options.cache / "indexes", hints=hints)
        self.stopped()

    @cached_property
    def stopped_thread(self) -> Thread | None:
        """The thread that a live target says it stopped in."""
        target = self.target
        try:
            return thread_at(self.kernel, target.thread) if isinstance(target, LiveTarget) else None
        except KdiveError:
            return None

    @cached_property
    def current_process(self) -> Process | None:
        """The process that was running when the target stopped."""
        thread = self.stopped_thread if isinstance(self.target, LiveTarget) else None
        if thread is None:
            return current_process(self.kernel)
        try:
            return process_at(self.kernel, thread.process_address)
        except KdiveError:
            return None

    def special_register(self, name: str) -> int | None:
        """A control, debug or descriptor table register of the processor in scope; None if it is not known."""
        if not isinstance(self.target, LiveTarget):
            return None
        try:
            return self.target.special_registers(self.scope.processor).get(name)
        except KdiveError:
            return None

    def stack(self, limit: int = STACK_LIMIT) -> list[StackFrame]:
        """The call stack of the present context, walked once per scope."""
        cached = self.scope.stack
        if cached is None or (len(cached) >= self.scope.stack_limit and limit > self.scope.stack_limit):
            cached = self.walk_stack(self.base_context(), limit)
            self.scope.stack = cached
            self.scope.stack_limit = limit
        return cached[:limit]

    def walk_stack(self, context: RegisterContext, limit: int = STACK_LIMIT) -> list[StackFrame]:
        """Walk the call stack of any context."""
        from kdive.session.crash import trap_frame_context
        from kdive.session.frames import with_inline_frames
        from kdive.session.unwind import SessionUnwindHost
        from kdive.stack.unwinder import walk

        bounds = None
        thread = self.thread
        if thread is not None:
            try:
                low, high = thread.stack_bounds
                bounds = (low, high) if low <= context.sp < high else None
            except KdiveError:
                bounds = None
        host = SessionUnwindHost(self.memory, self.engine, lambda address: trap_frame_context(self, address))
        frames = walk(context, host, limit=limit, cancel=self.cancel, stack_bounds=bounds)
        return with_inline_frames(self.engine, frames)[:limit]
