"""Programs that some tests compare with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PEER = Path(__file__).resolve().parents[1] / ".peer/bin/ntoseye"


def need_tool(name: str) -> str:
    """The path of a program, by its name or whole; skips the test if it is missing, or fails if it is required."""
    found = shutil.which(name)
    if found is None:
        reason = f"{name} is not installed"
        if os.environ.get("KDIVE_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def run(name: str, *arguments: str | Path, stdin: str | None = None) -> str:
    """The standard output of a program."""
    done = subprocess.run(
        [need_tool(name), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout
