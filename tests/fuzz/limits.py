"""What one damaged input may cost."""

from __future__ import annotations

import contextlib
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 1.0
"""Processor time, which other programs on the machine do not change."""
BYTES = 500 << 20


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def bounded(what: object) -> Iterator[None]:
    """Fail if the body takes more than a second of processor time, or 500 MB more memory than there was.

    The memory bound is the operating system's: a larger allocation raises ``MemoryError`` where it is made. It is left
    out where ``/proc`` is absent.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + BYTES, hard))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    spent = time.process_time() - start
    assert spent < SECONDS, f"{what} took {spent:.2f} s"
