"""Model-specific registers and I/O ports of a live target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.hardware import PortValue, RegisterValue
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.targets.base import Capability
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.targets.hardware import Hardware

_SIZES = {"b": 1, "w": 2, "d": 4}
_PROCESSOR = re.compile(r"/p\s+(\S+)\s*(.*)", re.DOTALL)


def halted_target(context: CommandContext) -> LiveTarget:
    """The session's live target, which must stand still.

    Raises:
        CommandError: It does not.
    """
    session = context.session
    target = session.target
    if not isinstance(target, LiveTarget) or session.run is None:
        raise CommandError("this needs a live target")
    session.run.service()
    if not target.halted:
        raise CommandError("the target is running", hint="stop it first: Ctrl+C, or break")
    return target


def hardware(context: CommandContext) -> Hardware:
    """The machine below the session's target, which must stand still.

    Raises:
        CommandError: The target does not reach it, or runs.
    """
    found = halted_target(context).hardware
    if found is None:
        raise CommandError("this way to the target does not reach the machine below it")
    return found


def take_processor(context: CommandContext, arguments: str) -> tuple[int, str]:
    """Parse ``/p <processor>`` at the start of arguments; without it the processor in scope is meant."""
    match = _PROCESSOR.match(arguments)
    if match is None:
        return context.session.scope.processor, arguments
    number = context.evaluate(match[1])
    if not 0 <= number < context.session.target.processors:
        raise CommandError(f"no processor {number}: the target has {context.session.target.processors}")
    return number, match[2]


def _take_register(context: CommandContext, text: str) -> tuple[int, str, str]:
    """Parse the register of ``rdmsr``: a number, or on ARM64 a system register by name; return number, name, rest."""
    if context.session.target.machine == "arm64":
        from kdive.arch.arm64.system_registers import system_register

        word, _, rest = text.partition(" ")
        number = system_register(word)
        if number is not None:
            return number, word.upper(), rest.strip()
    number, rest = context.take(text)
    if not 0 <= number < 1 << 32:
        raise context.usage_error(f"a register number has 32 bits, not {number:#x}")
    return number, "", rest


@command(
    "rdmsr",
    syntax="[/p <processor>] <msr>",
    group=Group.STACK,
    summary="read a model-specific register; on ARM64 a system register by name or number",
    details="The target may refuse a register that the processor does not have. On ARM64 a register is named as in "
    "the manual (TTBR1_EL1) or by its encoding (S3_0_C2_C0_1).",
    examples=("rdmsr c0000082", "rdmsr /p 1 1b"),
    needs=(Capability.MSR,),
)
def rdmsr(context: CommandContext, arguments: str) -> RegisterValue:
    """Read a register."""
    processor, rest = take_processor(context, arguments)
    if not rest:
        raise context.usage_error("a register is needed")
    register, name, rest = _take_register(context, rest)
    if rest:
        raise context.usage_error(f"{rest!r} behind the register is not understood")
    return RegisterValue(register, hardware(context).read_msr(register, processor), processor, name)


@command(
    "wrmsr",
    syntax="[/p <processor>] <msr> <value>",
    group=Group.STACK,
    summary="write a model-specific register; on ARM64 a system register",
    details="A wrong value can end the guest at once.",
    examples=("wrmsr c0000103 0",),
    needs=(Capability.MSR, Capability.REGISTER_WRITE),
)
def wrmsr(context: CommandContext, arguments: str) -> RegisterValue:
    """Write a register."""
    processor, rest = take_processor(context, arguments)
    if not rest:
        raise context.usage_error("a register and a value are needed")
    register, name, rest = _take_register(context, rest)
    if not rest:
        raise context.usage_error("a value is needed")
    value = context.evaluate(rest) & ((1 << 64) - 1)
    hardware(context).write_msr(register, value, processor)
    return RegisterValue(register, value, processor, name, written=True)


def _port(context: CommandContext, text: str) -> tuple[int, str]:
    if not text:
        raise context.usage_error("a port is needed")
    port, rest = context.take(text)
    if not 0 <= port <= 0xFFFF:
        raise context.usage_error(f"a port has 16 bits, not {port:#x}")
    return port, rest


@command(
    "ib",
    "iw",
    "id",
    syntax="<port>",
    group=Group.MEMORY,
    summary="read an I/O port as a byte, word or double word",
    details="Reading a port can change the device behind it.",
    examples=("ib 64", "id cfc"),
    needs=(Capability.IO_PORTS,),
)
def read_port(context: CommandContext, arguments: str) -> PortValue:
    """Read a port."""
    size = _SIZES[context.name[1]]
    port, rest = _port(context, arguments)
    if rest:
        raise context.usage_error(f"{rest!r} behind the port is not understood")
    return PortValue(port, size, hardware(context).read_port(port, size))


@command(
    "ob",
    "ow",
    "od",
    syntax="<port> <value>",
    group=Group.MEMORY,
    summary="write a byte, word or double word to an I/O port",
    examples=("ob 80 1", "od cf8 80000000"),
    needs=(Capability.IO_PORTS, Capability.REGISTER_WRITE),
)
def write_port(context: CommandContext, arguments: str) -> PortValue:
    """Write a port."""
    size = _SIZES[context.name[1]]
    port, rest = _port(context, arguments)
    if not rest:
        raise context.usage_error("a value is needed")
    value = context.evaluate(rest) & ((1 << 64) - 1)
    if value >> 8 * size:
        raise context.usage_error(f"{value:#x} does not fit {size} byte{'s' if size > 1 else ''}")
    hardware(context).write_port(port, size, value)
    return PortValue(port, size, value, written=True)
