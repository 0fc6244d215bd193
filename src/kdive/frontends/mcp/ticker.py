"""The service tick: between calls a live session takes in what its target reports.

A breakpoint hit that belongs to another process, a module that comes or goes: the target stands still until somebody
sends it on. At most one nudge is waiting however long the owner thread is busy.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kdive.errors import StaleHandleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.owner import Owner

TICK = 0.02
"""Seconds between two nudges."""
DEBUG_TRANSPORTS = frozenset(("kd", "kdnet", "gdb"))
"""Backends whose targets stop by themselves and report it."""


async def tick(owner: Owner, nudge: Callable[[], None], wanted: Callable[[], bool], limit: float) -> None:
    """Nudge an owner thread until its session ends.

    Args:
        owner: The owner.
        nudge: What it does each time.
        wanted: Whether the session is still the one that this is for.
        limit: Seconds that a nudge may take.
    """
    while wanted():
        await asyncio.sleep(TICK)
        if not wanted():
            return
        try:
            job = owner.submit(nudge, limit)
        except StaleHandleError:
            return
        future = asyncio.wrap_future(job.future)
        await asyncio.wait((future,))
        if not future.cancelled():
            # A nudge that fails is no reason to stop: the next call tells what is wrong.
            future.exception()
