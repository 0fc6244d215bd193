"""Registers, ports, buses and tables of the machine below a live target."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kdive.commands.results.hardware import LocalApic, PciBuses, SegmentTable
from kdive.errors import CapabilityError, CommandError, TargetError, UsageError
from kdive.wire.kd.requests import CACHING_UNCACHED, Api
from tests.commands.live import failure, live_session, run, text
from tests.targets.fake_kd import WAIT
from tests.targets.fake_machine import APIC_BASE, FakeMachine, pci_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kdive.session.session import Session

ENTRY = 0xFFFFF80000201040


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Callable[[FakeMachine], Session]]:
    opened: list[Session] = []

    def opener(fake: FakeMachine) -> Session:
        opened.append(live_session(fake, tmp_path))
        return opened[-1]

    yield opener
    for session in opened:
        session.close()


def test_a_register_is_read_and_written(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    fake.msrs[0, 0xC0000082] = 0xFFFFF80000201040
    session = live(fake)
    assert text(session, "rdmsr c0000082") == "msr[c0000082] = fffff800`00201040"
    assert text(session, "wrmsr c0000082 fffff800`00201041") == "msr[c0000082] = fffff800`00201041"
    assert fake.msrs[0, 0xC0000082] == 0xFFFFF80000201041


def test_a_register_of_another_processor_is_read_there(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    fake.count = 2
    fake.msrs[0, 0x10], fake.msrs[1, 0x10] = 5, 6
    session = live(fake)
    assert text(session, "rdmsr 10; rdmsr /p 1 10; rdmsr 10").splitlines() == [
        "msr[10] = 00000000`00000005",
        "msr[10] = 00000000`00000006",
        "msr[10] = 00000000`00000005",
    ]
    assert fake.requests.count(Api.SWITCH_PROCESSOR) == 2
    assert fake.present == 0


def test_a_register_that_is_not_there_is_refused(live: Callable[[FakeMachine], Session]) -> None:
    session = live(FakeMachine())
    assert isinstance(failure(session, "rdmsr dead"), TargetError)
    assert isinstance(failure(session, "rdmsr /p 7 1b"), CommandError)
    for line in ("rdmsr", "wrmsr 10", "rdmsr 1`00000000", "rdmsr 10 20"):
        assert isinstance(failure(session, line), UsageError), line


@pytest.mark.parametrize(
    ("line", "shown", "asked"),
    [("ib 64", "00000064: 78", 1), ("iw 64", "00000064: 5678", 2), ("id 64", "00000064: 12345678", 4)],
)
def test_ports_are_read_in_their_width(
    line: str, shown: str, asked: int, live: Callable[[FakeMachine], Session]
) -> None:
    fake = FakeMachine()
    fake.ports[0x64] = 0x12345678
    assert text(live(fake), line) == shown
    assert fake.port_sizes == [asked]


def test_ports_are_written(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    session = live(fake)
    assert text(session, "ob 80 ff; ow 82 1234; od cf8 80000000") == "\n\n"
    assert fake.ports == {0x80: 0xFF, 0x82: 0x1234, 0xCF8: 0x80000000}
    for line in ("ob 80 100", "ob 80", "ib 10000", "ib"):
        assert isinstance(failure(session, line), UsageError), line


def test_a_running_target_is_not_asked(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    session = live(fake)
    assert session.run is not None
    session.run.resume()
    assert fake.went_on.wait(WAIT)
    before = len(fake.requests)
    assert "running" in failure(session, "ib 80").what
    assert len(fake.requests) == before


def test_a_dump_has_no_ports(dump_session: Session) -> None:
    for line in ("ib 80", "rdmsr 1b", "!pci", "!apic", "eb 0 0", "!ed 0 0", "fp 0 L1 0"):
        assert isinstance(failure(dump_session, line), CapabilityError), line


@pytest.fixture
def dump_session(cache: Path) -> Iterator[Session]:
    from kdive.session.session import Session, SessionOptions
    from kdive.targets.dump import open_dump
    from tests.tools_sample import SAMPLE

    session = Session(open_dump(SAMPLE / "crash.dmp"), SessionOptions("", (SAMPLE / "isf",), offline=True, cache=cache))
    yield session
    session.close()


@pytest.fixture
def buses() -> FakeMachine:
    fake = FakeMachine()
    fake.functions = {
        (0, 0, 0): pci_header(0x8086, 0x1237, 0x060000),
        (0, 1, 0): pci_header(0x8086, 0x7000, 0x060100, kind=0x80),
        (0, 1, 1): pci_header(0x8086, 0x7010, 0x010180, bars=(0, 0, 0, 0, 0xC001)),
        (0, 2, 0): pci_header(0x1234, 0x1111, 0x030000, bars=(0xFD00000C, 1, 0xFEBF0000)),
        (0, 3, 0): pci_header(0x1B36, 0x0001, 0x060400, kind=1, bus=2),
        (2, 4, 0): pci_header(0x1AF4, 0x1000, 0x020000),
    }
    return fake


def test_buses_are_scanned_through_their_bridges(buses: FakeMachine, live: Callable[[FakeMachine], Session]) -> None:
    session = live(buses)
    (found,) = run(session, "!pci")
    assert isinstance(found, PciBuses)
    assert found.buses == [0, 2]
    assert [(row.bus, row.device, row.function, row.class_name) for row in found.functions] == [
        (0, 0, 0, "Host bridge"),
        (0, 1, 0, "ISA bridge"),
        (0, 1, 1, "IDE controller"),
        (0, 2, 0, "VGA controller"),
        (0, 3, 0, "PCI-PCI bridge"),
        (2, 4, 0, "Ethernet controller"),
    ]
    # One request a slot, and one for each further function of the one device that has several.
    assert found.requests == buses.requests.count(Api.GET_BUS_DATA) == 32 + 7 + 32


def test_base_address_registers_and_raw_bytes_are_shown_on_request(
    buses: FakeMachine, live: Callable[[FakeMachine], Session]
) -> None:
    session = live(buses)
    assert text(session, "!pci 1 0 2").splitlines() == [
        "PCI Segment 0 Bus 0",
        "02:0  1234:1111.03  Cmd[0107:imb..s]  Sts[0290:c.f..]  VGA controller  SubID:1af4:1100",
        "      BAR0  MEM64 1fd000000 prefetchable",
        "      BAR2  MEM   febf0000",
    ]
    raw = text(session, "!pci 8 0 1 1").splitlines()
    assert raw[2] == "      00: 70108086 02900107 01018003 00000000"
    assert len(raw) == 2 + 16
    assert isinstance(failure(session, "!pci 0 100"), UsageError)
    assert text(session, "!pci 0 5").splitlines()[-1].strip() == "nothing"


def test_the_apic_is_read_register_by_register_and_uncached(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    fake.apic = {0x20: 3 << 24, 0x30: 0x50014, 0x80: 0x20, 0xF0: 0x1FF, 0x320: 0x200D1, 0x350: 0x10700, 0x160: 0x20000}
    session = live(fake)
    (found,) = run(session, "!apic")
    assert isinstance(found, LocalApic)
    assert (found.id, found.task_priority, found.in_service) == (3, 0x20, [0xD1])
    assert [(entry.name, entry.vector, entry.masked, entry.mode) for entry in found.vectors][:2] == [
        ("Timer", 0xD1, False, "periodic"),
        ("Linti0", 0, True, ""),
    ]
    assert {(size, caching) for _, size, caching in fake.accesses} == {(4, CACHING_UNCACHED)}
    assert len({address for address, _, _ in fake.accesses}) == len(fake.accesses)
    assert text(session, "!apic").startswith(f"Apic @ {APIC_BASE:x}  ID:3 (50014)")


def test_an_apic_in_x2apic_mode_is_read_through_registers(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    fake.msrs.update({(0, 0x800 + index): 0 for index in range(0x40)})
    fake.msrs.update({(0, 0x1B): APIC_BASE | 0xD00, (0, 0x802): 5, (0, 0x803): 0x50015})
    (found,) = run(live(fake), "!apic")
    assert isinstance(found, LocalApic)
    assert (found.x2apic, found.id, found.format) == (True, 5, None)
    assert fake.accesses == []


def test_segments_are_shown_as_windbg_shows_them(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    table = 0xFFFFF80000203800
    words = (0, 0x00209B0000000000, 0x00CF93000000FFFF, 0x00008B3456780067 | 0x12 << 56, 0xFFFFF800)
    fake.writes.update(enumerate(struct.pack("<5Q", *words), table))
    fake.tables = (table, 0x27, table + 0x100, 0x1F)
    session = live(fake)
    assert text(session, "!gdt").splitlines() == [
        "                                                    P Si Gr Pr Lo",
        "Sel        Base              Limit          Type    l ze an es ng Flags",
        "---- ----------------- ----------------- ---------- - -- -- -- -- --------",
        "0000 00000000`00000000 00000000`00000000 <Reserved> 0 Nb By NP Nl 00000000",
        "0008 00000000`00000000 00000000`00000000 Code RE Ac 0 Nb By P  Lo 0000029b",
        "0010 00000000`00000000 00000000`ffffffff Data RW Ac 0 Bg Pg P  Nl 00000c93",
        "0018 fffff800`12345678 00000000`00000067 TSS64 Busy 0 Nb By P  Nl 0000008b",
    ]
    (one,) = run(session, "dg 10")
    assert isinstance(one, SegmentTable)
    assert [row.selector for row in one.rows] == [0x10]
    assert "beyond" in text(session, "dg 100")
    assert isinstance(failure(session, "dg"), UsageError)


def test_gates_are_shown_with_their_handlers(live: Callable[[FakeMachine], Session]) -> None:
    fake = FakeMachine()
    table = 0xFFFFF80000203800
    gate = struct.pack("<HHBBHII", ENTRY & 0xFFFF, 0x10, 0, 0x8E, ENTRY >> 16 & 0xFFFF, ENTRY >> 32, 0)
    stray = struct.pack("<HHBBHII", 0x1000, 0x10, 0, 0xEF, 0, 0, 0)
    fake.writes.update(enumerate(gate + stray, table))
    fake.tables = (table, 0x27, table, 0x1F)
    session = live(fake)
    lines = text(session, "!idt").splitlines()
    assert lines[1] == f"Dumping IDT: {table:016x}"
    assert lines[3].startswith(f"00:\t{ENTRY:016x} nt!")
    assert lines[4] == "01:\t0000000000001000   (outside every module)"
    assert text(session, "!idt 1").splitlines()[3:] == lines[4:]
    assert isinstance(failure(session, "!idt 2"), CommandError)
