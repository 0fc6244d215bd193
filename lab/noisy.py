"""A faulty line: a proxy between a debugger and a machine's socket that spoils what passes, by a seed.

Usage: python lab/noisy.py LISTEN TARGET [--seed N] [--rate PERCENT]
"""

from __future__ import annotations

import argparse
import contextlib
import random
import select
import socket
import threading
from pathlib import Path

_CHUNK = 4096
_POLL = 0.05


class NoisyLine:
    """Listens on a socket and passes bytes on to another, spoilt.

    Args:
        listen: Path of the socket that the debugger connects to.
        target: Path of the machine's socket.
        seed: Chooses the damage.
        rate: Share of bytes at which something is spoilt.

    Attributes:
        spoilt: How often something was.
    """

    def __init__(self, listen: Path, target: Path, seed: int = 0, rate: float = 0.001) -> None:
        self._target = target
        self._chance = random.Random(seed)
        self._rate = rate
        self._ended = threading.Event()
        self.spoilt = 0
        self._until = self._next()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(listen))
        self._server.listen(1)
        self._server.settimeout(_POLL)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the line."""
        self._ended.set()
        self._thread.join()
        self._server.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._server.accept()
            except TimeoutError:
                continue
            far = socket.socket(socket.AF_UNIX)
            with near, far, contextlib.suppress(OSError):
                far.connect(str(self._target))
                self._pass(near, far)

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        while not self._ended.is_set():
            ready, _, _ = select.select([near, far], [], [], _POLL)
            for side in ready:
                data = side.recv(_CHUNK)
                if not data:
                    return
                other[side].sendall(self._spoil(data))

    def _spoil(self, data: bytes) -> bytes:
        """Spoil some bytes: flip a bit, lose a run, double a run, cut one short."""
        out: list[bytes] = []
        while self._until < len(data):
            out.append(data[: self._until])
            rest = data[self._until :]
            run = rest[: self._chance.choice((1, 1, 4, 16, 64))]
            data = rest[len(run) :]
            kind = self._chance.randrange(4)
            if kind == 0:
                run = bytes((run[0] ^ 1 << self._chance.randrange(8),)) + run[1:]
            elif kind == 1:
                run = b""
            elif kind == 2:
                run *= 2
            else:
                run = run[: len(run) // 2]
            out.append(run)
            self.spoilt += 1
            self._until = self._next()
        self._until -= len(data)
        return b"".join([*out, data])

    def _next(self) -> int:
        """How many bytes pass unharmed."""
        return int(self._chance.expovariate(self._rate))


def main() -> None:
    """Run until Ctrl+C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listen", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.1, help="percent of bytes that are spoilt")
    options = parser.parse_args()
    line = NoisyLine(options.listen, options.target, options.seed, options.rate / 100)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        line.close()


if __name__ == "__main__":
    main()
