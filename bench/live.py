"""Count what questions cost over KD, beside ntoseye, on the lab's guest: requests, bytes and time.

Usage: python bench/live.py

Both are started anew for each row, with symbols that are in their caches; what attaching costs is taken off the other
rows. A line between debugger and guest counts the requests that pass. Needs qemu-system-x86.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import ROOT, peer

sys.path[:0] = [str(ROOT), str(ROOT / "lab")]

from run import Machine  # noqa: E402

from kdive.wire.kd.packets import Packet, PacketParser, PacketType  # noqa: E402
from kdive.wire.kd.requests import Api  # noqa: E402

PROCESSES = 100
RUNS = 5
ROWS = (
    ("attach", ".echo attached"),
    ("stop: r, 8 instructions, 8 frames", "bp nt!KiInner; g; r; u @rip L8; k 8"),
    ("!process 0 0 of 100 processes", "!process 0 0"),
    ("100 steps", "bp nt!KiInner; g; bc *; " + "; ".join(["t"] * 100)),
)


class CountingLine:
    """Listens on a socket and passes bytes on to a machine, counting.

    Attributes:
        requests: Manipulate requests of the debugger but those that free the breakpoint table, which both make.
        received: Bytes that the target sent.
    """

    def __init__(self, listen: Path, target: Path) -> None:
        self.requests = self.received = 0
        self._target = target
        self._ended = threading.Event()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(listen))
        self._server.listen(1)
        self._server.settimeout(0.05)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._server.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._server.accept()
            except TimeoutError:
                continue
            with near, socket.socket(socket.AF_UNIX) as far:
                far.connect(str(self._target))
                self._pass(near, far)

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        parser = PacketParser()
        while not self._ended.is_set():
            for side in select.select([near, far], [], [], 0.05)[0]:
                try:
                    data = side.recv(1 << 16)
                except OSError:
                    return
                if not data:
                    return
                if side is far:
                    self.received += len(data)
                    near.sendall(data)
                    continue
                far.sendall(data)
                for item in parser.feed(data):
                    if isinstance(item, Packet) and not item.control and item.type == PacketType.STATE_MANIPULATE:
                        self.requests += item.payload[:4] != Api.RESTORE_BREAKPOINT.to_bytes(4, "little")


def cost(program: list[str], commands: str, guest: Machine, home: Path) -> tuple[int, int, float]:
    place = home / "line.sock"
    place.unlink(missing_ok=True)
    line = CountingLine(place, guest.kd)
    started = time.perf_counter()
    done = subprocess.run(
        [*program, "--connect", str(place), "--batch", "-c", commands],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home), "KDIVE_HOME": str(home)},
    )
    taken = time.perf_counter() - started
    line.close()
    if done.returncode:
        sys.exit(f"{program[0]}: {done.stderr}")
    return line.requests, line.received, taken


def middle(program: list[str], commands: str, guest: Machine, home: Path) -> tuple[float, ...]:
    found = [cost(program, commands, guest, home) for _ in range(RUNS)]
    return tuple(sorted(column)[RUNS // 2] for column in zip(*found, strict=True))


def main() -> None:
    images = str(ROOT / "lab/images")
    programs = {"kdive": [sys.executable, "-m", "kdive", "-b", "kd", "--sympath", images, "--offline"]}
    other = peer()
    if other is not None:
        programs["ntoseye"] = [str(other), "--memory-source", "kd", "--sympath-append", images]
    print(f"{'':<36} {'program':<8} {'requests':>9} {'bytes':>9} {'time':>9}")
    with Machine() as guest, tempfile.TemporaryDirectory() as folder:
        guest.wait_ready()
        for number in range(PROCESSES - 3):
            guest.command(f"create worker{number}.exe")
        attached: dict[str, tuple[float, ...]] = {}
        for what, commands in ROWS:
            for name, program in programs.items():
                home = Path(folder) / name
                home.mkdir(exist_ok=True)
                cost(program, commands, guest, home)
                found = middle(program, commands, guest, home)
                attached.setdefault(name, found)
                if commands != ROWS[0][1]:
                    found = tuple(one - base for one, base in zip(found, attached[name], strict=True))
                print(f"{what:<36} {name:<8} {found[0]:>9.0f} {found[1]:>9.0f} {found[2]:>8.3f}s")


if __name__ == "__main__":
    main()
