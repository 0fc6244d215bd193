"""The owner thread: the one thread that touches a session.

Front ends hand it jobs and wait for the reply, or are called back. A job carries a cancel token, which becomes the
session's token while the job runs; a deadline starts to run when the job is handed in.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, DeadlineError, KdiveError, StaleHandleError
from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

T = TypeVar("T")

POLL_SECONDS = 0.1
"""How often a waiting thread looks up, so that Ctrl+C reaches it on every system."""


class Job(Record, Generic[T]):
    """A piece of work on the owner thread.

    Attributes:
        work: What to do.
        token: Cancels it.
        future: Gets the result or the exception.
    """

    work: Callable[[], T]
    token: CancelToken
    future: Future[T] = field(default_factory=lambda: Future[T]())

    def cancel(self) -> None:
        """Ask the job to stop; its reply is then usually a ``CancelledError``."""
        self.token.cancel()

    def wait(self, timeout: float | None = None) -> T:
        """Wait for the reply.

        Args:
            timeout: Seconds to wait at most; the job is not cancelled when they are over.

        Raises:
            DeadlineError: The time is over.
            Exception: Whatever the work raised.
        """
        if timeout is not None:
            try:
                return self.future.result(timeout)
            except FutureTimeoutError:
                if self.future.done():
                    raise
                raise DeadlineError from None
        while True:
            try:
                return self.future.result(POLL_SECONDS)
            except FutureTimeoutError:
                if self.future.done():
                    raise


class Owner:
    """The thread that owns a session.

    The target is opened, used and closed on it. At most one session is there at a time.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._session: Session | None = None
        self._running: Job[Any] | None = None
        self._stopped = False
        self.trouble: Exception | None = None
        """What went wrong when the session was closed at the end of the thread."""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="kdive-owner", daemon=True)
        self._thread.start()

    @property
    def session(self) -> Session:
        """The session; only for use in jobs.

        Raises:
            StaleHandleError: There is none.
        """
        if self._session is None:
            raise StaleHandleError("the debugger session is closed")
        return self._session

    @property
    def token(self) -> CancelToken:
        """The token of the job that is running; only for use in jobs."""
        running = self._running
        return running.token if running is not None else CancelToken()

    @property
    def active(self) -> bool:
        """Whether a session is open."""
        return self._session is not None

    def submit(self, work: Callable[[], T], timeout: float | None = None) -> Job[T]:
        """Queue a job.

        Args:
            work: What to do on the owner thread.
            timeout: Seconds after which the job's token is over.

        Raises:
            StaleHandleError: The owner has been stopped.
        """
        job = Job(work, CancelToken(timeout))
        with self._lock:
            if self._stopped:
                raise StaleHandleError("the debugger session is closed")
            self._jobs.put(job)
        return job

    def call(self, work: Callable[[], T], timeout: float | None = None) -> T:
        """Run a job and wait for its reply; an interrupt of the waiting thread cancels the job.

        Raises:
            KeyboardInterrupt: A second interrupt came before the job had noticed the first.
            Exception: Whatever the work raised; ``CancelledError`` after an interrupt.
        """
        if threading.current_thread() is self._thread:
            return work()
        job = self.submit(work, timeout)
        try:
            return job.wait()
        except KeyboardInterrupt:
            if job.future.done():
                raise
            job.cancel()
            return job.wait()

    def interrupt(self) -> None:
        """Cancel the job that is running, if there is one."""
        running = self._running
        if running is not None:
            running.cancel()

    def open(self, opener: Callable[[], Session], timeout: float | None = None) -> Session:
        """Open a session on the owner thread.

        Raises:
            KdiveError: It cannot be opened.
        """
        return self.call(lambda: self.adopt(opener()), timeout)

    def adopt(self, session: Session) -> Session:
        """Take over a session that was opened in a job; the one before is closed. Only for use in jobs.

        Raises:
            CancelledError: The job was cancelled while the session was being opened; the session is closed again.
        """
        self._close_session()
        if self._running is not None:
            try:
                self._running.token.check()
            except CancelledError:
                with contextlib.suppress(KdiveError):
                    session.close()
                raise
            session.cancel = self._running.token
        self._session = session
        return session

    def close(self, timeout: float | None = None) -> None:
        """Close the session, if there is one; the owner lives on."""
        self.call(self._close_session, timeout)

    def stop(self, timeout: float = 5.0) -> bool:
        """Cancel the running job, close the session and end the thread.

        Args:
            timeout: Seconds to wait for the thread.

        Returns:
            Whether the thread has ended.
        """
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._jobs.put(None)
        running = self._running
        if running is not None:
            running.cancel()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                break
            self._perform(job)
        try:
            self._close_session()
        except Exception as error:  # noqa: BLE001 (kept for whoever ended the thread)
            self.trouble = error

    def _perform(self, job: Job[Any]) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        self._running = job
        if self._session is not None:
            self._session.cancel = job.token
        try:
            if self._stopped:
                job.token.cancel()
            job.token.check()
            reply = job.work()
        except BaseException as error:  # noqa: BLE001 (handed to whoever waits)
            self._running = None
            job.future.set_exception(error)
        else:
            self._running = None
            job.future.set_result(reply)
