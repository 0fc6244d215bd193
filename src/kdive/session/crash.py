"""Where a crash's exception context is.

Some bugchecks carry the address of a ``CONTEXT`` or a ``KTRAP_FRAME`` in a parameter; following it leads from the
bugcheck's own frames to the faulting code.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.errors import KdiveError
from kdive.formats.buffer import Buffer
from kdive.formats.kernel_dump.header import EXCEPTION_SIZE, ExceptionRecord, parse_exception
from kdive.nt.bugchecks import Role, parameter
from kdive.nt.processors import crash_processor, processor_context
from kdive.targets.live import ExceptionEvent

_BREAKPOINT = 0x80000003
_BUGCHECK_DATA = struct.Struct("<5Q")

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.session.session import Session


def recorded_bugcheck(session: Session) -> tuple[int, tuple[int, ...]]:
    """Return the bugcheck's code and parameters; the code is 0 if the target did not crash.

    A dump has them in its header, a running system in ``nt!KiBugCheckData``.
    """
    dump = session.dump
    if dump is not None:
        return dump.dump.header.bugcheck_code, dump.dump.header.bugcheck_parameters
    try:
        raw = session.kernel.memory.read(session.kernel.symbol("KiBugCheckData"), _BUGCHECK_DATA.size)
    except KdiveError:
        return 0, ()
    code, *parameters = _BUGCHECK_DATA.unpack(raw)
    return code & 0xFFFFFFFF, tuple(parameters)


def context_record(session: Session, address: int) -> RegisterContext:
    """Decode a ``CONTEXT`` record in memory.

    Raises:
        MemoryAccessError: It is not in the target.
        FormatError: It is not a context of the target's machine.
    """
    if session.target.machine == "arm64":
        from kdive.arch.arm64.context import CONTEXT_SIZE, decode_context
    else:
        from kdive.arch.amd64.context import CONTEXT_SIZE, decode_context
    return decode_context(session.memory.read(address, CONTEXT_SIZE))


def trap_frame_context(session: Session, address: int) -> RegisterContext:
    """Decode a ``KTRAP_FRAME`` in memory.

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
        The context and how it was found (``.cxr 0x… (CONTEXT in bugcheck parameter 4)``), or None.
    """
    code, parameters = recorded_bugcheck(session)
    attempts = (
        (Role.CONTEXT, context_record, ".cxr", "CONTEXT"),
        (Role.TRAP, trap_frame_context, ".trap", "trap frame"),
    )
    for role, decode, command, label in attempts:
        address = parameter(role, code, parameters)
        if address is None or not address >> 47:
            continue
        try:
            context = decode(session, address)
        except KdiveError:
            continue
        if session.engine.module_at(context.ip) is not None or context.ip >> 47:
            return context, f"{command} {address:#x} ({label} in a bugcheck parameter)"
    # The processor's own registers are those of the bugcheck; a header context that differs is the exception's.
    context = session.target.crash_context()
    if context is not None and context.ip:
        try:
            own = processor_context(session.kernel, crash_processor(session.kernel))
        except KdiveError:
            own = context
        record = crash_exception(session)
        recorded = record is not None and record.address == context.ip
        if recorded or own.ip != context.ip:
            return context, "the context in the dump header"
    return None


def crash_exception(session: Session) -> ExceptionRecord | None:
    """Return the exception behind the crash: from a bugcheck parameter, the dump header, or what stopped the target."""
    code, parameters = recorded_bugcheck(session)
    address = parameter(Role.RECORD, code, parameters)
    if address is not None and address >> 47:
        try:
            raw = session.memory.read(address, EXCEPTION_SIZE)
            return parse_exception(Buffer(raw, "exception record", address), 0)
        except KdiveError:
            pass
    record = session.dump.dump.header.exception if session.dump is not None else _live_exception(session)
    if record is None or record.code != _BREAKPOINT:
        return record
    # KeBugCheckEx itself is recorded as a breakpoint: that is where the dump was taken, not what went wrong.
    return None if code else record


def _live_exception(session: Session) -> ExceptionRecord | None:
    stop = session.run.last if session.run is not None else None
    if stop is None or not isinstance(stop.event, ExceptionEvent) or stop.kind != "exception":
        return None
    event = stop.event
    return ExceptionRecord(event.code, 0, 0, event.address, event.parameters)
