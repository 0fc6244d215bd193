"""Disassembly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.code import CodeLine, Listing
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError, MemoryAccessError
from kdive.session.disassembly import code_bytes, decode, disassemble
from kdive.session.functions import function_extents
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.arch.disasm import Instruction
    from kdive.commands.context import CommandContext
    from kdive.session.session import Session

DEFAULT_COUNT = 8
_MAX_COUNT = 0x10000
_MAX_INSTRUCTION = 15
_BACK_TRIES = 16


def code_lines(session: Session, instructions: list[Instruction]) -> list[CodeLine]:
    """Describe instructions; a label stands where a listing begins and where a function does."""
    try:
        current = session.context().ip
    except KdiveError:
        current = -1
    lines: list[CodeLine] = []
    for index, instruction in enumerate(instructions):
        session.cancel.check()
        nearest = session.engine.nearest(instruction.address)
        label = ""
        if nearest is not None and (index == 0 or (nearest.displacement == 0 and nearest.symbol is not None)):
            label = nearest.text()
        lines.append(
            CodeLine(
                instruction.address,
                instruction.data,
                instruction.mnemonic,
                instruction.operands,
                label,
                instruction.target,
                instruction.address == current,
                instruction.fixed,
            )
        )
    return lines


def _missing(session: Session, address: int) -> MemoryAccessError:
    reason = session.memory.reason(address)
    state = session.engine.state_at(address)
    hint = None
    if state is not None:
        from kdive.symbols.wanted import WantedFile, image_key

        module = state.module
        if module.timestamp:
            wanted = WantedFile(module.image_name, image_key(module.timestamp, module.size))
            hint = f"the image {module.image_name} would have the code: {session.store.advice(wanted)}"
    return MemoryAccessError(address, 1, f"no code bytes, {reason}", hint=hint)


@command(
    "u",
    syntax="[<address> [L<count> | <end>]]",
    group=Group.CODE,
    summary="disassemble; without an address go on where the last listing ended",
    examples=("u rip", "u nt!KeBugCheckEx L4"),
    needs=(Capability.MEMORY,),
)
def u(context: CommandContext, arguments: str) -> Listing:
    """Disassemble."""
    session = context.session
    if not arguments:
        start = session.last_disassembly_address
        start = session.context().ip if start is None else start
        count = DEFAULT_COUNT
    else:
        found = context.range(arguments, 1, DEFAULT_COUNT)
        start, count = found.start, found.count
        if found.rest.strip():
            raise context.usage_error(f"unexpected {found.rest.strip()!r}")
    if not 0 < count <= _MAX_COUNT:
        raise context.usage_error(f"{count:#x} instructions?")
    instructions = disassemble(session, start, count)
    if not instructions:
        raise _missing(session, start)
    session.last_disassembly_address = instructions[-1].end
    note = "" if len(instructions) == count else f"(no code bytes at {instructions[-1].end:#x})"
    return Listing(code_lines(session, instructions), note)


def instructions_before(session: Session, address: int, count: int) -> list[Instruction]:
    """Disassemble backwards: the ``count`` instructions that end at an address.

    AMD64 instructions cannot be decoded backwards. Decoding starts from the function's beginning if it is known, else
    from several places before the address, and the start that reaches the address exactly with most agreement wins.
    """
    if session.target.machine == "arm64":
        return disassemble(session, address - 4 * count, count)
    extents = function_extents(session, address - 1)
    if extents and extents[0][0] < address and address - extents[0][0] < 1 << 16:
        start = max(begin for begin, _ in extents if begin < address)
        decoded = _decode_until(session, start, address)
        if decoded and decoded[-1].end == address:
            return decoded[-count:]
    votes: dict[tuple[int, ...], list[Instruction]] = {}
    tally: dict[tuple[int, ...], int] = {}
    reach = _MAX_INSTRUCTION * count + _BACK_TRIES
    for back in range(reach, max(reach - _BACK_TRIES, 0), -1):
        decoded = _decode_until(session, address - back, address)
        if decoded and decoded[-1].end == address and decoded[-1].flow != "invalid":
            tail = decoded[-count:]
            key = tuple(instruction.address for instruction in tail)
            votes[key] = tail
            tally[key] = tally.get(key, 0) + 1
    return votes[max(tally, key=lambda key: tally[key])] if tally else []


def _decode_until(session: Session, start: int, end: int) -> list[Instruction]:
    data = code_bytes(session, start, end - start)
    return decode(session, data, start, len(data)) if len(data) == end - start else []


@command(
    "ub",
    syntax="[<address> [L<count>]]",
    group=Group.CODE,
    summary="disassemble the instructions before an address",
    examples=("ub rip L5",),
    needs=(Capability.MEMORY,),
)
def ub(context: CommandContext, arguments: str) -> Listing:
    """Disassemble backwards."""
    session = context.session
    address, count = session.context().ip if not arguments else 0, DEFAULT_COUNT
    if arguments:
        found = context.range(arguments, 1, DEFAULT_COUNT)
        address, count = found.start, found.count
    if not 0 < count <= 0x1000:
        raise context.usage_error(f"{count:#x} instructions?")
    instructions = instructions_before(session, address, count)
    if not instructions:
        raise _missing(session, address - 1)
    return Listing(code_lines(session, instructions))


@command(
    "uf",
    syntax="[<address>]",
    group=Group.CODE,
    summary="disassemble a whole function, by its unwind data or symbol",
    examples=("uf amdppm!WriteIoMemRawEx",),
    needs=(Capability.MEMORY,),
)
def uf(context: CommandContext, arguments: str) -> Listing:
    """Disassemble a function."""
    session = context.session
    address = context.evaluate(arguments) if arguments else session.context().ip
    extents = function_extents(session, address)
    if not extents:
        raise CommandError(
            f"the bounds of the function at {address:#x} are not known", hint="u <address> L<count> lists code anyway"
        )
    lines: list[CodeLine] = []
    missing = ""
    for begin, end in extents:
        context.cancel.check()
        data = code_bytes(session, begin, end - begin)
        if not data:
            raise _missing(session, begin)
        if len(data) < end - begin:
            missing = f"(no code bytes at {begin + len(data):#x})"
        lines.extend(code_lines(session, decode(session, data, begin, len(data))))
    return Listing(lines, missing)


@command(
    "#",
    syntax="[<pattern>] [<address> [L<bytes>]]",
    group=Group.CODE,
    summary="find the next instruction whose text holds a pattern",
    details="The pattern may use * and ?. The search goes over 64 KiB unless a length is given.",
    examples=("# call rip L200",),
    needs=(Capability.MEMORY,),
)
def hash_(context: CommandContext, arguments: str) -> Listing:
    """Find an instruction."""
    session = context.session
    match = re.match(r'"([^"]*)"|(\S+)', arguments)
    if not match:
        raise context.usage_error("a pattern is needed")
    pattern = match.group(1) or match.group(2)
    rest = arguments[match.end() :].strip()
    start, size = session.context().ip, 0x10000
    if rest:
        found = context.range(rest, 1, 0x10000)
        start, size = found.start, found.count
    elif session.last_disassembly_address is not None:
        start = session.last_disassembly_address
    wanted = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.IGNORECASE)
    at = start
    while at < start + size:
        context.cancel.check()
        instructions = disassemble(session, at, min(256, start + size - at))
        if not instructions:
            break
        for instruction in instructions:
            if wanted.search(f"{instruction.mnemonic} {instruction.operands}"):
                session.last_disassembly_address = instruction.end
                session.results = [instruction.address]
                return Listing(code_lines(session, [instruction]))
        at = instructions[-1].end
    raise CommandError(f"no instruction matches {pattern!r} in {start:#x} … {at:#x}")
