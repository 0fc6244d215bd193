"""Blackbox records: what parts of Windows were doing when the system crashed.

Each is a block of tagged secondary data. Facts:

* boot status: ``RTL_BSD_DATA`` as public headers (phnt, ReactOS) and WinDbg's ``!blackboxbsd`` show it; its version is
  its size. From size 0x98 on there are 16 more bytes before the time of the button's release (seen in dumps of builds
  17134 and 22000).
* PnP, NTFS, winlogon: the fields that WinDbg's commands show; the places as in other open debuggers and in dumps of
  builds 17134 to 22000.
* PCI: ``PCfg`` records {mark, size, number of chunks, bus << 8 | device << 3 | function, ...}, from 0x38 on chunks
  {offset, length, bytes} of configuration space (dumps of build 19041); its header as in the PCI specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError, UnsupportedError
from kdive.formats.guid import guid_text
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdive.formats.buffer import Buffer


class Blackbox(Record, frozen=True):
    """A kind of blackbox record: the GUID of its block, the command that shows it, and what it is."""

    guid: str
    command: str
    title: str


BSD = Blackbox("F57308DF-CC45-4E01-AD76-29A4EBB010EC", "!blackboxbsd", "boot status data")
NTFS = Blackbox("00AFE9C4-940D-4213-8016-CD3719B5BC20", "!blackboxntfs", "NTFS blackbox")
PCI = Blackbox("9276C055-EB87-425C-B8B5-04E4D247F6CD", "!blackboxpci", "PCI configuration")
PNP = Blackbox("B7631941-532A-4CD6-B1B1-EDB5917D4557", "!blackboxpnp", "PnP blackbox")
WINLOGON = Blackbox("80CC79CF-A719-4AF1-BF97-FE29FF76EBC1", "!blackboxwinlogon", "winlogon blackbox")
BLACKBOXES = (BSD, NTFS, PCI, PNP, WINLOGON)

PROBLEMS: Mapping[int, str] = {
    1: "CM_PROB_NOT_CONFIGURED",
    2: "CM_PROB_DEVLOADER_FAILED",
    3: "CM_PROB_OUT_OF_MEMORY",
    4: "CM_PROB_ENTRY_IS_WRONG_TYPE",
    5: "CM_PROB_LACKED_ARBITRATOR",
    6: "CM_PROB_BOOT_CONFIG_CONFLICT",
    7: "CM_PROB_FAILED_FILTER",
    8: "CM_PROB_DEVLOADER_NOT_FOUND",
    9: "CM_PROB_INVALID_DATA",
    10: "CM_PROB_FAILED_START",
    11: "CM_PROB_LIAR",
    12: "CM_PROB_NORMAL_CONFLICT",
    13: "CM_PROB_NOT_VERIFIED",
    14: "CM_PROB_NEED_RESTART",
    15: "CM_PROB_REENUMERATION",
    16: "CM_PROB_PARTIAL_LOG_CONF",
    17: "CM_PROB_UNKNOWN_RESOURCE",
    18: "CM_PROB_REINSTALL",
    19: "CM_PROB_REGISTRY",
    20: "CM_PROB_VXDLDR",
    21: "CM_PROB_WILL_BE_REMOVED",
    22: "CM_PROB_DISABLED",
    23: "CM_PROB_DEVLOADER_NOT_READY",
    24: "CM_PROB_DEVICE_NOT_THERE",
    25: "CM_PROB_MOVED",
    26: "CM_PROB_TOO_EARLY",
    27: "CM_PROB_NO_VALID_LOG_CONF",
    28: "CM_PROB_FAILED_INSTALL",
    29: "CM_PROB_HARDWARE_DISABLED",
    30: "CM_PROB_CANT_SHARE_IRQ",
    31: "CM_PROB_FAILED_ADD",
    32: "CM_PROB_DISABLED_SERVICE",
    33: "CM_PROB_TRANSLATION_FAILED",
    34: "CM_PROB_NO_SOFTCONFIG",
    35: "CM_PROB_BIOS_TABLE",
    36: "CM_PROB_IRQ_TRANSLATION_FAILED",
    37: "CM_PROB_FAILED_DRIVER_ENTRY",
    38: "CM_PROB_DRIVER_FAILED_PRIOR_UNLOAD",
    39: "CM_PROB_DRIVER_FAILED_LOAD",
    40: "CM_PROB_DRIVER_SERVICE_KEY_INVALID",
    41: "CM_PROB_LEGACY_SERVICE_NO_DEVICES",
    42: "CM_PROB_DUPLICATE_DEVICE",
    43: "CM_PROB_FAILED_POST_START",
    44: "CM_PROB_HALTED",
    45: "CM_PROB_PHANTOM",
    46: "CM_PROB_SYSTEM_SHUTDOWN",
    47: "CM_PROB_HELD_FOR_EJECT",
    48: "CM_PROB_DRIVER_BLOCKED",
    49: "CM_PROB_REGISTRY_TOO_LARGE",
    50: "CM_PROB_SETPROPERTIES_FAILED",
    51: "CM_PROB_WAITING_ON_DEPENDENCY",
    52: "CM_PROB_UNSIGNED_DRIVER",
    53: "CM_PROB_USED_BY_DEBUGGER",
    54: "CM_PROB_DEVICE_RESET",
    55: "CM_PROB_CONSOLE_LOCKED",
    56: "CM_PROB_NEED_CLASS_CONFIG",
    57: "CM_PROB_GUEST_ASSIGNMENT_FAILED",
}
"""Device problem codes (``cfg.h``)."""

_BSD_SMALLEST = 0x40
_BSD_ERROR_INFO = 0x58
_BSD_BUTTON = 0x88
_BSD_LONG_BUTTON = 0x98
_REASON_MASK = 0x3F
"""Reasons are six bits; the two above belong to another field (a byte 0xC0 is shown by WinDbg as reason 0)."""


class BootStatus(Record, frozen=True):
    """Boot status data.

    Attributes:
        version: Size of the structure that the kernel wrote.
        fields: WinDbg's labels and the values; a bool is shown as TRUE or FALSE.
        times: The labels whose values are FILETIMEs.
        truncated: The block is shorter than its version says.
    """

    version: int
    fields: Mapping[str, int | bool]
    times: frozenset[str]
    truncated: bool


class NtfsRecord(Record, frozen=True):
    """An NTFS time-out: its kind (1 slow I/O, 2 oplock break), length in bytes and what it names."""

    kind: int
    length: int
    irp: int
    scb: int
    thread: int | None = None
    break_reason: int | None = None
    owner_process: str = ""
    breaking_process: str = ""


class PnpEvent(Record, frozen=True):
    """The last Plug and Play event: see WinDbg's ``!blackboxpnp`` for the fields. ``time`` is a FILETIME."""

    activity: str
    time: int
    event: int
    in_progress: int
    problem: int
    veto_type: int
    device_id: str
    veto: str


class WinlogonState(Record, frozen=True):
    """What winlogon was doing: the name of the operation's thread, and whether the operation was pending."""

    thread_name: str
    pending: int


class PciFunction(Record, frozen=True):
    """The head of a PCI function's configuration space."""

    bus: int
    device: int
    function: int
    vendor: int
    device_id: int
    revision: int
    command: int
    status: int


def _text(buffer: Buffer, offset: int) -> str:
    raw = buffer.bytes(offset, (len(buffer) - offset) & ~1)
    return raw.decode("utf-16-le", "replace").split("\0", 1)[0]


def decode_boot_status(buffer: Buffer) -> BootStatus:
    """Decode boot status data.

    Raises:
        FormatError: The block is too short.
    """
    version = buffer.u32(0)
    extent = min(version, len(buffer))
    if extent < _BSD_SMALLEST:
        raise FormatError(f"boot status data of {extent:#x} bytes: too short", where=buffer.name)
    flags = buffer.u8(0x18)
    fields: dict[str, int | bool] = {
        "Product type": buffer.u32(4),
        "Auto advanced boot": bool(buffer.u8(8)),
        "Advanced boot menu timeout": buffer.u8(9),
        "Last boot succeeded": bool(buffer.u8(0xA)),
        "Last boot shutdown": bool(buffer.u8(0xB)),
        "Sleep in progress": bool(buffer.u8(0xC)),
        "Power button timestamp": buffer.u64(0x10),
        "System running": bool(flags & 1),
        "Connected standby in progress": bool(flags & 2),
        "User shutdown in progress": bool(flags & 4),
        "System shutdown in progress": bool(flags & 8),
        "Sleep state": flags >> 4,
        "Connected standby scenario instance id": buffer.u8(0x19),
        "Connected standby entry reason": buffer.u8(0x1A) & _REASON_MASK,
        "Connected standby exit reason": buffer.u8(0x1B) & _REASON_MASK,
        "System sleep transitions to on": buffer.u16(0x1C),
        "Last reference time": buffer.u64(0x20),
        "Last reference time checksum": buffer.u32(0x28),
        "Last update boot id": buffer.u32(0x2C),
        "Boot attempt count": buffer.u8(0x30),
        "Last boot checkpoint": bool(buffer.u8(0x31)),
        "Checksum": buffer.u8(0x32),
        "Last boot id": buffer.u32(0x34),
        "Last successful shutdown boot id": buffer.u32(0x38),
        "Last reported abnormal shutdown boot id": buffer.u32(0x3C),
    }
    times = {"Power button timestamp", "Last reference time"}
    if extent >= _BSD_ERROR_INFO:
        fields["Error info boot id"] = buffer.u32(0x40)
        fields["Error info repeat count"] = buffer.u32(0x44)
        fields["Error info other error count"] = buffer.u32(0x48)
        fields["Error info code"] = buffer.u32(0x4C)
        fields["Error info status"] = buffer.u32(0x50)
    if extent >= _BSD_BUTTON and (version < _BSD_LONG_BUTTON or extent >= _BSD_LONG_BUTTON):
        _power_button(buffer, 0x78 if version >= _BSD_LONG_BUTTON else 0x68, fields)
        times |= {"Power button last press time", "Power button last release time"}
    return BootStatus(version, fields, frozenset(times), len(buffer) < version)


def _power_button(buffer: Buffer, release: int, fields: dict[str, int | bool]) -> None:
    flags = buffer.u8(0x67)
    fields["Power button last press time"] = buffer.u64(0x58)
    fields["Power button cumulative press count"] = buffer.u32(0x60)
    fields["Power button last press boot id"] = buffer.u16(0x64)
    fields["Power button last power watchdog stage"] = buffer.u8(0x66)
    fields["Power button watchdog armed"] = bool(flags & 1)
    fields["Power button shutdown in progress"] = bool(flags & 2)
    fields["Power button last release time"] = buffer.u64(release)
    fields["Power button cumulative release count"] = buffer.u32(release + 8)
    fields["Power button last release boot id"] = buffer.u16(release + 12)
    fields["Power button error count"] = buffer.u16(release + 14)
    fields["Power button current connected standby phase"] = buffer.u8(release + 16)
    fields["Power button transition latest checkpoint id"] = buffer.u32(release + 20)
    fields["Power button transition latest checkpoint type"] = buffer.u32(release + 24)
    fields["Power button transition latest checkpoint sequence number"] = buffer.u32(release + 28)


_NTFS_HEADER = 0x18
_SLOT_SIZE = 0x20
SLOW_IO, OPLOCK_BREAK = 1, 2
_NAME_SIZE = 15


def decode_ntfs(buffer: Buffer) -> list[NtfsRecord]:
    """Decode NTFS time-outs: fixed slots of slow I/O, then a chain of records of other kinds.

    Raises:
        FormatError: The header does not fit the block.
        UnsupportedError: The layout is of another version.
    """
    version, total, chain = buffer.u16(0), buffer.u16(2), buffer.u16(4)
    if version != 0:
        raise UnsupportedError(f"NTFS blackbox of version {version}: only version 0 is known", where=buffer.name)
    count, slots = buffer.u16(0x10), buffer.u16(0x12)
    if not _NTFS_HEADER <= total <= len(buffer) or slots < _NTFS_HEADER or slots + count * _SLOT_SIZE > total:
        raise FormatError("the header of the NTFS blackbox does not fit its size", where=buffer.name)
    records: list[NtfsRecord] = []
    for at in range(slots, slots + count * _SLOT_SIZE, _SLOT_SIZE):
        irp, scb = buffer.u64(at), buffer.u64(at + 8)
        if irp or scb:
            records.append(NtfsRecord(SLOW_IO, _SLOT_SIZE, irp, scb, thread=buffer.u64(at + 16)))
    seen: set[int] = set()
    while chain and chain not in seen and chain + 8 <= total:
        seen.add(chain)
        records.extend(_chained(buffer, chain, total))
        chain = buffer.u16(chain + 4)
    return records


def _chained(buffer: Buffer, at: int, total: int) -> list[NtfsRecord]:
    kind, length = buffer.u16(at), buffer.u16(at + 2)
    if kind == 0 or at + length > total:
        return []
    if kind == SLOW_IO and length >= 24:
        return [NtfsRecord(kind, length, buffer.u64(at), buffer.u64(at + 8), thread=buffer.u64(at + 16))]
    if kind == OPLOCK_BREAK and length >= 28 + 2 * _NAME_SIZE:
        owner, breaking = (
            buffer.bytes(at + place, _NAME_SIZE).split(b"\0", 1)[0].decode("latin-1") for place in (28, 28 + _NAME_SIZE)
        )
        reason = buffer.u32(at + 24)
        return [NtfsRecord(kind, length, buffer.u64(at + 8), buffer.u64(at + 16), None, reason, owner, breaking)]
    return [NtfsRecord(kind, length, 0, 0)]


def decode_pnp(buffer: Buffer) -> PnpEvent:
    """Decode the Plug and Play record.

    Raises:
        FormatError: The block is too short.
    """
    veto = buffer.u32(0x28)
    return PnpEvent(
        "{" + guid_text(buffer.bytes(0, 16)) + "}",
        buffer.u64(0x10),
        buffer.u32(0x18),
        buffer.u8(0x1C),
        buffer.u32(0x20),
        buffer.u32(0x24),
        _text(buffer, 0x2C),
        _text(buffer, veto) if 0x2C <= veto < len(buffer) else "",
    )


def decode_winlogon(buffer: Buffer) -> WinlogonState:
    """Decode the winlogon record.

    Raises:
        FormatError: The block is too short.
        UnsupportedError: It is of another version than 1.
    """
    version, size = buffer.u32(0), buffer.u32(4)
    if version != 1:
        raise UnsupportedError(f"winlogon blackbox of version {version}: only version 1 is known", where=buffer.name)
    if size > len(buffer):
        raise FormatError("the winlogon blackbox is cut short", where=buffer.name)
    pending = buffer.u32(8)
    return WinlogonState(_text(buffer, 0xC), pending)


_PCI_MARK = b"PCfg"
_PCI_CONFIGURATION = 0x3C
_PCI_SMALLEST = 0x7C


def decode_pci(buffer: Buffer) -> list[PciFunction]:
    """Decode the PCI configuration records.

    Raises:
        FormatError: The block does not start with a record.
    """
    if buffer.bytes(0, 4) != _PCI_MARK:
        raise FormatError("no PCfg record at the start of the PCI blackbox", where=buffer.name)
    functions: list[PciFunction] = []
    at = 0
    while at + _PCI_SMALLEST <= len(buffer) and buffer.bytes(at, 4) == _PCI_MARK:
        size, location, config = buffer.u32(at + 4), buffer.u32(at + 12), at + _PCI_CONFIGURATION
        if size < _PCI_SMALLEST:
            break
        functions.append(
            PciFunction(
                location >> 8 & 0xFF,
                location >> 3 & 0x1F,
                location & 7,
                buffer.u16(config),
                buffer.u16(config + 2),
                buffer.u8(config + 8),
                buffer.u16(config + 4),
                buffer.u16(config + 6),
            )
        )
        at += size
    return functions
