"""What a stack frame is in: symbol, module, source line, and the calls that were inlined there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.record import Record
from kdive.stack.unwinder import StackFrame

if TYPE_CHECKING:
    from kdive.session.session import Session
    from kdive.symbols.engine import SymbolEngine
    from kdive.symbols.interface import SourceLine


class CallFrame(StackFrame, frozen=True):
    """A frame of code with inlined calls: one of these calls, or the function that they were inlined into.

    Attributes:
        inlined: The inlined function; empty for the function around.
        line: Where it executes, None if not recorded.
        address: What its symbol is looked up by.
    """

    inlined: str = ""
    line: SourceLine | None = None
    address: int = 0


class FramePlace(Record, frozen=True):
    """Where a frame executes.

    Attributes:
        symbol: ``mod!name+0x…``, or an address outside every module.
        module: Module name, None outside every module.
        source: Source line, None if unknown.
    """

    symbol: str
    module: str | None = None
    source: SourceLine | None = None


def lookup_address(frame: StackFrame) -> int:
    """The address that a frame's symbol is looked up by.

    A return address points behind its call, which may be the next function already: the call itself lies one below.
    """
    if isinstance(frame, CallFrame):
        return frame.address
    interrupted = frame.how == "context" or frame.note.startswith("machine")
    return frame.ip if interrupted else frame.ip - 1


def with_inline_frames(engine: SymbolEngine, frames: list[StackFrame]) -> list[StackFrame]:
    """Put inlined calls into a walked stack, each before the frame whose code it became part of."""
    found: list[StackFrame] = []
    for frame in frames:
        address = lookup_address(frame)
        state = engine.state_at(address)
        symbols = engine.symbols_of(state) if state is not None else None
        calls = symbols.inline_frames(address - state.module.base) if symbols is not None and state is not None else ()
        if not calls:
            found.append(frame)
            continue
        found += [
            CallFrame(frame.child_sp, frame.ip, "inline", frame.context, "", call.name, call.line, address)
            for call in calls
        ]
        around = calls[-1].call_line
        found.append(CallFrame(frame.child_sp, frame.ip, frame.how, frame.context, frame.note, "", around, address))
    return found


def frame_place(session: Session, frame: StackFrame) -> FramePlace:
    """Name the place of a frame."""
    address = lookup_address(frame)
    nearest = session.engine.nearest(address)
    if nearest is None:
        return FramePlace(f"0x{frame.ip:016x}")
    module = nearest.module.name
    if isinstance(frame, CallFrame) and frame.inlined:
        return FramePlace(f"{module}!{frame.inlined}", module, frame.line)
    displacement = nearest.displacement + (frame.ip - address)
    symbol = f"{nearest.name}+{displacement:#x}" if displacement else nearest.name
    if isinstance(frame, CallFrame):
        return FramePlace(symbol, module, frame.line)
    state = session.engine.state_at(address)
    symbols = state.symbols if state is not None else None
    source = symbols.line(address - nearest.module.base) if symbols is not None else None
    return FramePlace(symbol, module, source)
