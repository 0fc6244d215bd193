"""WinDbg commands that kdive knows of and cannot do yet: what to say instead of "unknown command"."""

from __future__ import annotations

_REASONS = {
    "is not in this release": (
        ".restart .kill .detach .abandon a .pagein !ioapic !handle !object !vad !pool !poolused !poolfind !vm "
        "!memusage !pfn !irp !drvobj !devobj !devstack !devnode !locks !stacks !dpcs !timer !apc !ready !verifier "
        "!token !sd !reg !session !job !chkimg !uniqstack !findstack !for_each_frame .shell .lines kd .kframes "
        "!sysinfo .context .tss"
    ),
}


def unavailable(name: str) -> str:
    """Return why a known command cannot be used, empty if the name is not known."""
    for reason, names in _REASONS.items():
        if name in names.split():
            return reason
    return ""
