"""Where a crash's exception context is.

Some bugchecks carry the address of a ``CONTEXT`` or a ``KTRAP_FRAME`` in a parameter; following it leads from the
bugcheck's own frames to the faulting code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError, MemoryAccessError
from kdive.nt.processors import crash_processor, processor_context

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.session.session import Session

# Parameter number (1 to 4) that holds the address of a CONTEXT, by bugcheck code (Microsoft, "Bug Check Code
# Reference"). The high bit forms are the same codes as a triage dump records them.
CONTEXT_PARAMETERS = {0x3B: 3, 0x7E: 4, 0x1000007E: 4, 0x24: 3, 0x23: 3, 0x2E0: 3, 0x22: 3}
EXCEPTION_PARAMETERS = {0x7E: 3, 0x1000007E: 3, 0x24: 2, 0x23: 2, 0x139: 3, 0x1E: 3}
TRAP_FRAME_PARAMETERS = {0x8E: 3, 0x1000008E: 3, 0x139: 2, 0x151: 2, 0x30: 3, 0x50: 3, 0x1E7: 4}
_EXCEPTION_RECORD_SIZE = 0x98


def context_record(session: Session, address: int) -> RegisterContext:
    """Decode a ``CONTEXT`` record in memory.

    Raises:
        MemoryAccessError: It is not in the target.
        KdiveError: It is not a context of the target's machine.
    """
    if session.target.machine == "arm64":
        from kdive.arch.arm64.context import decode_context

        return decode_context(session.memory.read(address, 0x390))
    from kdive.arch.amd64.context import decode_context

    return decode_context(session.memory.read(address, 1232))


def trap_frame_context(session: Session, address: int) -> RegisterContext:
    """Decode a ``KTRAP_FRAME`` in memory.

    Registers that a trap frame does not hold keep the values of the present context.

    Raises:
        MemoryAccessError: It is not in the target.
        SymbolNotFoundError: The kernel's types are not known.
    """
    frame = session.kernel.struct("_KTRAP_FRAME", address, session.memory)
    if session.target.machine == "arm64":
        from kdive.arch.arm64.context import decode_trap_frame
    else:
        from kdive.arch.amd64.context import decode_trap_frame
    return decode_trap_frame(frame.__getitem__)


def exception_context(session: Session) -> tuple[RegisterContext, str] | None:
    """Find the registers at the exception behind the crash.

    Returns:
        The context and how it was found (``CONTEXT at bugcheck parameter 4``), or None.
    """
    dump = session.dump
    if dump is None:
        return None
    header = dump.dump.header
    code, parameters = header.bugcheck_code, header.bugcheck_parameters
    attempts = (
        (CONTEXT_PARAMETERS.get(code), context_record, ".cxr", "CONTEXT"),
        (TRAP_FRAME_PARAMETERS.get(code), trap_frame_context, ".trap", "trap frame"),
    )
    for number, decode, command, label in attempts:
        if number is None or not parameters[number - 1] >> 47:
            continue
        address = parameters[number - 1]
        try:
            context = decode(session, address)
        except (MemoryAccessError, KdiveError):
            continue
        if session.engine.module_at(context.ip) is not None or context.ip >> 47:
            return context, f"{command} {address:#x} ({label} in bugcheck parameter {number})"
    # The processor's own registers are those of the bugcheck; a header context that differs is the exception's.
    context = session.target.crash_context()
    if context is not None and context.ip:
        try:
            own = processor_context(session.kernel, crash_processor(session.kernel))
        except KdiveError:
            own = context
        recorded = header.exception is not None and header.exception.address == context.ip
        if recorded or own.ip != context.ip:
            return context, "the context in the dump header"
    return None
