"""Results of stack and register commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class FrameInfo(Record, frozen=True):
    """One stack frame.

    Attributes:
        index: Frame number from the innermost, 0.
        child_sp: Stack pointer in the frame.
        return_address: Where the frame returns to, None for the last.
        ip: Instruction pointer.
        symbol: ``mod!name+0x…``, or an address outside every module.
        module: Module name, None outside every module.
        source: ``file:line``, None if unknown.
        how: How the frame was found: ``context``, ``unwind``, ``inline`` or ``scan``.
        note: More about how it was found.
        arguments: The four stack slots that hold the register arguments, None where unreadable.
        chained: Of a scan: the frame was found by following the chain of frame records.
    """

    index: int
    child_sp: Address
    return_address: Address | None
    ip: Address
    symbol: str = ""
    module: str | None = None
    source: str | None = None
    how: str = "unwind"
    note: str = ""
    arguments: tuple[Address | None, ...] = ()
    chained: bool = False


class Stack(Record, frozen=True):
    """A call stack.

    Attributes:
        frames: The frames, innermost first.
        style: The command's letters: which columns text shows.
        truncated: The walk stopped at the limit; there may be more.
        context: Where the registers came from, if not from the processor itself.
    """

    frames: list[FrameInfo]
    style: str = "k"
    truncated: bool = False
    context: str = ""


class Registers(Record, frozen=True):
    """Registers of the present context.

    Attributes:
        machine: ``amd64`` or ``arm64``.
        values: Names and values in the order asked for.
        flags: The flag register in words.
        location: Symbol at the instruction pointer.
        instruction: The instruction there, as ``u`` shows it.
        selected: True if single registers were asked for.
        context: Where the registers came from, if not from the processor itself.
    """

    machine: str
    values: dict[str, Address]
    flags: str = ""
    location: str = ""
    instruction: str = ""
    selected: bool = False
    context: str = ""


class FrameSelected(Record, frozen=True):
    """The frame chosen with ``.frame``."""

    frame: FrameInfo
    registers: Registers | None = None


class ContextSelected(Record, frozen=True):
    """The context chosen with ``.cxr``, ``.ecxr``, ``.trap`` or ``.thread``; registers is None after a reset."""

    how: str
    registers: Registers | None = None


class ExceptionInfo(Record, frozen=True):
    """An exception record in words.

    Attributes:
        address: Faulting address.
        symbol: Symbol at it.
        code: Exception code.
        name: Name of the code.
        flags: Exception flags.
        parameters: Exception parameters.
        meaning: What the exception means (for an access violation: what was touched).
    """

    address: Address
    symbol: str = ""
    code: Address = 0
    name: str = ""
    flags: Address = 0
    parameters: tuple[Address, ...] = ()
    meaning: list[str] = field(default_factory=list[str])
