"""What the user is looking at: processor, thread, process, context record, frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.record import Record

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.memory.interface import Memory
    from kdive.nt.processes import Process, Thread
    from kdive.stack.unwinder import StackFrame


class Scope(Record):
    """The present scope.

    Attributes:
        processor: Processor number.
        thread: Thread chosen with ``.thread``.
        process: Process chosen with ``.process``.
        memory: Its address space.
        context: Registers chosen with ``.cxr``, ``.trap``, ``.ecxr`` or ``.thread``.
        context_how: Which of them, with its argument.
        frame: Index of the selected frame.
        stack: The walked stack, until the scope changes.
        stack_limit: How many frames were asked for when it was walked.
    """

    processor: int = 0
    thread: Thread | None = None
    process: Process | None = None
    memory: Memory | None = None
    context: RegisterContext | None = None
    context_how: str = ""
    frame: int = 0
    stack: list[StackFrame] | None = None
    stack_limit: int = 0

    def drop_stack(self) -> None:
        """Forget the walked stack and the selected frame."""
        self.stack = None
        self.frame = 0
