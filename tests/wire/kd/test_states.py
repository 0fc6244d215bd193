"""State changes and debug output of a real kernel."""

from __future__ import annotations

import contextlib
import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import FormatError
from kdive.wire.kd.packets import Packet, PacketParser, PacketType
from kdive.wire.kd.states import (
    STATUS_BREAKPOINT,
    STATUS_SINGLE_STEP,
    CommandString,
    DebugPrint,
    DebugPrompt,
    ExceptionStop,
    ImageChange,
    parse_debug_io,
    parse_state_change,
    prompt_answer,
)
from tests.wire.kd.recordings import side


def payloads(name: str, type_: int) -> list[bytes]:
    found = PacketParser().feed(side(name, "target"))
    return [item.payload for item in found if isinstance(item, Packet) and not item.control and item.type == type_]


def test_a_boot_loads_the_kernel_first_and_then_its_drivers() -> None:
    changes = [parse_state_change(payload, "amd64") for payload in payloads("boot-to-gui", PacketType.STATE_CHANGE64)]
    images = [change for change in changes if isinstance(change, ImageChange)]
    assert len(images) == 36
    assert images[0].path.endswith("ntoskrnl.exe")
    assert images[0].base == 0xFFFFF80000400000
    assert images[0].size == 0x25B000
    assert images[1].path.endswith("hal.dll")
    assert not any(image.unload for image in images)
    assert all(image.path.lower().endswith((".exe", ".dll", ".sys")) for image in images)


def test_debug_output_is_text() -> None:
    prints = [parse_debug_io(payload) for payload in payloads("boot-to-gui", PacketType.DEBUG_IO)]
    texts = [line.text for line in prints if isinstance(line, DebugPrint)]
    assert len(texts) == 128
    assert all(text.isprintable() for text in "".join(texts).translate({13: None, 9: " "}).split("\n"))
    assert isinstance(prints[1], DebugPrint)
    assert "ReactOS 0.4.16-amd64" in prints[1].text


def test_a_breakpoint_is_followed_by_steps_of_one_instruction() -> None:
    stops = [
        parse_state_change(payload, "amd64") for payload in payloads("breakpoint-and-steps", PacketType.STATE_CHANGE64)
    ]
    assert all(isinstance(stop, ExceptionStop) for stop in stops)
    broken, hit, *steps = [stop for stop in stops if isinstance(stop, ExceptionStop)]
    assert broken.code == hit.code == STATUS_BREAKPOINT
    assert hit.first_chance
    assert hit.control is not None
    assert hit.control.registers["efl"] & 0x200
    assert len(hit.control.instructions) == 16
    walked = [stop.program_counter for stop in steps if stop.code == STATUS_SINGLE_STEP]
    # The instructions are pushes of one or two bytes.
    assert walked == sorted(walked)
    assert all(0 < after - before <= 2 for before, after in itertools.pairwise(walked))


def test_a_longer_state_change_than_known_is_taken() -> None:
    (payload, *_) = payloads("breakpoint-and-steps", PacketType.STATE_CHANGE64)
    assert len(payload) == 244
    assert parse_state_change(payload + bytes(100), "amd64") == parse_state_change(payload, "amd64")
    assert parse_state_change(payload[:240], "amd64") == parse_state_change(payload, "amd64")


def test_a_stop_without_a_control_report_has_none() -> None:
    (payload, *_) = payloads("breakpoint-and-steps", PacketType.STATE_CHANGE64)
    stop = parse_state_change(payload[:192], "amd64")
    assert isinstance(stop, ExceptionStop)
    assert stop.control is None


def test_a_question_holds_the_length_of_the_answer_it_takes() -> None:
    text = b"Break, or Ignore (bi)? "
    payload = struct.pack("<IHHII", 0x3231, 0, 1, len(text), 2) + text
    prompt = parse_debug_io(payload)
    assert prompt == DebugPrompt(1, text.decode(), 2)
    assert isinstance(prompt, DebugPrompt)
    assert prompt_answer(prompt, "bx too long") == struct.pack("<IHHII", 0x3231, 0, 1, 0, 2) + b"bx"


def test_the_old_header_of_debug_output_is_understood() -> None:
    assert parse_debug_io(struct.pack("<IHHI", 0x3230, 0, 0, 3) + b"abc") == DebugPrint(0, "abc")


def test_a_command_string_is_text() -> None:
    head = struct.pack("<IHHI4xQQ", 0x3032, 0, 0, 1, 5, 6).ljust(192, b"\0")
    assert parse_state_change(head + b".echo hi\0rest", "amd64") == CommandString(0, 1, 5, 6, ".echo hi")


@pytest.mark.parametrize("kind", [0x3030, 0x3031, 0x3032, 0x1234])
@given(data=st.binary(max_size=300))
def test_any_bytes_give_a_state_change_or_a_format_error(kind: int, data: bytes) -> None:
    for machine in ("amd64", "arm64"):
        with contextlib.suppress(FormatError):
            parse_state_change(struct.pack("<I", kind) + data, machine)


@given(st.binary(max_size=300))
def test_any_bytes_give_debug_output_or_a_format_error(data: bytes) -> None:
    for kind in (0x3230, 0x3231, 0):
        with contextlib.suppress(FormatError):
            parse_debug_io(struct.pack("<I", kind) + data)
