"""What a stack frame is in: symbol, module, source line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.record import Record

if TYPE_CHECKING:
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame
    from kdive.symbols.interface import SourceLine


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
    after_call = frame.how != "context" and not frame.note.startswith("machine")
    return frame.ip - 1 if after_call else frame.ip


def frame_place(session: Session, frame: StackFrame) -> FramePlace:
    """Name the place of a frame."""
    address = lookup_address(frame)
    nearest = session.engine.nearest(address)
    if nearest is None:
        return FramePlace(f"0x{frame.ip:016x}")
    displacement = nearest.displacement + (frame.ip - address)
    symbol = f"{nearest.name}+{displacement:#x}" if displacement else nearest.name
    state = session.engine.state_at(address)
    symbols = state.symbols if state is not None else None
    source = symbols.line(address - nearest.module.base) if symbols is not None else None
    return FramePlace(symbol, nearest.module.name, source)
