"""The local APIC of a live target's processor.

Source: Intel SDM volume 3A, chapter "Advanced programmable interrupt controller".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.hardware import halted_target, hardware
from kdive.commands.results.hardware import LocalApic, LocalVector
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError, MemoryAccessError, UnsupportedError
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.commands.context import CommandContext

_BASE_REGISTER, _X2APIC_REGISTERS = 0x1B, 0x800
_ENABLED, _X2APIC = 1 << 11, 1 << 10
_FRAME = 0x000F_FFFF_FFFF_F000
_DELIVERY = ("Fixed", "Lowest", "SMI", "Reserved3", "NMI", "INIT", "Reserved6", "ExtINT")
_TIMER_MODES = ("one-shot", "periodic", "TSC-deadline", "reserved")
_TIMER, _LINT0, _LINT1 = 0x320, 0x350, 0x360
_VECTORS = (
    ("Timer", _TIMER),
    ("Linti0", _LINT0),
    ("Linti1", _LINT1),
    ("PMI", 0x340),
    ("Error", 0x370),
    ("Thermal", 0x330),
)
_IN_SERVICE, _TRIGGER, _REQUEST = 0x100, 0x180, 0x200


def local_vector(name: str, value: int) -> LocalVector:
    """Decode an entry of the local vector table."""
    return LocalVector(
        name,
        value,
        value & 0xFF,
        "Fixed" if name in ("Timer", "Error") else _DELIVERY[value >> 8 & 7],
        bool(value >> 15 & 1),
        bool(value >> 13 & 1),
        bool(value >> 16 & 1),
        _TIMER_MODES[value >> 17 & 3] if name == "Timer" else "",
    )


def _bits(read: Callable[[int], int], start: int) -> list[int]:
    """The numbers of the bits that are set in eight registers of 32 bits."""
    found: list[int] = []
    for index in range(8):
        word = read(start + 0x10 * index)
        found += [32 * index + bit for bit in range(32) if word >> bit & 1]
    return found


@command(
    "!apic",
    syntax="[<processor>]",
    group=Group.KERNEL,
    summary="show the local APIC: identity, priorities, timer, local vectors, pending interrupts",
    details="Where the APIC is in x2APIC mode its registers are read as model-specific registers, else through the "
    "physical page that MSR 1b names: then only that of the processor that the target stopped on can be read.",
    needs=(Capability.MSR, Capability.PHYSICAL_MEMORY),
)
def apic(context: CommandContext, arguments: str) -> LocalApic:
    """Show the local APIC."""
    session = context.session
    if session.target.machine != "amd64":
        raise UnsupportedError("only x64 processors have a local APIC")
    target, machine = halted_target(context), hardware(context)
    processor = context.evaluate(arguments) if arguments else session.scope.processor
    if not 0 <= processor < target.processors:
        raise CommandError(f"no processor {processor}: the target has {target.processors}")
    setting = machine.read_msr(_BASE_REGISTER, processor)
    base, x2apic = setting & _FRAME, bool(setting & _X2APIC)
    if not x2apic and processor != target.processor:
        raise CommandError(
            "the page shows the APIC of the processor that reads it",
            hint=f"the target stopped on processor {target.processor}",
        )

    def read(offset: int) -> int:
        context.cancel.check()
        if x2apic:
            return machine.read_msr(_X2APIC_REGISTERS + (offset >> 4), processor)
        return machine.read_device(base + offset, 4)

    try:
        version = read(0x30)
    except MemoryAccessError as error:
        raise CommandError(
            f"the target does not read its APIC's page: {error.reason}",
            where=f"{base:#x}",
            hint="rdmsr 1b shows the setting",
        ) from error
    entries = (version >> 16 & 0xFF) + 1
    vectors: list[LocalVector] = []
    # Entries come with the version: the first four of a plain APIC, then performance counters and the thermal sensor.
    for name, offset in _VECTORS[: max(3, min(entries, len(_VECTORS)))]:
        try:
            vectors.append(local_vector(name, read(offset)))
        except KdiveError:
            continue
    # In x2APIC mode the command register is one of 64 bits.
    command_register = read(0x300) if x2apic else read(0x300) | read(0x310) << 32
    number = read(0x20)
    return LocalApic(
        processor,
        base,
        x2apic,
        bool(setting & _ENABLED),
        number if x2apic else number >> 24,
        version,
        read(0xD0),
        None if x2apic else read(0xE0),
        read(0x80) & 0xFF,
        read(0xA0) & 0xFF,
        read(0x380),
        read(0x390),
        read(0x3E0),
        read(0xF0),
        read(0x280),
        command_register,
        vectors,
        _bits(read, _IN_SERVICE),
        _bits(read, _TRIGGER),
        _bits(read, _REQUEST),
    )
