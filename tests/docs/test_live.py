"""The examples of docs/live.md work on a guest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab.conftest import LAB, machine

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
__all__ = ["machine"]


def test_every_command_of_the_page_works(machine: Callable[..., Any]) -> None:
    lines = re.findall(r"^0: kd> (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) >= 12
    commands = [part for line in lines for part in ("-c", line)]
    place = str(machine().kd)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kdive", "-b", "kd", "--connect", place),
            *("--sympath", str(LAB / "images"), "--offline", "--batch"),
            *commands,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error:" not in done.stdout
