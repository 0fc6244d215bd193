"""Recorded sessions between a host and a real NT-architecture kernel."""

from __future__ import annotations

import json
import lzma
from typing import Literal

from tests.data import need

NAMES = ("boot-to-gui", "breakpoint-and-steps", "errors-and-resync")
Direction = Literal["host", "target"]


def recording(name: str) -> list[tuple[Direction, bytes]]:
    """The bytes of a session in their order."""
    with lzma.open(need(f"kd-serial/{name}.jsonl.xz"), "rt") as file:
        return [(entry["dir"], bytes.fromhex(entry["hex"])) for entry in map(json.loads, file)]


def side(name: str, direction: Direction) -> bytes:
    """Everything that one side sent."""
    return b"".join(data for which, data in recording(name) if which == direction)
