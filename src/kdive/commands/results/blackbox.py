"""Results of the blackbox commands."""

from __future__ import annotations

import datetime

from kdive.commands.results import Address
from kdive.record import Record, field


class BootField(Record, frozen=True):
    """A field of the boot status: WinDbg's label, its value, and the moment if it is a time."""

    label: str
    value: int | bool
    time: datetime.datetime | None = None


class BootStatusInfo(Record, frozen=True):
    """``!blackboxbsd``."""

    version: int
    fields: list[BootField]
    truncated: bool = False


class NtfsTimeout(Record, frozen=True):
    """A record of ``!blackboxntfs``."""

    kind: str
    length: int
    irp: Address
    scb: Address
    thread: Address | None = None
    break_reason: int | None = None
    owner_process: str = ""
    breaking_process: str = ""


class NtfsBlackbox(Record, frozen=True):
    """``!blackboxntfs``: the records, and how many there are of each kind."""

    records: list[NtfsTimeout]
    slow_io: int
    oplock_breaks: int


class PnpBlackbox(Record, frozen=True):
    """``!blackboxpnp``."""

    activity: str
    time: datetime.datetime | None
    filetime: int
    event: int
    in_progress: int
    problem: int
    problem_name: str
    veto_type: int
    device_id: str
    veto: str


class WinlogonBlackbox(Record, frozen=True):
    """``!blackboxwinlogon``."""

    thread_name: str
    pending: int


class PciEntry(Record, frozen=True):
    """A PCI function of ``!blackboxpci``."""

    bus: int
    device: int
    function: int
    vendor: int
    device_id: int
    revision: int
    command: int
    status: int


class PciBlackbox(Record, frozen=True):
    """``!blackboxpci``."""

    functions: list[PciEntry] = field(default_factory=list[PciEntry])
