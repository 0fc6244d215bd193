"""The owner thread: one thread, jobs with deadlines, cancellation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from kdive.cancel import CancelToken
from kdive.errors import CancelledError, DeadlineError, StaleHandleError
from kdive.session.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.session.session import Session


class FakeSession:
    """Stands in for a session: notes the threads that touch it."""

    def __init__(self) -> None:
        self.cancel = CancelToken()
        self.closed_on: int | None = None

    def close(self) -> None:
        self.closed_on = threading.get_ident()


def as_session(fake: FakeSession) -> Session:
    return cast("Any", fake)


@pytest.fixture
def owner() -> Iterator[Owner]:
    made = Owner()
    yield made
    assert made.stop(30)


def test_all_jobs_run_on_one_thread_that_is_not_the_callers(owner: Owner) -> None:
    threads = {owner.call(threading.get_ident) for _ in range(5)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_results_and_exceptions_come_back(owner: Owner) -> None:
    assert owner.call(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        owner.call(lambda: 1 // 0)
    assert owner.call(lambda: "alive") == "alive"


def test_a_job_may_call_the_owner_again(owner: Owner) -> None:
    assert owner.call(lambda: owner.call(lambda: 7)) == 7


def test_a_session_is_opened_used_and_closed_on_the_owner_thread(owner: Owner) -> None:
    made: list[tuple[FakeSession, int]] = []

    def opener() -> Session:
        made.append((FakeSession(), threading.get_ident()))
        return as_session(made[0][0])

    owner.open(opener)
    assert owner.active
    fake, thread = made[0]
    assert thread == owner.call(threading.get_ident)
    owner.close()
    assert fake.closed_on == thread
    assert not owner.active
    with pytest.raises(StaleHandleError):
        owner.call(lambda: owner.session)


def test_opening_a_second_session_closes_the_first(owner: Owner) -> None:
    first, second = FakeSession(), FakeSession()
    owner.open(lambda: as_session(first))
    owner.open(lambda: as_session(second))
    assert first.closed_on is not None
    assert second.closed_on is None


def test_every_job_has_a_fresh_token(owner: Owner) -> None:
    fake = FakeSession()
    owner.open(lambda: as_session(fake))
    tokens = [owner.call(lambda: fake.cancel) for _ in range(2)]
    assert tokens[0] is not tokens[1]


def test_a_cancelled_job_stops_and_the_next_one_runs(owner: Owner) -> None:
    fake, started = FakeSession(), threading.Event()
    owner.open(lambda: as_session(fake))

    def work() -> None:
        started.set()
        fake.cancel.wait(3600)

    job = owner.submit(work)
    assert started.wait(30)
    owner.interrupt()
    with pytest.raises(CancelledError):
        job.wait(30)
    assert owner.call(lambda: fake.cancel.cancelled) is False


def test_a_deadline_ends_a_job(owner: Owner) -> None:
    fake = FakeSession()
    owner.open(lambda: as_session(fake))
    with pytest.raises(DeadlineError):
        owner.call(lambda: fake.cancel.wait(3600), timeout=0.01)


def test_a_job_cancelled_in_the_queue_is_not_begun(owner: Owner) -> None:
    started, go_on, ran = threading.Event(), threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        go_on.wait(30)

    first = owner.submit(block)
    assert started.wait(30)
    second = owner.submit(ran.set)
    second.cancel()
    go_on.set()
    first.wait(30)
    with pytest.raises(CancelledError):
        second.wait(30)
    assert not ran.is_set()


def test_waiting_for_a_while_does_not_cancel(owner: Owner) -> None:
    go_on = threading.Event()
    job = owner.submit(lambda: go_on.wait(30))
    with pytest.raises(DeadlineError):
        job.wait(0.01)
    go_on.set()
    assert job.wait(30) is True


def test_a_session_whose_opening_was_cancelled_is_closed_again(owner: Owner) -> None:
    fake, begun, go_on = FakeSession(), threading.Event(), threading.Event()

    def opener() -> Session:
        begun.set()
        go_on.wait(30)
        return as_session(fake)

    job = owner.submit(lambda: owner.adopt(opener()))
    assert begun.wait(30)
    job.cancel()
    go_on.set()
    with pytest.raises(CancelledError):
        job.wait(30)
    assert fake.closed_on is not None
    assert not owner.active


def test_stopping_cancels_what_runs_and_refuses_what_comes() -> None:
    owner, fake, started = Owner(), FakeSession(), threading.Event()
    owner.open(lambda: as_session(fake))

    def work() -> None:
        started.set()
        fake.cancel.wait(3600)

    job = owner.submit(work)
    assert started.wait(30)
    assert owner.stop(30)
    with pytest.raises(CancelledError):
        job.wait(30)
    assert fake.closed_on is not None
    with pytest.raises(StaleHandleError):
        owner.call(lambda: None)
    assert owner.stop(30)


def test_stopping_does_not_wait_for_a_job_that_takes_no_notice() -> None:
    owner, started, go_on = Owner(), threading.Event(), threading.Event()

    def stubborn() -> None:
        started.set()
        go_on.wait(30)

    owner.submit(stubborn)
    assert started.wait(30)
    assert not owner.stop(0)
    go_on.set()
    assert owner.stop(30)
