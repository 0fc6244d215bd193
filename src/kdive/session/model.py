"""The debugger's objects as queries see them: sessions, processes, threads, modules, stacks.

Names follow Microsoft's data model (``Debugger.Sessions``, ``@$curprocess``). What is ours is an addition and never
gives one of their names another meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import ExpressionError
from kdive.expr.query.evaluator import Objects
from kdive.expr.query.model import ModelObject, Sequence, kind_of, numbered
from kdive.expr.values import Value
from kdive.nt.processes import find_process, find_thread, processes, threads
from kdive.nt.saved_context import thread_context
from kdive.nt.user_modules import user_modules
from kdive.session.frames import frame_place
from kdive.symbols.views import Struct, find_member, walk_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdive.expr.query.model import ModelValue
    from kdive.nt.processes import Process, Thread
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame
    from kdive.symbols.images import Module

_SYSTEM_PID = 4
_MAX_LINKS = 65536


class SessionModel:
    """Makes the objects of one session.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def objects(self, display: Callable[[ModelValue], str]) -> Objects:
        """Everything that a query can name."""
        return Objects(
            {"Debugger": self.debugger},
            {
                "cursession": self.session,
                "curprocess": self._current_process,
                "curthread": self._current_thread,
                "curstack": lambda: self._stack(self._session.stack),
                "curframe": self._current_frame,
            },
            display,
            self._session.cancel.check,
        )

    def debugger(self) -> ModelObject:
        """``Debugger``."""
        collections = ModelObject("", {}, {"FromListEntry": self._from_list_entry})
        return ModelObject(
            "Debugger",
            {
                "Sessions": lambda: numbered(lambda: iter([self.session()])),
                "Utility": lambda: ModelObject("", {"Collections": lambda: collections}),
            },
        )

    def session(self) -> ModelObject:
        """``@$cursession``."""
        target = self._session.target
        return ModelObject(
            f"{target.backend}: {target.description}",
            {
                "Processes": self.processes,
                "Modules": self.modules,
                "Id": lambda: Value(0),
                "Attributes": lambda: ModelObject(
                    "",
                    {
                        "Machine": lambda: target.machine,
                        "NumberProcessors": lambda: Value(target.processors),
                        "PageSize": lambda: Value(0x1000),
                        "KernelBase": lambda: Value(self._session.kernel.base or 0),
                    },
                ),
            },
        )

    def processes(self) -> Sequence:
        """Processes by their identifiers."""
        kernel = self._session.kernel

        def pairs() -> Iterator[tuple[int, ModelValue]]:
            for process in processes(kernel):
                yield process.pid, self.process(process)

        return Sequence(pairs, lookup=lambda pid: self.process(find_process(kernel, pid)))

    def process(self, process: Process) -> ModelObject:
        """A process."""
        kernel = self._session.kernel

        def pairs() -> Iterator[tuple[int, ModelValue]]:
            for thread in threads(kernel, process):
                yield thread.tid, self.thread(thread)

        return ModelObject(
            process.name,
            {
                "KernelObject": lambda: _placed(process.view),
                "Name": lambda: process.name,
                "Id": lambda: Value(process.pid),
                "ParentId": lambda: Value(process.parent_pid),
                "Peb": lambda: Value(process.peb),
                "Threads": lambda: Sequence(pairs, lookup=lambda tid: self.thread(find_thread(kernel, tid))),
                "Modules": lambda: self.modules() if process.pid == _SYSTEM_PID else self._user_modules(process),
            },
        )

    def thread(self, thread: Thread) -> ModelObject:
        """A thread."""
        return ModelObject(
            f"{thread.state.lower()}, {self._session.engine.name_of(thread.start_address) or ''}".rstrip(", "),
            {
                "KernelObject": lambda: _placed(thread.view),
                "Id": lambda: Value(thread.tid),
                "ProcessId": lambda: Value(thread.pid),
                "State": lambda: thread.state,
                "WaitReason": lambda: thread.wait_reason,
                "StartAddress": lambda: Value(thread.start_address),
                "Teb": lambda: Value(thread.teb),
                "Stack": lambda: self._stack(lambda: self._frames(thread)),
            },
        )

    def modules(self) -> Sequence:
        """The kernel's modules."""
        return numbered(lambda: (_module(module) for module in self._session.engine.modules))

    def _user_modules(self, process: Process) -> Sequence:
        session = self._session
        memory = session.process_memory(process)
        loader_type, entry = session.kernel.type("_PEB_LDR_DATA"), session.kernel.type("_LDR_DATA_TABLE_ENTRY")
        peb = Struct(memory, process.peb, session.kernel.type("_PEB"))
        if not process.peb:
            return numbered(lambda: iter(()))
        return numbered(
            lambda: (_module(module) for module in user_modules(memory, Struct(memory, peb["Ldr"], loader_type), entry))
        )

    def _current_process(self) -> ModelObject:
        process = self._session.process
        if process is None:
            raise ExpressionError("the current process is not known", hint="!process says what is missing")
        return self.process(process)

    def _current_thread(self) -> ModelObject:
        thread = self._session.thread
        if thread is None:
            raise ExpressionError("the current thread is not known", hint="!thread says what is missing")
        return self.thread(thread)

    def _frames(self, thread: Thread) -> list[StackFrame]:
        session = self._session
        current = session.thread
        if current is not None and current.address == thread.address:
            return session.stack()
        return session.walk_stack(thread_context(session.kernel, thread, None))

    def _stack(self, frames: Callable[[], list[StackFrame]]) -> ModelObject:
        def each() -> Iterator[ModelValue]:
            for index, frame in enumerate(frames()):
                yield self._frame(index, frame)

        return ModelObject("", {"Frames": lambda: numbered(each)})

    def _current_frame(self) -> ModelObject:
        frames, number = self._session.stack(), self._session.scope.frame
        if number >= len(frames):
            raise ExpressionError("there is no current frame")
        return self._frame(number, frames[number])

    def _frame(self, index: int, frame: StackFrame) -> ModelObject:
        place = frame_place(self._session, frame)
        return ModelObject(
            place.symbol,
            {
                "FrameNumber": lambda: Value(index),
                "InstructionOffset": lambda: Value(frame.ip),
                "StackOffset": lambda: Value(frame.child_sp),
                "Symbol": lambda: place.symbol,
                "Module": lambda: place.module,
                "SourceFile": lambda: place.source.file if place.source is not None else None,
                "SourceLine": lambda: Value(place.source.line) if place.source is not None else None,
                "How": lambda: frame.how,
            },
        )

    def _from_list_entry(
        self, head: ModelValue = None, type_name: ModelValue = None, link: ModelValue = None
    ) -> Sequence:
        if not isinstance(head, Value) or not isinstance(type_name, str) or not isinstance(link, str):
            raise ExpressionError(
                f"FromListEntry takes the list's head, a type and a member, not {kind_of(head)}, {kind_of(type_name)} "
                f"and {kind_of(link)}",
                hint='FromListEntry(&nt!PsActiveProcessHead, "nt!_EPROCESS", "ActiveProcessLinks")',
            )
        layout = self._session.engine.struct_type(type_name)
        offset = find_member(layout, link)[0]
        memory = self._session.memory
        start = head.address if head.address is not None else head.number

        def elements() -> Iterator[ModelValue]:
            for address in walk_list(memory, start, _MAX_LINKS):
                yield Value(address - offset, layout, address - offset)

        return numbered(elements)


def _placed(view: Struct) -> Value:
    return Value(view.address, view.type, view.address)


def _module(module: Module) -> ModelObject:
    return ModelObject(
        module.image_name,
        {
            "Name": lambda: module.name,
            "ImageName": lambda: module.image_name,
            "Path": lambda: module.path,
            "BaseAddress": lambda: Value(module.base),
            "Size": lambda: Value(module.size),
            "TimeDateStamp": lambda: Value(module.timestamp),
            "CheckSum": lambda: Value(module.checksum),
        },
    )
