"""Time the MCP server beside ntoseye's on one dump, in one run, and print a table of ratios.

Usage: python bench/mcp.py

Messages are written and read by hand, so that no client library is measured. Over standard input and output: from the
start of the process to the answer to ``initialize``, then calls one after another. Over HTTP the same calls on one
connection that is kept open. Both servers run with the network removed where ``unshare`` may do that (over HTTP only
the loopback device is left).
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import ROOT, data, isolated, peer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

SAMPLE = ROOT / "src" / "kdive" / "samples" / "data"
REAL = data() / "kernel-dumps" / "x64-19041.804-amdppm.dmp"
DUMP = REAL if REAL.exists() else SAMPLE / "crash.dmp"
STARTS = 5
CALLS = 1000
LONG_CALLS = 100
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
SMALL = "? 1"
LONG = "db rsp L1500"
"""Gives some 24 KB of text, just under a page."""


class Stdio:
    """A server process, spoken to over its standard streams."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self._number = 0

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        while True:
            answer = json.loads(stdout.readline())
            if answer.get("id") == self._number:
                return answer["result"]

    def initialize(self) -> None:
        self.ask("initialize", INITIALIZE)
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


class Http:
    """A server process, spoken to over one HTTP connection."""

    def __init__(self, command: list[str], port: int, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._number = 0
        deadline = time.monotonic() + 30
        while True:
            self._connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                self._connection.connect()
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        answer = self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        lines = [line for line in answer.splitlines() if line.startswith(("data: {", "{"))]
        return json.loads(lines[-1].removeprefix("data: "))["result"]

    def _post(self, message: dict[str, Any]) -> str:
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._connection.getresponse()
        session = response.getheader("mcp-session-id")
        if session:
            self._headers["Mcp-Session-Id"] = session
        return response.read().decode()

    def initialize(self) -> None:
        self.ask("initialize", INITIALIZE)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait(20)


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
