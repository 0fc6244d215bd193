"""Time kdive beside ntoseye on one dump, in one run, and print a table of ratios.

Usage: python bench/dump.py

The peer gets a virtual environment of its own. Both run with the network removed where ``unshare`` may do that: the
peer waits for its symbol server otherwise. Real data is read from ``../shared/data`` or ``KDIVE_TEST_DATA``; without
it the sample dump serves.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import ROOT, data, isolated, peer

RUNS = 7


def measure(command: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """Wall time in seconds and peak memory in KiB of one run."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - started, usage.ru_maxrss


def row(name: str, ours: list[str], theirs: list[str] | None, environment: dict[str, str]) -> None:
    """Run both in turn and print the medians and their ratio."""
    measure(ours, environment)
    if theirs:
        measure(theirs, environment)
    mine: list[tuple[float, int]] = []
    other: list[tuple[float, int]] = []
    for _ in range(RUNS):
        mine.append(measure(ours, environment))
        if theirs:
            other.append(measure(theirs, environment))
    seconds = statistics.median(entry[0] for entry in mine)
    memory = max(entry[1] for entry in mine) / 1024
    text = f"{name:<34} {seconds:7.3f} s {memory:6.0f} MiB"
    if other:
        peer_seconds = statistics.median(entry[0] for entry in other)
        peer_memory = max(entry[1] for entry in other) / 1024
        text += f" {peer_seconds:7.3f} s {peer_memory:6.0f} MiB {seconds / peer_seconds:6.2f}x"
    print(text)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kdive = str(Path(sys.executable).parent / "kdive")
    real = data()
    dump = real / "kernel-dumps" / "x64-19041.804-amdppm.dmp"
    symbols = ["--sympath", str(real / "symbols" / "store"), "--isf", str(real / "symbols" / "isf")]
    if not dump.exists():
        sample = ROOT / "src" / "kdive" / "samples" / "data"
        dump, symbols = sample / "crash.dmp", ["--sympath", "", "--isf", str(sample / "isf")]
    program = peer()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "KDIVE_HOME": home, "HOME": home}
        print(f"{'what':<34} {'kdive':>9} {'peak':>10} {'ntoseye':>9} {'peak':>10} {'ratio':>7}")
        for name, commands, extra in (
            ("--version", None, []),
            ("open, lm", "lm", []),
            ("!analyze; k; lm, without symbols", "!analyze; k; lm", []),
            ("!analyze; k; lm, with symbols", "!analyze; k; lm", symbols),
        ):
            if commands is None:
                ours, theirs = [kdive, name], [str(program), name] if program else None
            else:
                ours = isolated([kdive, "--dump", str(dump), *extra, "--batch", "-c", commands])
                theirs = None
                if program:
                    theirs = isolated([str(program), "--dump", str(dump), "--batch", "-c", commands])
            row(name, ours, theirs, environment)


if __name__ == "__main__":
    main()
