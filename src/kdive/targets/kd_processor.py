"""What of the KD protocol depends on the architecture of the target's processors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.arch.context import MachineName, RegisterContext
    from kdive.arch.watchpoint import Watchpoint
    from kdive.memory.paging import PageTables
    from kdive.targets.base import Capability


class KdProcessor(ABC):
    """An architecture.

    Attributes:
        machine: Its name.
        breakpoint: The breakpoint instruction that the target writes.
        break_in_code: The code that a break-in stops in.
        argument: The register that says there why.
        ip: The register of the instruction.
        context_size: Bytes of a ``CONTEXT``.
        context_flags: What to ask for all of it with.
        special_size: Bytes of the special registers in the control space.
        lacks: What targets of this architecture cannot do over KD.
    """

    machine: MachineName
    breakpoint: bytes
    break_in_code: bytes
    argument: str
    ip: str
    context_size: int
    context_flags: int
    special_size: int
    lacks: frozenset[Capability] = frozenset()

    @abstractmethod
    def decode(self, raw: bytes) -> RegisterContext:
        """Decode a ``CONTEXT``; registers that targets report wrongly are left out."""

    @abstractmethod
    def update(self, raw: bytes, values: dict[str, int]) -> tuple[int, bytes]:
        """Change a ``CONTEXT``; return the flags to set it with, and the record.

        Raises:
            FormatError: A register cannot be set.
        """

    @abstractmethod
    def decode_special(self, raw: bytes) -> dict[str, int]:
        """Decode the special registers."""

    @abstractmethod
    def whole_context(self, raw: bytes, special: dict[str, int]) -> bytes:
        """A ``CONTEXT`` with the debug registers that are in force."""

    @abstractmethod
    def address_space(self, special: dict[str, int]) -> int:
        """Physical address of the page tables in force.

        Raises:
            UnsupportedError: The target does not say.
        """

    @abstractmethod
    def page_tables(self, root: int, special: dict[str, int]) -> PageTables:
        """The page tables at a root."""

    @abstractmethod
    def resume(self, status: int, watched: Sequence[Watchpoint | None], *, trace: bool) -> bytes:
        """The request that lets the target go on."""

    @abstractmethod
    def past_watched_instruction(self, context: RegisterContext) -> dict[str, int]:
        """What to set for an instruction that a debug register watches to be run once."""
