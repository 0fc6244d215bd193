"""Which processors are to run one instruction and have not said yet that they did.

KD lets all processors go on together: while one runs its instruction another may stop the target first. The first then
reports its step some stops later, when perhaps nobody waits for it any more.
"""

from __future__ import annotations

from typing import Literal

from kdive.wire.kd.states import STATUS_BREAKPOINT, STATUS_SINGLE_STEP, ExceptionStop

_TRACE_FLAG = 0x100

Outcome = Literal["step", "passed", "again", "stop"]


class Tracing:
    """The processors whose trace flag is set.

    Attributes:
        wanted: The processor whose step somebody has asked for and waits for; None if nobody does.
    """

    def __init__(self) -> None:
        self.wanted: int | None = None
        self._over: dict[int, list[int | None]] = {}

    def start(self, processor: int, over: int | None) -> None:
        """A processor is sent on with its trace flag set.

        Args:
            processor: Which.
            over: The address of the breakpoint that was taken out so that it can move, None if it stands at none.
        """
        self._over.setdefault(processor, []).append(over)

    def finish(self, processor: int) -> int | None:
        """A processor has said that it moved, or stands where its trace flag is seen; return what it was to pass."""
        pending = self._over.get(processor)
        return pending.pop() if pending else None

    def clear(self) -> None:
        """No processor is traced any more."""
        self._over.clear()
        self.wanted = None

    def judge(self, event: ExceptionStop, *, watched: bool) -> Outcome:
        """Say what a stop means.

        Args:
            event: The stop.
            watched: Whether a debug register fired.

        Returns:
            ``step``: the end of the step that somebody waits for; ``passed``: the end of one that nobody does;
            ``again``: the processor met the breakpoint that it was to pass, because it had been put back meanwhile;
            ``stop``: something else.
        """
        if not self._over.get(event.processor) or not _shows_flag(event):
            # Without the flag this is an interrupt's code: the flag is in what it interrupted, and takes effect there.
            return "stop"
        over = self.finish(event.processor)
        if event.code == STATUS_SINGLE_STEP and not watched:
            if self.wanted != event.processor:
                return "passed"
            self.wanted = None
            return "step"
        if event.code == STATUS_BREAKPOINT and event.program_counter == over:
            return "again"
        return "stop"


def _shows_flag(event: ExceptionStop) -> bool:
    """Whether the flag belongs to what is reported: the flags of a single step are reported without it."""
    if event.code == STATUS_SINGLE_STEP or event.control is None:
        return True
    return bool(event.control.registers.get("efl", _TRACE_FLAG) & _TRACE_FLAG)
