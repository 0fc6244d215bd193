"""Time the MCP server beside ntoseye's on the lab's guest, over KD, and print a table of ratios.

Usage: python bench/mcp_live.py

From the client's call to its answer: attaching, a stop that is asked for, going on until a breakpoint is hit, and what
is asked of a halted guest. The peer has no tools for run control: its `g` and `break` show registers, code and a stack
as well, so kdive's calls are counted with a command that asks for these. Both attach to one machine in turn, with
symbols that are in their caches. Needs qemu-system-x86.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp_clients import Stdio
from support import ROOT, peer

sys.path[:0] = [str(ROOT / "lab")]

from run import Machine  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Generator

ROUNDS = 100
OPENS = 5
ASKED = ("? 1", "r", "k", "u", "lm", "!process 0 0", "t")


SHOWN = "r; u @rip L8; k 8"


class Tools:
    """Run control with tools."""

    def __init__(self, server: Stdio) -> None:
        self._server = server

    def interrupt(self) -> None:
        call(self._server, "interrupt")
        call(self._server, "command", line=SHOWN)

    def leave(self) -> None:
        call(self._server, "resume")

    def go(self) -> None:
        call(self._server, "resume")
        while call(self._server, "wait_for_stop", timeout_ms=5000)["stop"] == "running":
            pass
        call(self._server, "command", line=SHOWN)


class Commands:
    """Run control with commands, as the peer has it."""

    def __init__(self, server: Stdio) -> None:
        self._server = server

    def interrupt(self) -> None:
        call(self._server, "command", line="break")

    def leave(self) -> None:
        call(self._server, "command", line="g")

    def go(self) -> None:
        call(self._server, "command", line="g")


def call(server: Stdio, tool: str, **arguments: Any) -> dict[str, Any]:
    result = server.ask("tools/call", {"name": tool, "arguments": arguments})
    if result.get("isError"):
        sys.exit(f"{tool} {arguments}: {result['content']}")
    return result.get("structuredContent") or {}


@contextmanager
def timed(times: list[float]) -> Generator[None]:
    begun = time.perf_counter()
    yield
    times.append(time.perf_counter() - begun)


def measure(
    control: type[Tools | Commands], command: list[str], guest: Machine, environment: dict[str, str]
) -> dict[str, list[float]]:
    """Seconds of each kind of call."""
    found: dict[str, list[float]] = {}
    server = Stdio(command, environment)
    where = {"backend": "kd", "connect": str(guest.kd)}
    try:
        server.initialize()
        call(server, "open", **where)
        for _ in range(OPENS):
            call(server, "close")
            with timed(found.setdefault("open", [])):
                call(server, "open", **where)
        steering = control(server)
        for _ in range(ROUNDS):
            with timed(found.setdefault("stop on request, shown", [])):
                steering.interrupt()
            steering.leave()
        steering.interrupt()
        call(server, "command", line="bp nt!KiInner")
        for _ in range(ROUNDS):
            with timed(found.setdefault("go on until a breakpoint, shown", [])):
                steering.go()
        call(server, "command", line="bc *")
        for line in ASKED:
            for _ in range(ROUNDS):
                with timed(found.setdefault(line, [])):
                    call(server, "command", line=line)
        call(server, "close")
    finally:
        server.close()
    return found


def main() -> None:
    images = str(ROOT / "lab/images")
    programs: dict[str, tuple[type[Tools | Commands], list[str]]] = {}
    programs["kdive"] = Tools, [sys.executable, "-m", "kdive", "mcp", "--sympath", images, "--offline"]
    other = peer()
    if other is not None:
        programs["ntoseye"] = Commands, [str(other), "mcp", "--memory-source", "kd", "--sympath-append", images]
    found: dict[str, dict[str, list[float]]] = {}
    with Machine() as guest, tempfile.TemporaryDirectory() as home:
        guest.wait_ready()
        environment = {**os.environ, "KDIVE_HOME": home, "HOME": home}
        for name, (control, command) in programs.items():
            found[name] = measure(control, command, guest, environment)
    print(f"{'':<36}" + "".join(f"{f'{name}, p50':>14}{'p99':>12}" for name in found) + f"{'ratio':>8}")
    for what in found["kdive"]:
        text = f"{what:<36}"
        middles: list[float] = []
        for times in (table[what] for table in found.values()):
            middles.append(statistics.median(times))
            slow = statistics.quantiles(times, n=100)[98] if len(times) == ROUNDS else max(times)
            text += f"{middles[-1] * 1000:11.2f} ms{slow * 1000:9.2f} ms"
        if len(middles) > 1:
            text += f"{middles[0] / middles[1]:7.2f}x"
        print(text)


if __name__ == "__main__":
    main()
