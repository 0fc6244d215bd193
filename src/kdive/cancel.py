"""Cancellation and deadlines.

A :class:`CancelToken` travels with every job. Long loops call :meth:`CancelToken.check` at each bounded step, so that
Ctrl+C or a client's cancel request ends the job within one step.
"""

from __future__ import annotations

import threading
import time

from kdive.errors import CancelledError, DeadlineError


class CancelToken:
    """A flag that one thread sets and another looks at, with an optional deadline.

    Args:
        timeout: Seconds from now after which :meth:`check` raises, or None for no deadline.
    """

    def __init__(self, timeout: float | None = None) -> None:
        self._event = threading.Event()
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def cancel(self) -> None:
        """Ask the holder to stop at its next check."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise if the job was cancelled or ran out of time.

        Raises:
            CancelledError: :meth:`cancel` was called.
            DeadlineError: The deadline has passed.
        """
        if self._event.is_set():
            raise CancelledError
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise DeadlineError

    def wait(self, seconds: float) -> None:
        """Sleep, but wake up and raise when cancelled.

        Raises:
            CancelledError: :meth:`cancel` was called during the wait.
            DeadlineError: The deadline passed during the wait.
        """
        end = time.monotonic() + seconds
        if self._deadline is not None:
            end = min(end, self._deadline)
        self._event.wait(max(0.0, end - time.monotonic()))
        self.check()
