"""Where the real dumps, symbol files and captures are that some tests read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_root() -> Path:
    """The folder with the real data: ``KDIVE_TEST_DATA``, or ``shared/data`` next to the repository."""
    configured = os.environ.get("KDIVE_TEST_DATA")
    return Path(configured) if configured else Path(__file__).resolve().parents[1].parent / "shared" / "data"


def need(relative: str) -> Path:
    """The path of a piece of real data; skips the test if it is absent, or fails if it is required."""
    path = data_root() / relative
    if not path.exists():
        reason = f"test data {relative} is absent"
        if os.environ.get("KDIVE_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
