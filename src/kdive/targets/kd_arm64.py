"""ARM64 over KD: no ports, model-specific registers or watchpoints; breakpoints are four bytes.

Format facts: ``windbgkd.h`` (``ARM64_DBGKD_CONTROL_SET``), the kernel's symbols (``_KSPECIAL_REGISTERS``), the Arm
Architecture Reference Manual (``BRK``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.arm64 import context as arm64
from kdive.errors import UnsupportedError
from kdive.targets.base import Capability
from kdive.targets.kd_processor import KdProcessor
from kdive.wire.kd import requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.arch.context import RegisterContext
    from kdive.arch.watchpoint import Watchpoint
    from kdive.memory.paging import PageTables

_BREAK = 0xD43E0000.to_bytes(4, "little")
"""``brk #0xf000``."""

_RETURN = 0xD65F03C0.to_bytes(4, "little")


class KdArm64(KdProcessor):
    """See :class:`KdProcessor`."""

    machine = "arm64"
    breakpoint = _BREAK
    break_in_code = _BREAK + _RETURN
    argument = "x0"
    ip = "pc"
    context_size = arm64.CONTEXT_SIZE
    context_flags = arm64.CONTEXT_ALL
    special_size = arm64.SPECIAL_REGISTERS_SIZE
    lacks = frozenset((Capability.MSR, Capability.IO_PORTS, Capability.PCI, Capability.WATCHPOINTS))

    def decode(self, raw: bytes) -> RegisterContext:
        """See :meth:`KdProcessor.decode`."""
        return arm64.decode_context(raw)

    def update(self, raw: bytes, values: dict[str, int]) -> tuple[int, bytes]:
        """See :meth:`KdProcessor.update`."""
        return arm64.CONTEXT_WITHOUT_DEBUG, arm64.update_context(raw, values)

    def decode_special(self, raw: bytes) -> dict[str, int]:
        """See :meth:`KdProcessor.decode_special`."""
        return arm64.decode_special_registers(raw)

    def whole_context(self, raw: bytes, special: dict[str, int]) -> bytes:
        """See :meth:`KdProcessor.whole_context`."""
        del special
        return raw

    def address_space(self, special: dict[str, int]) -> int:
        """See :meth:`KdProcessor.address_space`."""
        del special
        raise UnsupportedError("an ARM64 target does not say over KD where its page tables are")

    def page_tables(self, root: int, special: dict[str, int]) -> PageTables:
        """See :meth:`KdProcessor.page_tables`."""
        from kdive.arch.arm64.paging import Arm64PageTables

        del special
        return Arm64PageTables(root)

    def resume(self, status: int, watched: Sequence[Watchpoint | None], *, trace: bool) -> bytes:
        """See :meth:`KdProcessor.resume`."""
        del watched
        return requests.resume_arm64(status, trace=trace)

    def past_watched_instruction(self, context: RegisterContext) -> dict[str, int]:
        """See :meth:`KdProcessor.past_watched_instruction`."""
        del context
        return {}
