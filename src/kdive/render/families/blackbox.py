"""Blackbox records as text, with WinDbg's labels."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.blackbox import (
    BootStatusInfo,
    NtfsBlackbox,
    PciBlackbox,
    PnpBlackbox,
    WinlogonBlackbox,
)
from kdive.render.families.target import moment
from kdive.render.styled import Style, StyledText

_COMMAND = ((1, "i"), (2, "m"), (4, "b"), (0x20, "v"), (0x40, "p"), (0x100, "s"))
_STATUS = ((0x10, "c"), (0x20, "6"), (0x100, "P"), (0x800, "A"), (0x4000, "S"))
_HEXADECIMAL = {"Checksum", "Last reference time checksum", "Power button last power watchdog stage"}


def boot_status(result: BootStatusInfo) -> StyledText:
    """``!blackboxbsd``."""
    text = StyledText().line(f"Version: {result.version:#x}")
    if result.truncated:
        text.line("The block is shorter than its version says; what is there follows.", Style.NOTE)
    for entry in result.fields:
        if isinstance(entry.value, bool):
            shown = "TRUE" if entry.value else "FALSE"
        elif entry.time is not None or entry.label in _HEXADECIMAL:
            shown = f"{entry.value:#x}"
        else:
            shown = str(entry.value)
        text.add(f"{entry.label}: {shown}")
        text.line(f"  {moment(entry.time)}" if entry.time is not None else "", Style.NOTE)
    return text


def ntfs(result: NtfsBlackbox) -> StyledText:
    """``!blackboxntfs``."""
    text = StyledText().line("NTFS Blackbox Data", Style.HEADER).line()
    for index, entry in enumerate(result.records):
        text.line(f"Record {index}: {entry.kind}, {entry.length} bytes")
        text.line(f"  Irp: {format_address(entry.irp)}  Scb: {format_address(entry.scb)}")
        if entry.thread is not None:
            text.line(f"  Thread: {format_address(entry.thread)}")
        if entry.break_reason is not None:
            text.line(f"  Break Reason: {entry.break_reason}")
            text.line(f"  Owner Process Name: '{entry.owner_process}'")
            text.line(f"  Breaking Process Name: '{entry.breaking_process}'")
        text.line()
    text.line(f"{result.slow_io} Slow I/O Timeout Records Found")
    return text.line(f"{result.oplock_breaks} Oplock Break Timeout Records Found")


def pnp(result: PnpBlackbox) -> StyledText:
    """``!blackboxpnp``."""
    problem = f" ({result.problem_name})" if result.problem_name else ""
    text = StyledText()
    text.line(f"    PnpActivityId      : {result.activity}")
    text.add(f"    PnpActivityTime    : {result.filetime}")
    text.line(f"  {moment(result.time)}" if result.time is not None else "", Style.NOTE)
    text.line(f"    PnpEventInformation: {result.event}")
    text.line(f"    PnpEventInProgress : {result.in_progress}")
    text.line(f"    PnpProblemCode     : {result.problem}{problem}")
    text.line(f"    PnpVetoType        : {result.veto_type}")
    text.line(f"    DeviceId           : {result.device_id}")
    return text.line(f"    VetoString         : {result.veto}".rstrip())


def winlogon(result: WinlogonBlackbox) -> StyledText:
    """``!blackboxwinlogon``."""
    text = StyledText().line(f"    ThreadName         : {result.thread_name}")
    return text.line(f"    IsOperationPending : {result.pending}")


def _letters(value: int, bits: tuple[tuple[int, str], ...]) -> str:
    return "".join(letter if value & bit else "." for bit, letter in bits)


def pci(result: PciBlackbox) -> StyledText:
    """``!blackboxpci``."""
    text = StyledText()
    for entry in result.functions:
        text.line(
            f"{entry.bus:02x}:{entry.device:02x}:{entry.function:x}  "
            f"{entry.vendor:04x}:{entry.device_id:04x}.{entry.revision:02x}  "
            f"Cmd[{entry.command:04x}:{_letters(entry.command, _COMMAND)}]  "
            f"Sts[{entry.status:04x}:{_letters(entry.status, _STATUS)}]"
        )
    return text


RENDERERS = {
    BootStatusInfo: boot_status,
    NtfsBlackbox: ntfs,
    PnpBlackbox: pnp,
    WinlogonBlackbox: winlogon,
    PciBlackbox: pci,
}
