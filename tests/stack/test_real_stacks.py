"""Stacks of real dumps, frame by frame, against an independent tool that had the kernel's image.

Here the kernel's image is not at hand, so that its frames come of the stack scan (AMD64) or the frame records (ARM64).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.conftest import AMDPPM
from tests.data import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

ARM64 = "kernel-dumps/arm64-22000.dmp"


def golden(title: str) -> list[tuple[int, int]]:
    """``(ip, sp)`` of each frame."""
    text = need("kernel-dumps/expected-rizin.txt").read_text("utf-8")
    section = text[text.index(title) :]
    section = section[: section.index("\nEOF\nRUN")]
    rows = re.findall(r"^\d+\s+0x([0-9a-f]{16}) sp: 0x([0-9a-f]{16})", section, re.MULTILINE)
    return [(int(ip, 16), int(sp, 16)) for ip, sp in rows]


def test_a_bugcheck_stack_holds_every_frame_in_order(open_session: Callable[..., Session]) -> None:
    wanted = golden("Triage Dump Debug x64")
    assert len(wanted) == 36
    session = open_session(AMDPPM)
    frames = session.walk_stack(session.context())
    found = [(frame.ip, frame.child_sp) for frame in frames]
    assert [frame for frame in found if frame in set(wanted)] == wanted
    # Left-overs of earlier calls look like frames too; no more of them than when this was written.
    assert len(found) - len(wanted) <= 27
    drivers = {(frame.ip, frame.child_sp): frame.how for frame in frames}
    assert {drivers[frame] for frame in wanted[9:24]} == {"unwind"}


def test_arm64_frame_records_give_exactly_the_stack(open_session: Callable[..., Session]) -> None:
    wanted = golden("Triage Dump Debug arm64")
    assert len(wanted) == 5
    session = open_session(ARM64)
    frames = session.walk_stack(session.context())
    assert [(frame.ip, frame.child_sp) for frame in frames] == wanted
    assert [frame.how for frame in frames] == ["context", *["chain"] * 4]
