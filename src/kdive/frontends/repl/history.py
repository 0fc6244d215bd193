"""Keeping the history file from growing without end."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HISTORY_LIMIT = 5000
"""How many lines are kept."""
_SLACK = 500


def trim_history(path: Path, limit: int = HISTORY_LIMIT) -> None:
    """Drop the oldest entries of a history file that has grown well beyond its limit.

    In prompt_toolkit's format an entry starts with a ``# <time>`` line; the lines of its text start with ``+``. A file
    that cannot be read or replaced is left as it is.

    Args:
        path: The history file.
        limit: Entries to keep.
    """
    with contextlib.suppress(OSError):
        lines = path.read_bytes().splitlines(keepends=True)
        starts = [index for index, line in enumerate(lines) if line.startswith(b"#")]
        if len(starts) <= limit + min(_SLACK, limit):
            return
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(b"".join(lines[starts[-limit] :]))
        fresh.replace(path)
