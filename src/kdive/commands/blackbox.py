"""What parts of Windows were doing at the crash, as their blackbox records tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.blackbox import (
    BootField,
    BootStatusInfo,
    NtfsBlackbox,
    NtfsTimeout,
    PciBlackbox,
    PciEntry,
    PnpBlackbox,
    WinlogonBlackbox,
)
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.formats.buffer import Buffer
from kdive.formats.kernel_dump.header import filetime
from kdive.nt import blackbox
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_LIMIT = 1 << 20
_KINDS = {blackbox.SLOW_IO: "Slow I/O Timeout", blackbox.OPLOCK_BREAK: "Oplock Break Timeout"}


def _block(context: CommandContext, box: blackbox.Blackbox) -> Buffer:
    dump = context.session.dump
    if dump is None:
        raise CommandError("only dumps hold blackbox records")
    block = next((entry for entry in dump.dump.secondary if entry.guid == box.guid and entry.size), None)
    if block is None:
        raise CommandError(
            f"no {box.title} in this dump", hint="not every build and kind of dump has one; .enumtag lists the blocks"
        )
    raw = dump.dump.buffer.bytes(block.offset, min(block.size, _LIMIT))
    return Buffer(raw, box.title, block.offset)


@command(
    "!blackboxbsd",
    group=Group.ANALYSIS,
    summary="show the boot status data: how the last boots and shutdowns went, and the power button",
    needs=(Capability.SECONDARY_DATA,),
)
def blackboxbsd(context: CommandContext, arguments: str) -> BootStatusInfo:
    """Show boot status data."""
    del arguments
    status = blackbox.decode_boot_status(_block(context, blackbox.BSD))
    rows = [
        BootField(label, value, filetime(value) if label in status.times and value else None)
        for label, value in status.fields.items()
    ]
    return BootStatusInfo(status.version, rows, status.truncated)


@command(
    "!blackboxntfs",
    group=Group.ANALYSIS,
    summary="show NTFS requests and oplock breaks that took too long",
    needs=(Capability.SECONDARY_DATA,),
)
def blackboxntfs(context: CommandContext, arguments: str) -> NtfsBlackbox:
    """Show NTFS time-outs."""
    del arguments
    records = blackbox.decode_ntfs(_block(context, blackbox.NTFS))
    rows = [
        NtfsTimeout(
            _KINDS.get(entry.kind, f"kind {entry.kind}"),
            entry.length,
            entry.irp,
            entry.scb,
            entry.thread,
            entry.break_reason,
            entry.owner_process,
            entry.breaking_process,
        )
        for entry in records
    ]
    kinds = [entry.kind for entry in records]
    return NtfsBlackbox(rows, kinds.count(blackbox.SLOW_IO), kinds.count(blackbox.OPLOCK_BREAK))


@command(
    "!blackboxpci",
    group=Group.ANALYSIS,
    summary="list the PCI functions with their command and status registers",
    details=(
        "Command letters: i I/O, m memory, b bus master, v VGA palette snoop, p parity, s system error. "
        "Status letters: c capability list, 6 66 MHz, P data parity error, A target abort signaled, "
        "S system error signaled."
    ),
    needs=(Capability.SECONDARY_DATA,),
)
def blackboxpci(context: CommandContext, arguments: str) -> PciBlackbox:
    """List PCI functions."""
    del arguments
    return PciBlackbox(
        [
            PciEntry(
                entry.bus,
                entry.device,
                entry.function,
                entry.vendor,
                entry.device_id,
                entry.revision,
                entry.command,
                entry.status,
            )
            for entry in blackbox.decode_pci(_block(context, blackbox.PCI))
        ]
    )


@command(
    "!blackboxpnp",
    group=Group.ANALYSIS,
    summary="show the last Plug and Play event: device, problem and veto",
    needs=(Capability.SECONDARY_DATA,),
)
def blackboxpnp(context: CommandContext, arguments: str) -> PnpBlackbox:
    """Show the Plug and Play record."""
    del arguments
    event = blackbox.decode_pnp(_block(context, blackbox.PNP))
    return PnpBlackbox(
        event.activity,
        filetime(event.time) if event.time else None,
        event.time,
        event.event,
        event.in_progress,
        event.problem,
        blackbox.PROBLEMS.get(event.problem, ""),
        event.veto_type,
        event.device_id,
        event.veto,
    )


@command(
    "!blackboxwinlogon",
    group=Group.ANALYSIS,
    summary="show what winlogon was doing",
    needs=(Capability.SECONDARY_DATA,),
)
def blackboxwinlogon(context: CommandContext, arguments: str) -> WinlogonBlackbox:
    """Show the winlogon record."""
    del arguments
    state = blackbox.decode_winlogon(_block(context, blackbox.WINLOGON))
    return WinlogonBlackbox(state.thread_name, state.pending)
