"""Whether a hit of a breakpoint counts: its filters, its condition, its pass count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError

if TYPE_CHECKING:
    from kdive.session.breakpoints import Breakpoint
    from kdive.session.session import Session
    from kdive.targets.live import ExceptionEvent


def counts(session: Session, entry: Breakpoint, event: ExceptionEvent) -> bool:
    """Whether a hit stops the target. One whose filter cannot be looked at does: no hit is lost."""
    if entry.processor is not None and entry.processor != event.processor:
        return False
    if entry.thread and event.thread and entry.thread != event.thread:
        return False
    if entry.process and not _in_process(session, entry.process):
        return False
    if entry.least_sp and not _outer(session, entry.least_sp):
        return False
    entry.hits += 1
    if entry.condition and not _holds(session, entry):
        return False
    if entry.left > 1:
        entry.left -= 1
        return False
    return True


def _in_process(session: Session, process: int) -> bool:
    thread = session.thread
    if thread is None:
        return True
    try:
        return thread.attached_address == process
    except KdiveError:
        return True


def _outer(session: Session, least_sp: int) -> bool:
    try:
        return session.base_context().sp >= least_sp
    except KdiveError:
        return True


def _holds(session: Session, entry: Breakpoint) -> bool:
    from kdive.expr.evaluator import evaluate
    from kdive.session.evaluation import SessionScope

    entry.condition_error = ""
    try:
        return evaluate(entry.condition, SessionScope(session)).number != 0
    except KdiveError as error:
        entry.condition_error = error.what
        return True
