"""How long tests of chance run: a tenth by default, in full with ``KDIVE_SOAK=1`` (``make soak``)."""

from __future__ import annotations

import os


def rounds(full: int) -> int:
    """How many of the rounds to run."""
    return full if os.environ.get("KDIVE_SOAK") else max(full // 10, 1)
