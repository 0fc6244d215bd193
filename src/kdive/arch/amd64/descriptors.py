"""Segment descriptors, interrupt gates and the task state segment of AMD64.

Source: Intel SDM volume 3A, chapters "Protected-mode memory management" and "Interrupt and exception handling".
"""

from __future__ import annotations

import struct

from kdive.record import Record

GATE_SIZE = 16
SEGMENT_SIZE = 8
SYSTEM_SEGMENT_SIZE = 16
VECTORS = 256
_GATE = struct.Struct("<HHBBHII")
_TASK_STACKS = 0x24
_STACKS = 7
TASK_STATE_SIZE = 0x68
_SYSTEM_TYPES = {
    2: "LDT",
    9: "TSS64 Avl",
    11: "TSS64 Busy",
    12: "Call Gate",
    14: "Int Gate",
    15: "Trap Gate",
}
_GATE_TYPES = {14: "Interrupt", 15: "Trap"}


class Gate(Record, frozen=True):
    """An entry of the interrupt descriptor table.

    Attributes:
        handler: Where it leads.
        selector: Code segment there.
        stack: Number of the interrupt stack it switches to, 0 for none.
        type: 14 for an interrupt gate, 15 for a trap gate.
        dpl: Privilege that may use it by an instruction.
        present: Whether it is in force.
    """

    handler: int
    selector: int
    stack: int
    type: int
    dpl: int
    present: bool

    @property
    def type_name(self) -> str:
        """The kind of gate in a word."""
        return _GATE_TYPES.get(self.type, f"{self.type:#x}")


class Segment(Record, frozen=True):
    """A segment descriptor.

    Attributes:
        base: Start of the segment; the processor ignores it for 64-bit code and for most data.
        limit: Its last byte.
        system: Whether it is no code or data segment.
        type: The four type bits.
        dpl: Privilege level.
        present: Whether it is in force.
        long: 64-bit code.
        wide: Default size of 32 bits.
        page_granular: Whether the limit counts pages.
        flags: Attribute bits as WinDbg prints them: the access byte, then the four flag bits.
    """

    base: int
    limit: int
    system: bool
    type: int
    dpl: int
    present: bool
    long: bool
    wide: bool
    page_granular: bool
    flags: int

    @property
    def size(self) -> int:
        """Bytes that the descriptor takes in the table."""
        return SYSTEM_SEGMENT_SIZE if self.system and self.present else SEGMENT_SIZE

    @property
    def type_name(self) -> str:
        """The type in WinDbg's words: ``Code RE Ac``, ``Data RW Ac``, ``TSS64 Busy``."""
        if self.system:
            return _SYSTEM_TYPES.get(self.type, "<Reserved>" if not self.type else f"system {self.type:x}")
        accessed = " Ac" if self.type & 1 else ""
        if self.type & 8:
            return f"Code {'RE' if self.type & 2 else 'EO'}{accessed}"
        return f"Data {'RW' if self.type & 2 else 'RO'}{accessed}"


def parse_gate(data: bytes) -> Gate:
    """Decode 16 bytes of an interrupt descriptor table."""
    low, selector, stack, access, middle, high, _ = _GATE.unpack_from(data)
    return Gate(low | middle << 16 | high << 32, selector, stack & 7, access & 15, access >> 5 & 3, bool(access & 0x80))


def parse_segment(data: bytes) -> Segment:
    """Decode a descriptor from the 8 bytes, or 16 for a system segment, at its place in the table."""
    word = int.from_bytes(data[:8], "little")
    access, flags = word >> 40 & 0xFF, word >> 52 & 15
    base = (word >> 16 & 0xFFFFFF) | (word >> 56 & 0xFF) << 24
    system = not access & 0x10
    if system and access & 0x80 and len(data) >= SYSTEM_SEGMENT_SIZE:
        base |= int.from_bytes(data[8:12], "little") << 32
    limit = (word & 0xFFFF) | (word >> 48 & 15) << 16
    granular = bool(flags & 8)
    if granular:
        limit = limit << 12 | 0xFFF
    return Segment(
        base,
        limit,
        system,
        access & 15,
        access >> 5 & 3,
        bool(access & 0x80),
        bool(flags & 2),
        bool(flags & 4),
        granular,
        access | flags << 8,
    )


def interrupt_stacks(task_state: bytes) -> tuple[int, ...]:
    """The seven interrupt stacks of a task state segment; empty if it is cut short."""
    if len(task_state) < _TASK_STACKS + 8 * _STACKS:
        return ()
    return struct.unpack_from(f"<{_STACKS}Q", task_state, _TASK_STACKS)
