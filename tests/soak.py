"""How often random rounds are repeated: a tenth in ``make test``, all of them in ``make soak``."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOAK = bool(os.environ.get("KDIVE_SOAK"))
SEED = int(os.environ.get("KDIVE_SEED", "1"))


def count(full: int, share: int = 10) -> int:
    """How many rounds of so many are run now."""
    return full if SOAK else max(full // share, 1)


def seconds(of_a_tenth: float) -> float:
    """The bound of a test, from that of its tenth."""
    return of_a_tenth * (20 if SOAK else 1)


def rounds(full: int, share: int = 10) -> Iterator[random.Random]:
    """The random numbers of each round; a round that fails can be had alone by its number and the seed."""
    for number in range(count(full, share)):
        yield random.Random(SEED * 1_000_003 + number)
