"""A recorded session with a machine is had again without the machine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.lab.conftest import LAB

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WAIT = 60.0
COMMANDS = "r; k; lm; !process 0 0; bp nt!KiInner; g; k; dv; p; r rip; u rip L4; dq nt!Total L1; g; r"


def kdive(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "kdive", *options, "--offline", "--sympath", str(LAB / "images"), "--batch"]
    ran = subprocess.run(
        [*command, "-c", COMMANDS],
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
        env={"KDIVE_HOME": str(folder), "PATH": "", "PYTHONPATH": str(LAB.parent / "src")},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_a_recorded_session_replays_with_the_same_output(machine: Callable[..., Any], tmp_path: Path) -> None:
    recording = tmp_path / "session.jsonl"
    guest = machine()
    first = kdive(tmp_path / "one", "-b", "kd", "--connect", str(guest.kd), "--record", str(recording))
    guest.close()
    assert "nt!KiInner" in first
    assert kdive(tmp_path / "two", "--replay", str(recording)) == first
