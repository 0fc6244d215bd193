"""What the benchmarks share: where the data is, the peer, a run without the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = "ntoseye==0.52.0"


def data() -> Path:
    """The folder with the real data."""
    return Path(os.environ.get("KDIVE_TEST_DATA") or ROOT.parent / "shared" / "data")


def peer() -> Path | None:
    """The other debugger, in an environment of its own; None where it cannot be installed."""
    folder = Path(tempfile.gettempdir()) / "kdive-bench-peer"
    program = folder / "bin" / "ntoseye"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        done = subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", PEER], check=False)
        if done.returncode:
            return None
    return program


def isolated(command: list[str]) -> list[str]:
    """The command without the network, where that may be taken away."""
    if (
        shutil.which("unshare")
        and subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode == 0
    ):
        return ["unshare", "-n", *command]
    return command
