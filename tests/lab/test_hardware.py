"""The machine below the lab's guest: what kdive reads is what QEMU and the guest say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.commands.results.hardware import InterruptTable, PciBuses, RegisterValue, SegmentTable
from tests.lab.test_guest import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session


def test_registers_ports_and_tables_of_the_machine(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine(memory=16)
    control_region = int(guest.command("processors")[0].split()[1], 16)
    session = attach(guest.kd)
    (base,) = run(session, "rdmsr c0000101")
    assert isinstance(base, RegisterValue)
    assert base.value == control_region
    (written, back) = run(session, "wrmsr c0000102 1234; rdmsr c0000102")
    assert written.value == back.value == 0x1234
    # The index port of the clock holds what is written to it; bit 7 reads as it was set.
    (port,) = run(session, "ib 64")
    assert 0 <= port.value <= 0xFF
    (segments,) = run(session, "!gdt")
    assert isinstance(segments, SegmentTable)
    assert (segments.rows[2].selector, segments.rows[2].long, segments.rows[2].present) == (0x10, True, True)
    (gates,) = run(session, "!idt")
    assert isinstance(gates, InterruptTable)
    assert gates.gates[3].symbol.startswith("nt!")
    assert {gate.note for gate in gates.gates} == {""}


def test_the_buses_are_those_that_qemu_reports(machine: Callable[..., Any], attach: Callable[..., Session]) -> None:
    guest = machine(memory=16)
    reported: Any = guest.qmp("query-pci")
    session = attach(guest.kd)
    (found,) = run(session, "!pci 1")
    assert isinstance(found, PciBuses)
    shown = {(row.bus, row.device, row.function, row.vendor_id, row.device_id) for row in found.functions}
    assert shown == {
        (bus["bus"], one["slot"], one["function"], one["id"]["vendor"], one["id"]["device"])
        for bus in reported
        for one in bus["devices"]
    }


def test_memory_that_is_written_is_in_the_machines_memory(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    guest = machine(memory=16)
    session = attach(guest.kd)
    run(session, '!eb 900000 4b 44; fp 900002 L3 7; f ffff8000`00900010 L1000 5a; eza ffff8000`00902000 "text"')
    with guest.ram.open("rb") as file:
        file.seek(0x900000)
        assert file.read(5) == b"KD\x07\x07\x07"
        file.seek(0x900010)
        assert file.read(0x1000) == b"\x5a" * 0x1000
        file.seek(0x902000)
        assert file.read(5) == b"text\0"
