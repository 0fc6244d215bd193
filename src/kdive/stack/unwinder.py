"""Walking the call stack.

Each frame is unwound with the image's own unwind data. Where an image is not at hand (a triage dump holds no code, and
the symbol path may lack the file) the walker falls back, and says so on every frame that it finds that way: on ARM64
to the chain of frame records that the platform's calling convention keeps, and else to a stack scan, which looks for
return addresses among the words above the stack pointer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kdive.addr import MASK64
from kdive.arch.context import RegisterContext
from kdive.errors import FormatError, MemoryAccessError
from kdive.record import Record
from kdive.stack.scan import Candidate, follows_call_arm64, scan

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.stack.host import UnwindHost, UnwindModule

How = Literal["context", "unwind", "inline", "chain", "scan"]
_KERNEL_STACK_SIZE = 0x6000
_MAX_FRAME = 1 << 20
_FIRST_ADDRESS = 0x10000
_MAX_PDATA = 16 << 20


class StackFrame(Record, frozen=True):
    """A frame.

    Attributes:
        child_sp: Stack pointer in the frame.
        ip: Instruction pointer in the frame.
        how: How the frame was found: it is the ``context`` that the walk began with, or came of unwind data, of the
            ``chain`` of frame pointers, or of a ``scan``.
        context: Registers in the frame: those that are known. A scan finds only the instruction and the stack pointer,
            the chain the frame pointer too.
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
    walker = _Walker(host, stack_bounds, cancel)
    frames = [StackFrame(context.sp, context.ip, "context", context)]
    seen = {(context.sp, context.ip)}
    while len(frames) < limit:
        if cancel is not None:
            cancel.check()
        following = walker.caller(frames[-1], innermost=len(frames) == 1)
        # Machine frames may lead anywhere, so also in a circle.
        if following is None or (following.child_sp, following.ip) in seen:
            break
        seen.add((following.child_sp, following.ip))
        frames.append(following)
    return frames


def _may_be_code(address: int) -> bool:
    """Whether an address is canonical, and not among the first ones that no program uses."""
    return address >= _FIRST_ADDRESS and address >> 47 in (0, 0x1FFFF)


class _Walker:
    def __init__(self, host: UnwindHost, bounds: tuple[int, int] | None, cancel: CancelToken | None) -> None:
        self._host = host
        self._bounds = bounds
        self._cancel = cancel
        self._guessed = False
        self._pdata: dict[int, bytes] = {}

    def caller(self, frame: StackFrame, *, innermost: bool) -> StackFrame | None:
        """Find the frame that called one."""
        self._guessed |= frame.how == "scan"
        note = ""
        try:
            found = self._unwind(frame, innermost=innermost)
        except (FormatError, MemoryAccessError) as error:
            found = None
            note = error.what
        if found is not None:
            context, how_note = found
            if self._sane(frame, context, how_note):
                if self._host.module_at(context.ip) is None:
                    how_note = how_note or "outside every module"
                return StackFrame(context.sp, context.ip, "unwind", context, how_note)
            if not context.ip:
                return None
            note = f"unwinding led to {context.ip:#x}"
        if frame.context.machine == "arm64":
            if frame.how == "chain" and not frame.context.values.get("fp"):
                return None
            chained = self._chain(frame, note, innermost=innermost)
            if chained is not None:
                return chained
        return self._scan(frame, note, innermost=innermost)

    def _sane(self, frame: StackFrame, context: RegisterContext, note: str) -> bool:
        if self._host.module_at(context.ip) is None and (self._guessed or not _may_be_code(context.ip)):
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
        unwinder = Unwinder(self._host.memory, module.read_image, module.base, pdata)
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
            unwinder = Unwinder(self._host.memory, module.read_image, module.base, self._host.trap_frame)
            stepped = unwinder.step(context, function)
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
        state.values["rsp"] = (context.sp + 8) & MASK64
        return state, "leaf"

    def _bad_call(self, context: RegisterContext) -> tuple[RegisterContext, str] | None:
        """A call through a wrong pointer: the processor stands nowhere, but the return address is on the stack."""
        if context.machine == "arm64":
            from kdive.arch.arm64.unwind import strip_pointer_authentication

            state = context.copy()
            state.values["pc"] = strip_pointer_authentication(state.values.get("lr", 0))
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

    def _chain(self, frame: StackFrame, note: str, *, innermost: bool) -> StackFrame | None:
        """Follow the frame pointer (ARM64): it points at the caller's frame pointer and the return address.

        The stack pointer of the caller is not known that way; the end of the record, where it is at least, stands for
        it.
        """
        from kdive.arch.arm64.unwind import strip_pointer_authentication

        values = frame.context.values
        record = values.get("fp", 0)
        link = strip_pointer_authentication(values.get("lr", 0))
        if innermost and self._in_leaf(frame.ip, link):
            context = frame.context.copy()
            context.values["pc"] = link
            return StackFrame(context.sp, link, "chain", context, "link register")
        low, high = frame.child_sp, frame.child_sp + _MAX_FRAME
        if self._bounds is not None and self._bounds[0] <= low < self._bounds[1]:
            high = min(high, self._bounds[1])
        raw = self._host.memory.read_prefix(record, 16) if low <= record < high and not record & 7 else b""
        if len(raw) < 16:
            return None
        above, link = int.from_bytes(raw[:8], "little"), strip_pointer_authentication(int.from_bytes(raw[8:], "little"))
        if (above and above <= record) or not self._may_return_to(link):
            return None
        context = RegisterContext("arm64", {"pc": link, "fp": above, "sp": (record + 16) & MASK64})
        return StackFrame(context.sp, link, "chain", context, note or "frame pointer chain")

    def _may_return_to(self, address: int) -> bool:
        module = self._host.module_at(address)
        if module is None or address & 3:
            return False
        before = module.read_image(address - module.base - 4, 4) if address - module.base >= 4 else b""
        return len(before) < 4 or follows_call_arm64(before)

    def _in_leaf(self, ip: int, link: int) -> bool:
        """Whether a function has called nothing yet: the link register still leads out of it."""
        here, there = self._host.nearest_symbol(ip), self._host.nearest_symbol(link - 4)
        known = here is not None and there is not None and here[0] != there[0]
        return known and self._may_return_to(link)

    def _at_function_entry(self, ip: int) -> bool:
        nearest = self._host.nearest_symbol(ip)
        return nearest is not None and not nearest[1]

    def _scan(self, frame: StackFrame, note: str, *, innermost: bool) -> StackFrame | None:
        low = frame.child_sp
        high = low + _KERNEL_STACK_SIZE
        if self._bounds is not None and self._bounds[0] <= low < self._bounds[1]:
            high = self._bounds[1]
        is_arm = frame.context.machine == "arm64"
        found: Candidate | None = None
        if innermost and not is_arm and self._at_function_entry(frame.ip):
            # Nothing is pushed yet: what lies on top of the stack is the return address, whatever it looks like.
            top = int.from_bytes(self._host.memory.read_prefix(low, 8), "little")
            if self._host.module_at(top) is not None:
                found, note = Candidate(low, top, 3), "top of the stack at a function's entry"
        if found is None:
            # A guess must not hide what lies close behind it.
            after_call = frame.how == "unwind" and not self._exact(frame)
            found = scan(self._host, frame.context.machine, low & ~7, high, after_call=after_call, cancel=self._cancel)
        if found is None:
            return None
        names = ("pc", "sp") if is_arm else ("rip", "rsp")
        stack_pointer = found.stack_pointer or (found.address + 8) & MASK64
        context = RegisterContext(frame.context.machine, dict(zip(names, (found.value, stack_pointer), strict=True)))
        if found.stack_pointer:
            note = "machine frame found by scan"
        return StackFrame(context.sp, found.value, "scan", context, note or "stack scan")
