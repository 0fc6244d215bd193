"""Results of the blackbox commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kdive.commands.results import address_field

if TYPE_CHECKING:
    import datetime


@dataclass(frozen=True)
class BootField:
    """A field of the boot status: WinDbg's label, its value, and the moment if it is a time."""

    label: str
    value: int | bool
    time: datetime.datetime | None = None


@dataclass(frozen=True)
class BootStatusInfo:
    """``!blackboxbsd``."""

    version: int
    fields: list[BootField]
    truncated: bool = False


@dataclass(frozen=True)
class NtfsTimeout:
    """A record of ``!blackboxntfs``."""

    kind: str
    length: int
    irp: int = address_field()
    scb: int = address_field()
    thread: int | None = address_field(default=None)
    break_reason: int | None = None
    owner_process: str = ""
    breaking_process: str = ""


@dataclass(frozen=True)
class NtfsBlackbox:
    """``!blackboxntfs``: the records, and how many there are of each kind."""

    records: list[NtfsTimeout]
    slow_io: int
    oplock_breaks: int


@dataclass(frozen=True)
class PnpBlackbox:
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


@dataclass(frozen=True)
class WinlogonBlackbox:
    """``!blackboxwinlogon``."""

    thread_name: str
    pending: int


@dataclass(frozen=True)
class PciEntry:
    """A PCI function of ``!blackboxpci``."""

    bus: int
    device: int
    function: int
    vendor: int
    device_id: int
    revision: int
    command: int
    status: int


@dataclass(frozen=True)
class PciBlackbox:
    """``!blackboxpci``."""

    functions: list[PciEntry] = field(default_factory=list[PciEntry])
