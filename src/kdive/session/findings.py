"""What else a crash shows: remarks that help to read the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError
from kdive.formats.buffer import Buffer
from kdive.nt.blackbox import BLACKBOXES
from kdive.nt.bugchecks import LARGEST_SUBCODE, Role, base_code, has_subcodes, parameter, subcode_meaning
from kdive.nt.status import status_name
from kdive.nt.whea import HEADER_SIZE, MAX_RECORD, parse_record, record_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.formats.kernel_dump.header import ExceptionRecord
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame

_LOW_ADDRESS = 0x10000
_VERIFIER = frozenset({0xC4, 0xC9, 0xE6, 0xF1, 0xF6, 0x1C4, 0xBFE, 0xBFF})
_POOL = frozenset({0x19, 0xC1, 0xC2, 0xC5, 0xC6, 0xD0, 0xDE, 0x13A})
_MEMORY = frozenset({0x1A, 0x4E, 0x12B, 0x127})
_BY_HAND = frozenset({0xE2, 0x1C8, 0x11C8, 0xDEADDEAD})
_PAGING = {0x77: 1, 0x7A: 2}
"""Bugchecks of failed page reads, and which parameter holds the status."""
_EXECUTE = 0x10
"""Bit of an AMD64 page fault's error code: the instruction itself was being fetched."""


def findings(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    touched: int | None,
    fault: int | None,
    frames: Sequence[StackFrame],
) -> list[str]:
    """Collect remarks on a crash.

    Args:
        session: The session.
        code: The bugcheck code, 0 for none.
        parameters: Its parameters.
        exception: The exception behind the crash.
        touched: The address that was touched.
        fault: The faulting instruction.
        frames: The stack.

    Returns:
        Sentences, the most telling first.
    """
    notes = [
        *_subcode(code, parameters),
        *_access(session, code, parameters, exception, touched, fault),
        *_by_code(code, parameters),
        *_hardware(session, code, parameters),
        *_unloaded(session, (*parameters, fault or 0, touched or 0, *(frame.ip for frame in frames))),
        *_evidence_quality(session, frames),
    ]
    return list(dict.fromkeys(notes))


def irql_name(irql: int) -> str:
    """Name an IRQL as AMD64 and ARM64 number them (0xFF in a bugcheck: interrupts were disabled)."""
    names = {0: "PASSIVE_LEVEL", 1: "APC_LEVEL", 2: "DISPATCH_LEVEL", 15: "HIGH_LEVEL", 255: "interrupts disabled"}
    return names.get(irql, "a device or clock level")


def _subcode(code: int, parameters: tuple[int, ...]) -> list[str]:
    meaning = subcode_meaning(code, parameters)
    if not meaning:
        unknown = bool(parameters) and has_subcodes(code) and parameters[0] <= LARGEST_SUBCODE
        return [f"parameter 1 ({parameters[0]:#x}) names a case that is not documented"] if unknown else []
    return [f"{'Driver Verifier' if base_code(code) in _VERIFIER else 'the bugcheck'} says: {meaning}"]


def _access(
    session: Session,
    code: int,
    parameters: tuple[int, ...],
    exception: ExceptionRecord | None,
    touched: int | None,
    fault: int | None,
) -> list[str]:
    notes: list[str] = []
    if touched is not None:
        amd64 = session.target.machine != "arm64"
        fetched = amd64 and base_code(code) == 0x50 and len(parameters) > 1 and bool(parameters[1] & _EXECUTE)
        if (fetched or touched == fault) and session.engine.module_at(touched) is None:
            notes.append(
                f"control went to {touched:#x}, which is no code of a loaded module: a damaged function pointer or "
                "return address"
            )
        elif touched < _LOW_ADDRESS:
            notes.append(f"the address touched ({touched:#x}) is near zero: a null pointer was followed")
        elif 0x0000_7FFF_FFFF_FFFF < touched < 0xFFFF_8000_0000_0000:
            notes.append(f"the address touched ({touched:#x}) is not canonical: the pointer is garbage")
        elif exception is not None and touched == 0xFFFF_FFFF_FFFF_FFFF:
            notes.append("the processor did not give the address: likely a pointer that is not canonical")
    irql = parameter(Role.IRQL, code, parameters)
    if irql is not None and irql >= 2:
        notes.append(f"the access was made at IRQL {irql} ({irql_name(irql)}), where page faults cannot be served")
    return notes


def _by_code(code: int, parameters: tuple[int, ...]) -> list[str]:
    base = base_code(code)
    notes: list[str] = []
    if base in _VERIFIER:
        notes.append("Driver Verifier stopped the system on purpose: the driver that it watched broke a rule")
    if base in _POOL:
        notes.append("pool is damaged: the module found here may be the victim; Driver Verifier finds the writer")
    if base in _MEMORY:
        notes.append("memory management structures are damaged: bad memory modules and stray writes both do this")
    if base in _PAGING and len(parameters) >= _PAGING[base]:
        status = status_name(parameters[_PAGING[base] - 1])
        if status:
            notes.append(f"the read from disk failed with {status}: check the storage device")
    if base in _BY_HAND:
        notes.append("a person started this crash: look at what hung, not at the code that crashed")
    return notes


def _hardware(session: Session, code: int, parameters: tuple[int, ...]) -> list[str]:
    if base_code(code) != 0x124:
        return []
    notes = ["the hardware reported this: the drivers on the stack are likely not at fault"]
    address = parameters[1] if len(parameters) > 1 else 0
    if not address:
        return notes
    try:
        length = record_length(Buffer(session.memory.read(address, HEADER_SIZE), "WHEA record", address))
        raw = session.memory.read(address, min(length, MAX_RECORD))
        record = parse_record(Buffer(raw, "WHEA record", address))
    except KdiveError:
        return [*notes, f"the error record at {address:#x} is not in the dump"]
    sections = ", ".join(record.sections) or "no sections"
    return [*notes, f"the error record at {address:#x} says: {record.severity}; {sections}"]


def _unloaded(session: Session, addresses: Sequence[int]) -> list[str]:
    found: list[str] = []
    unloaded = session.kernel.unloaded_modules
    for address in addresses:
        # A module that was loaded over the place of an unloaded one explains the address better.
        if not address >> 47 or session.engine.module_at(address) is not None:
            continue
        found.extend(
            f"{address:#x} lies where the unloaded driver {entry.name} was"
            for entry in unloaded
            if entry.start <= address < entry.end
        )
    return found


def _evidence_quality(session: Session, frames: Sequence[StackFrame]) -> list[str]:
    notes: list[str] = []
    if any(frame.how == "scan" for frame in frames):
        notes.append("frames marked [scan] are guesses: the image that would tell is not at hand")
    dump = session.dump
    if dump is None:
        return notes
    notes.extend(f"the dump is incomplete: it lacks {part}" for part in dump.dump.missing)
    blocks = dump.dump.secondary
    if blocks:
        notes.append(f"{len(blocks)} blocks of tagged data are in the dump (.enumtag lists them)")
    present = {block.guid for block in blocks if block.size}
    commands = [box.command for box in BLACKBOXES if box.guid in present]
    if commands:
        notes.append(f"blackbox records are in the dump: {', '.join(commands)}")
    return notes
