"""WinDbg commands that kdive knows of and cannot do yet: what to say instead of "unknown command"."""

from __future__ import annotations

_REASONS = {
    "runs the target, and a dump cannot run; live targets are not in this release": (
        "g gh gn gu gc p t pa pc pt ph ta tc tt th wt si ni .reboot .crash .restart .kill .detach .abandon"
    ),
    "sets or lists breakpoints, and a dump cannot stop at one; live targets are not in this release": (
        "bp bu bm ba bl bc bd be br bs bsc .bpcmds sx sxe sxd sxi sxn sxr"
    ),
    "changes memory or devices, and a dump cannot be changed": (
        "ea eb ed eq ef eD ep eu ew eza ezu f fp m a wrmsr ob ow od !eb !ed !eq .pagein"
    ),
    "reads the live processor, and a dump holds none": "rdmsr ib iw id !apic !ioapic",
    "is not in this release": (
        "!handle !object !vad !pool !poolused !poolfind !vm !memusage !pfn !irp "
        "!drvobj !devobj !devstack !devnode !locks !stacks !idt !gdt dg !dpcs !timer !apc !ready !verifier !token !sd "
        "!reg !session !job !chkimg !uniqstack !findstack !for_each_frame .dump .shell .lines kd .kframes "
        "!sysinfo .context .tss"
    ),
}


def unavailable(name: str) -> str:
    """Return why a known command cannot be used, empty if the name is not known."""
    for reason, names in _REASONS.items():
        if name in names.split():
            return reason
    return ""
