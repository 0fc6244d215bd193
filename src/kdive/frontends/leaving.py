"""Leaving: whatever ends the program, a live target is let go in order.

Its breakpoints come out first, then it runs on. Signals that would end the program at once end it through the same
door, and further ones wait until it is done.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any

from kdive.errors import KdiveError
from kdive.render.console import error_text

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from kdive.session.owner import Owner

LEAVE_DEADLINE = 10.0
"""Seconds that a target is given to be let go."""
_ENDING = ("SIGTERM", "SIGHUP", "SIGBREAK")
_INTERRUPTS = ("SIGINT", *_ENDING)


@contextlib.contextmanager
def ends_in_order(owner: Owner) -> Generator[None]:
    """While a target may be attached: let it go on the way out, also when a signal ends the program.

    Raises:
        SystemExit: A signal came; the status says which.
    """
    kept = _handle(_ENDING, _end)
    try:
        yield
    finally:
        kept = _handle(_INTERRUPTS, _wait) | kept
        try:
            let_go(owner)
        finally:
            for number, before in kept.items():
                signal.signal(number, before)


def let_go(owner: Owner) -> bool:
    """End the session; say on standard error how a live target was left if it is not running and whole."""
    if not owner.stop(LEAVE_DEADLINE):
        _say(
            f"error: the target was not let go within {LEAVE_DEADLINE:g} s: it may stand still, or have breakpoints\n"
            "hint: attach again: what was left is taken out, and it goes on\n"
        )
        return False
    trouble = owner.trouble
    if trouble is None:
        return True
    told = error_text(trouble).plain() if isinstance(trouble, KdiveError) else f"error: {trouble}"
    _say(f"{told}\n")
    return False


def _say(text: str) -> None:
    # The terminal may be gone.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)


def _wait(number: int, frame: FrameType | None) -> None:
    del number, frame


def _handle(names: tuple[str, ...], handler: Any) -> dict[int, Any]:
    """Handle signals, and return how they were handled; those that are ignored stay so."""
    before: dict[int, Any] = {}
    for name in names:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            before[number] = signal.signal(number, handler)
        except ValueError:
            # Not on the main thread (as in tests): the caller ends by other means.
            return before
    return before
