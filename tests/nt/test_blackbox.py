"""Blackbox records: fields at their places, and damage that must not hurt."""

from __future__ import annotations

import contextlib
import random
import struct
import uuid
from typing import TYPE_CHECKING

import pytest

from kdive.errors import FormatError, KdiveError, UnsupportedError
from kdive.formats.buffer import Buffer
from kdive.nt.blackbox import (
    BLACKBOXES,
    OPLOCK_BREAK,
    SLOW_IO,
    decode_boot_status,
    decode_ntfs,
    decode_pci,
    decode_pnp,
    decode_winlogon,
)
from kdive.nt.secondary import writer_of

if TYPE_CHECKING:
    from collections.abc import Callable

DECODERS = (decode_boot_status, decode_ntfs, decode_pci, decode_pnp, decode_winlogon)


def boot_status(size: int) -> bytearray:
    raw = bytearray(max(size, 0x98))
    struct.pack_into("<II5B", raw, 0, size, 1, 0, 30, 1, 0, 0)
    raw[0x18] = 0x61
    raw[0x1A], raw[0x1B] = 12, 0xC0
    struct.pack_into("<Q", raw, 0x58, 111)
    release = 0x78 if size >= 0x98 else 0x68
    struct.pack_into("<QIHH", raw, release, 222, 5, 6, 7)
    return raw[:size]


@pytest.mark.parametrize("size", [0x88, 0xB0, 0xC8])
def test_boot_status_of_each_length_finds_the_power_button(size: int) -> None:
    status = decode_boot_status(Buffer(bytes(boot_status(size))))
    assert status.version == size
    assert status.fields["Advanced boot menu timeout"] == 30
    assert status.fields["Last boot succeeded"] is True
    assert status.fields["System running"] is True
    assert status.fields["Sleep state"] == 6
    assert status.fields["Connected standby exit reason"] == 0
    assert status.fields["Power button last press time"] == 111
    assert status.fields["Power button last release time"] == 222
    assert status.fields["Power button error count"] == 7
    assert not status.truncated


def test_a_short_boot_status_shows_what_it_has() -> None:
    status = decode_boot_status(Buffer(bytes(boot_status(0x88)[:0x60])))
    assert status.truncated
    assert "Error info code" in status.fields
    assert "Power button last press time" not in status.fields
    with pytest.raises(FormatError):
        decode_boot_status(Buffer(bytes(boot_status(0x88)[:0x20])))


def ntfs(slots: list[tuple[int, int, int]], chain: bytes = b"") -> bytes:
    start = 0x18
    at = start + 32 * len(slots)
    raw = struct.pack("<HHHHQHHI", 0, at + len(chain), at if chain else 0, 0, 0, len(slots), start, 0)
    return raw + b"".join(struct.pack("<QQQQ", *slot, 0) for slot in slots) + chain


def test_ntfs_slots_in_use_are_slow_requests() -> None:
    records = decode_ntfs(Buffer(ntfs([(1, 2, 3), (0, 0, 0), (4, 5, 6)])))
    assert [(entry.kind, entry.irp, entry.scb, entry.thread) for entry in records] == [
        (SLOW_IO, 1, 2, 3),
        (SLOW_IO, 4, 5, 6),
    ]


def test_ntfs_oplock_breaks_are_chained() -> None:
    record = struct.pack("<HHHHQQI15s15s", OPLOCK_BREAK, 58, 0, 0, 7, 8, 4, b"owner.exe", b"breaker.exe")
    (entry,) = decode_ntfs(Buffer(ntfs([], record)))
    assert (entry.irp, entry.scb, entry.break_reason) == (7, 8, 4)
    assert (entry.owner_process, entry.breaking_process) == ("owner.exe", "breaker.exe")


def test_an_ntfs_chain_that_bites_its_tail_ends() -> None:
    record = struct.pack("<HHHHQQI15s15s", OPLOCK_BREAK, 58, 0x18, 0, 7, 8, 4, b"", b"")
    looped = ntfs([], record)
    assert struct.unpack_from("<H", looped, 0x18 + 4) == (0x18,)
    assert len(decode_ntfs(Buffer(looped))) == 1


def test_an_ntfs_record_of_another_version_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        decode_ntfs(Buffer(b"\x01\0" + ntfs([])[2:]))


def test_pnp_fields_stand_where_windbg_shows_them() -> None:
    activity = uuid.UUID("12345678-1234-5678-9ABC-DEF012345678")
    device = "USB\\VID_1234\0".encode("utf-16-le")
    veto = "\\Driver\\x\0".encode("utf-16-le")
    raw = activity.bytes_le + struct.pack("<QIIIII", 99, 3, 1, 24, 6, 0x2C + len(device)) + device + veto
    event = decode_pnp(Buffer(raw))
    assert event.activity == "{12345678-1234-5678-9ABC-DEF012345678}"
    assert (event.time, event.event, event.in_progress, event.problem, event.veto_type) == (99, 3, 1, 24, 6)
    assert (event.device_id, event.veto) == ("USB\\VID_1234", "\\Driver\\x")


def test_winlogon_state_is_a_name_and_a_flag() -> None:
    name = "ShellRestart\0\0".encode("utf-16-le")
    state = decode_winlogon(Buffer(struct.pack("<III", 1, 12 + len(name), 1) + name))
    assert (state.thread_name, state.pending) == ("ShellRestart", 1)
    with pytest.raises(UnsupportedError):
        decode_winlogon(Buffer(struct.pack("<III", 2, 12, 0)))


def test_pci_functions_carry_bus_device_and_function() -> None:
    config = struct.pack("<HHHHB", 0x8086, 0x1234, 0x406, 0x10, 5).ljust(0x40, b"\0")
    head = struct.pack("<4sIII", b"PCfg", 0x7C, 1, 0x5 << 8 | 0x1C << 3 | 2).ljust(0x38, b"\0")
    record = head + struct.pack("<HH", 0, 0x40) + config
    functions = decode_pci(Buffer(record * 2))
    assert len(functions) == 2
    first = functions[0]
    assert (first.bus, first.device, first.function) == (5, 0x1C, 2)
    assert (first.vendor, first.device_id, first.command, first.status, first.revision) == (
        0x8086,
        0x1234,
        0x406,
        0x10,
        5,
    )


@pytest.mark.parametrize("decode", DECODERS)
def test_noise_and_truncation_give_errors_of_ours_or_nothing(decode: Callable[[Buffer], object]) -> None:
    rng = random.Random(7)
    good = [bytes(boot_status(0xB0)), ntfs([(1, 2, 3)]), b"PCfg" + bytes(0x90), bytes(0x40)]
    for _ in range(400):
        raw = bytearray(rng.choice([*good, rng.randbytes(rng.randrange(0x120))]))
        for _ in range(rng.randrange(4)):
            if raw:
                raw[rng.randrange(len(raw))] = rng.randrange(256)
        with contextlib.suppress(KdiveError):
            decode(Buffer(bytes(raw[: rng.randrange(len(raw) + 1)])))


def test_each_blackbox_is_a_known_writer() -> None:
    for box in BLACKBOXES:
        assert box.command in writer_of(box.guid)
    assert writer_of("00000000-0000-0000-0000-000000000000") == ""
