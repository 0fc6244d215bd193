"""Machines with the lab's guest."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kdive.session.session import Session, SessionOptions
from kdive.targets.kd import open_kd
from kdive.targets.transport import open_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LAB = Path(__file__).resolve().parents[2] / "lab"
sys.path.insert(0, str(LAB))


@pytest.fixture
def machine() -> Iterator[Callable[..., Any]]:
    """Start machines; they end with the test."""
    from run import INSTALL, QEMU, Machine

    if shutil.which(QEMU) is None:
        reason = f"{QEMU} is missing: {INSTALL}"
        if os.environ.get("KDIVE_REQUIRE_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    started: list[Any] = []

    def start(**options: Any) -> Any:
        started.append(Machine(**options))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Attach sessions; they let go with the test."""
    opened: list[Session] = []

    def connect(place: Path) -> Session:
        target = open_kd(open_transport(str(place)))
        options = SessionOptions(str(LAB / "images"), offline=True, cache=tmp_path / "cache")
        try:
            opened.append(Session(target, options))
        except BaseException:
            target.close()
            raise
        return opened[-1]

    yield connect
    for session in opened:
        session.close()
