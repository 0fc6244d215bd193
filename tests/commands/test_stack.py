"""Stacks of real dumps against an independent tool's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.stack import Registers, Stack
from kdive.render.text import TextRenderer
from tests.conftest import AMDPPM
from tests.data import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

REAL = (
    "x64-19041.804-amdppm.dmp",
    "x64-19041.3448-1a.dmp",
    "x64-19041.2965-50.dmp",
    "arm64-22000.dmp",
    "arm64-17134.112-e2.dmp",
)


def run(session: Session, line: str) -> list[object]:
    """Run a line that must succeed; return its results."""
    results: list[object] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), TextRenderer().plain).run(line)
    assert outcome.error is None, outcome.error
    return results


def golden_frames() -> list[tuple[int, int]]:
    """(ip, sp) of the triage dump's stack as the independent tool walked it."""
    text = need("kernel-dumps/expected-rizin.txt").read_text("utf-8")
    section = text[text.index("Triage Dump Debug x64") :]
    rows = re.findall(r"^\d+\s+0x([0-9a-f]{16}) sp: 0x([0-9a-f]{16})", section, re.MULTILINE)
    return [(int(ip, 16), int(sp, 16)) for ip, sp in rows][:36]


def golden_registers() -> dict[str, int]:
    text = need("kernel-dumps/expected-rizin.txt").read_text("utf-8")
    section = text[text.index("Triage Dump Debug x64") :]
    section = section[: section.index("mov qword [rsp + 8], rcx")]
    return {name: int(value, 16) for name, value in re.findall(r"^(r\w+) = 0x([0-9a-f]+)$", section, re.MULTILINE)}


def test_registers_equal_the_independent_tools(open_session: Callable[..., Session]) -> None:
    (result,) = run(open_session(AMDPPM), "r")
    assert isinstance(result, Registers)
    golden = golden_registers()
    golden["efl"] = golden.pop("rflags")
    assert len(golden) == 18
    assert {name: result.values[name] for name in golden} == golden


def test_exception_stack_has_every_driver_frame(open_session: Callable[..., Session]) -> None:
    results = run(open_session(AMDPPM), ".ecxr; k 40")
    stack = results[-1]
    assert isinstance(stack, Stack)
    golden = golden_frames()
    drivers = golden[8:24]
    walked = [(frame.ip, frame.child_sp) for frame in stack.frames[: len(drivers)]]
    assert walked == drivers
    assert stack.frames[0].how == "context"
    assert {frame.how for frame in stack.frames[1 : len(drivers)]} == {"unwind"}
    assert [frame.module for frame in stack.frames[:16]] == ["amdppm"] * 6 + ["Wdf01000"] * 10
    assert stack.frames[0].symbol == "amdppm!WriteIoMemRawEx+0x70"
    # The kernel's image is not at hand: its frames are found by scanning, and say so.
    kernel = stack.frames[16:]
    assert kernel[0].symbol == "nt!IofCallDriver+0x55"
    assert {frame.how for frame in kernel[1:]} == {"scan"}
    found = {(frame.ip, frame.child_sp) for frame in stack.frames}
    named = [frame for frame in golden[24:] if frame in found]
    assert len(named) >= len(golden[24:]) - 2


def test_bugcheck_stack_leads_through_the_exception(open_session: Callable[..., Session]) -> None:
    (stack,) = run(open_session(AMDPPM), "k 80")
    assert isinstance(stack, Stack)
    assert stack.frames[0].symbol == "nt!KeBugCheckEx"
    found = {(frame.ip, frame.child_sp) for frame in stack.frames}
    assert set(golden_frames()[8:24]) <= found


@pytest.mark.parametrize("name", REAL)
def test_common_commands_succeed_on_every_real_dump(name: str, open_session: Callable[..., Session]) -> None:
    session = open_session(f"kernel-dumps/{name}")
    results = run(session, "vertarget; .bugcheck; r; k; lm; !analyze; .time; status; ~; .lastevent; .enumtag")
    assert all(result is not None for result in results)
    renderer = TextRenderer()
    assert all(renderer.plain(result) for result in results)


@pytest.mark.parametrize("name", REAL)
def test_common_commands_succeed_without_symbols(name: str, open_session: Callable[..., Session]) -> None:
    session = open_session(f"kernel-dumps/{name}", symbols=False)
    results = run(session, "vertarget; .bugcheck; r; k; lm; !analyze")
    assert all(result is not None for result in results)


@pytest.mark.parametrize("name", REAL[:3])
def test_system_process_is_shown_where_the_dump_holds_it(name: str, open_session: Callable[..., Session]) -> None:
    session = open_session(f"kernel-dumps/{name}")
    text = TextRenderer().plain(run(session, "!process 0 0")[0])
    assert "Cid: 0004" in text
    assert "Image: System" in text
