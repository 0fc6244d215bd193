"""Time the MCP server beside ntoseye's on one dump, in one run, and print a table of ratios.

Usage: python bench/mcp_dump.py

Over standard input and output: from the
start of the process to the answer to ``initialize``, then calls one after another. Over HTTP the same calls on one
connection that is kept open. Both servers run with the network removed where ``unshare`` may do that (over HTTP only
the loopback device is left).
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_clients import Http, Stdio
from support import ROOT, data, isolated, peer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

SAMPLE = ROOT / "src" / "kdive" / "samples" / "data"
REAL = data() / "kernel-dumps" / "x64-19041.804-amdppm.dmp"
DUMP = REAL if REAL.exists() else SAMPLE / "crash.dmp"
STARTS = 5
CALLS = 1000
LONG_CALLS = 100
SMALL = "? 1"
LONG = "db rsp L1500"
"""Gives some 24 KB of text, just under a page."""


@contextmanager
def opened(server: Stdio | Http) -> Generator[Callable[[str], str]]:
    """A server with the dump open; yields what runs a debugger line."""

    def line(text: str) -> str:
        result = server.ask("tools/call", {"name": "command", "arguments": {"line": text}})
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    try:
        server.initialize()
        server.ask("tools/call", {"name": "open", "arguments": {"backend": "dump", "connect": str(DUMP)}})
        yield line
    finally:
        server.close()


def start(command: list[str], environment: dict[str, str]) -> float:
    """Seconds from the start of a process to its answer to ``initialize``."""
    begun = time.perf_counter()
    server = Stdio(command, environment)
    server.initialize()
    taken = time.perf_counter() - begun
    server.close()
    return taken


def calls(line: Callable[[str], str], text: str, count: int) -> tuple[float, float, float]:
    """Median and 99th percentile of a call in seconds, and the time of all."""
    line(text)
    times: list[float] = []
    begun = time.perf_counter()
    for _ in range(count):
        at = time.perf_counter()
        line(text)
        times.append(time.perf_counter() - at)
    return statistics.median(times), statistics.quantiles(times, n=100)[98], time.perf_counter() - begun


def measure(mine: list[str], environment: dict[str, str], port: int) -> dict[str, float]:
    """All figures of one server."""
    found = {"start to initialize": statistics.median(start(isolated(mine), environment) for _ in range(STARTS))}
    servers: dict[str, Callable[[], Stdio | Http]] = {
        "stdio": lambda: Stdio(isolated(mine), environment),
        "HTTP": lambda: Http([*mine, "--http", f"127.0.0.1:{port}"], port, environment),
    }
    for name, make in servers.items():
        with opened(make()) as line:
            for what, text, count in ((f'"{SMALL}"', SMALL, CALLS), ("24 KB", LONG, LONG_CALLS)):
                middle, slow, whole = calls(line, text, count)
                found[f"{name}, {what}, p50"] = middle
                found[f"{name}, {what}, p99"] = slow
                if count == CALLS:
                    found[f"{name}, {CALLS} calls"] = whole
    return found


def main() -> None:
    kdive = str(Path(sys.executable).parent / "kdive")
    isf = ["--sympath", "", "--isf", str(SAMPLE / "isf"), "--offline"]
    program = peer()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "KDIVE_HOME": home, "HOME": home}
        ours = measure([kdive, "mcp", *isf], environment, 18099)
        theirs = measure([str(program), "mcp"], environment, 18100) if program else {}
    print(f"{'what':<28} {'kdive':>11} {'ntoseye':>11} {'ratio':>7}")
    for what, seconds in ours.items():
        text = f"{what:<28} {seconds * 1000:8.2f} ms"
        if what in theirs:
            text += f" {theirs[what] * 1000:8.2f} ms {seconds / theirs[what]:6.1f}x"
        print(text)


if __name__ == "__main__":
    main()
