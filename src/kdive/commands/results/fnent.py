"""Result of ``.fnent``."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class UnwindStep(Record, frozen=True):
    """An unwind operation.

    Attributes:
        offset: AMD64: where its instruction ends in the prologue, in bytes; ARM64: -1.
        name: ``UWOP_…`` on AMD64; the documentation's name on ARM64.
        operands: Register, size and offset in words.
    """

    offset: int
    name: str
    operands: str = ""


class FunctionEntry(Record, frozen=True):
    """A function table entry with its unwind data.

    Attributes:
        name: Symbol of the function.
        begin: First address.
        end: First address behind it.
        unwind: Address of the unwind data; of the entry itself where the data is packed into it.
        facts: Version, flags, prologue and frame register in words.
        steps: The operations, last first.
        epilogues: Where epilogues begin, as offsets into the function.
        chained: The entry that this one continues.
    """

    name: str
    begin: Address
    end: Address
    unwind: Address
    facts: dict[str, str]
    steps: list[UnwindStep] = field(default_factory=list[UnwindStep])
    epilogues: list[int] = field(default_factory=list[int])
    chained: FunctionEntry | None = None
