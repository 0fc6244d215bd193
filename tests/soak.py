"""How long tests of chance run: a tenth by default, in full with ``KDIVE_SOAK=1`` (``make soak``)."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEED = int(os.environ.get("KDIVE_SEED", "1"))


def soaking() -> bool:
    """Whether tests of chance run in full."""
    return bool(os.environ.get("KDIVE_SOAK"))


def rounds(full: int, share: int = 10) -> int:
    """How many of the rounds to run; slow ones have a smaller share than a tenth."""
    return full if soaking() else max(full // share, 1)


def bound(seconds: float) -> float:
    """How long a test may take, from how long its tenth may."""
    return seconds * (15 if soaking() else 1)


def chances(full: int, share: int = 10) -> Iterator[random.Random]:
    """Random numbers for each of the rounds; ``KDIVE_SEED`` gives others."""
    for number in range(rounds(full, share)):
        yield random.Random(_SEED * 1_000_003 + number)
