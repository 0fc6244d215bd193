"""Walking the call stack.

Each frame is unwound with the image's own unwind data. Where an image is not at hand (a triage dump holds no code, and
the symbol path may lack the file) the walker falls back to a stack scan: it looks for return addresses among the words
above the stack pointer, and says so on every frame that it finds that way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kdive.errors import FormatError, MemoryAccessError
from kdive.stack.scan import Candidate, scan

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.cancel import CancelToken
    from kdive.stack.host import UnwindHost, UnwindModule

How = Literal["context", "unwind", "inline", "scan"]
_KERNEL_STACK_SIZE = 0x6000
_MAX_PDATA = 16 << 20


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A frame.

    Attributes:
        child_sp: Stack pointer in the frame.
        ip: Instruction pointer in the frame.
        how: How the frame was found.
        context: Registers in the frame; after a scan only the instruction and stack pointer mean anything.
        note: More about how it was found.
    """

    child_sp: int
    ip: int
    how: How
    context: RegisterContext
    note: str = ""


class NoUnwindDataError(FormatError):
    """The frame's image, or its unwind data, is not at hand."""


def walk(
    context: RegisterContext,
    host: UnwindHost,
    *,
    limit: int = 256,
    cancel: CancelToken | None = None,
    stack_bounds: tuple[int, int] | None = None,
) -> list[StackFrame]:
    """Walk the stack from a context.

    The walk ends at the limit, where the stack does not grow, or where nothing more is found. Memory that cannot be
    read ends it too; it is no error.

    Args:
        context: Registers of the innermost frame.
        host: Memory, images and symbols.
        limit: Most frames to return.
        cancel: Checked at each frame.
        stack_bounds: ``(lowest, end)`` of the stack, if known.
    """
    walker = _Walker(host, stack_bounds)
    frames = [StackFrame(context.sp, context.ip, "context", context)]
    while len(frames) < limit:
        if cancel is not None:
            cancel.check()
        following = walker.caller(frames[-1], innermost=len(frames) == 1)
        if following is None:
            break
        frames.append(following)
    return frames


class _Walker:
    def __init__(self, host: UnwindHost, bounds: tuple[int, int] | None) -> None:
        self._host = host
        self._bounds = bounds
        self._pdata: dict[int, bytes] = {}

    def caller(self, frame: StackFrame, *, innermost: bool) -> StackFrame | None:
        """Find the frame that called one."""
        note = ""
        try:
            found = self._unwind(frame, innermost=innermost)
        except (FormatError, MemoryAccessError) as error:
            found = None
            note = error.what
        if found is not None:
            context, how_note = found
            if self._sane(frame, context, how_note):
                return StackFrame(context.sp, context.ip, "unwind", context, how_note)
            if not context.ip:
                return None
            note = f"unwinding led to {context.ip:#x}"
        return self._scan(frame, note)

    def _sane(self, frame: StackFrame, context: RegisterContext, note: str) -> bool:
        if self._host.module_at(context.ip) is None:
            return False
        # A machine frame may lead to another stack; a leaf on ARM64 keeps its stack pointer.
        if note.startswith("machine"):
            return True
        return context.sp > frame.child_sp or (context.sp == frame.child_sp and context.ip != frame.ip)

    def _unwind(self, frame: StackFrame, *, innermost: bool) -> tuple[RegisterContext, str] | None:
        """Unwind with unwind data; None if the frame's image is not known."""
        ip = frame.ip
        module = self._host.module_at(ip)
        if module is None:
            return self._bad_call(frame.context) if innermost else None
        pdata = self._exception_table(module)
        if not pdata:
            raise NoUnwindDataError(f"no unwind data of {module.name}")
        if frame.context.machine == "arm64":
            return self._step_arm64(frame, module, pdata, innermost=innermost)
        return self._step_amd64(frame, module, pdata, innermost=innermost)

    def _step_amd64(
        self, frame: StackFrame, module: UnwindModule, pdata: bytes, *, innermost: bool
    ) -> tuple[RegisterContext, str] | None:
        from kdive.arch.amd64.unwind import Unwinder, find_function

        rva = frame.ip - module.base
        # A call may be the last instruction of its function: its return address then belongs to the next one.
        function = find_function(pdata, rva if self._exact(frame) else rva - 1)
        if function is None:
            if not innermost and not frame.note.startswith("machine"):
                raise NoUnwindDataError(f"{module.name} has no unwind data for {frame.ip:#x}")
            return self._leaf_amd64(frame.context)
        unwinder = Unwinder(self._host.memory, module.read_image, module.base)
        context, machine = unwinder.step(frame.context, function)
        return context, "machine frame" if machine else ""

    def _step_arm64(
        self, frame: StackFrame, module: UnwindModule, pdata: bytes, *, innermost: bool
    ) -> tuple[RegisterContext, str] | None:
        from kdive.arch.arm64.unwind import Unwinder, find_function, strip_pointer_authentication

        exact = self._exact(frame)
        rva = frame.ip - module.base
        function = find_function(pdata, rva if exact else rva - 4)
        stepped = None
        if function is not None:
            context = frame.context
            if not exact:
                context = context.copy()
                context.values["pc"] = frame.ip - 4
            stepped = Unwinder(self._host.memory, module.read_image, module.base).step(context, function)
        if stepped is None:
            if not innermost and not frame.note.startswith("machine"):
                raise NoUnwindDataError(f"{module.name} has no unwind data for {frame.ip:#x}")
            state = frame.context.copy()
            state.values["pc"] = strip_pointer_authentication(state.values.get("lr", 0))
            return state, "leaf"
        return stepped[0], "machine frame" if stepped[1] else ""

    @staticmethod
    def _exact(frame: StackFrame) -> bool:
        """Whether the instruction pointer is where the processor stood, not a return address."""
        return frame.how == "context" or frame.note.startswith("machine")

    def _leaf_amd64(self, context: RegisterContext) -> tuple[RegisterContext, str]:
        state = context.copy()
        state.values["rip"] = self._host.memory.u64(context.sp)
        state.values["rsp"] = context.sp + 8
        return state, "leaf"

    def _bad_call(self, context: RegisterContext) -> tuple[RegisterContext, str] | None:
        """A call through a wrong pointer: the processor stands nowhere, but the return address is on the stack."""
        if context.machine == "arm64":
            state = context.copy()
            state.values["pc"] = state.values.get("lr", 0)
            return state, "call to an address outside every module"
        state, _ = self._leaf_amd64(context)
        return state, "call to an address outside every module"

    def _exception_table(self, module: UnwindModule) -> bytes:
        if module.base not in self._pdata:
            rva, size = module.exception_directory()
            data = module.read_image(rva, min(size, _MAX_PDATA)) if rva and size else b""
            # Part of a table would send the bisection astray.
            self._pdata[module.base] = data if len(data) == min(size, _MAX_PDATA) else b""
        return self._pdata[module.base]

    def _scan(self, frame: StackFrame, note: str) -> StackFrame | None:
        low = frame.child_sp
        high = low + _KERNEL_STACK_SIZE
        if self._bounds is not None and self._bounds[0] <= low < self._bounds[1]:
            high = self._bounds[1]
        found: Candidate | None = scan(self._host, frame.context.machine, low & ~7, high)
        if found is None:
            return None
        context = frame.context.copy()
        is_arm = context.machine == "arm64"
        context.values["pc" if is_arm else "rip"] = found.value
        context.values["sp" if is_arm else "rsp"] = found.stack_pointer or found.address + 8
        if found.stack_pointer:
            note = "machine frame found by scan"
        return StackFrame(context.sp, found.value, "scan", context, note or "stack scan")
