"""AMD64 over KD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.amd64 import context as amd64
from kdive.targets.kd_processor import KdProcessor
from kdive.wire.kd import requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdive.arch.context import RegisterContext
    from kdive.arch.watchpoint import Watchpoint
    from kdive.memory.paging import PageTables

_RESUME_FLAG = 0x10000


class KdAmd64(KdProcessor):
    """See :class:`KdProcessor`."""

    machine = "amd64"
    breakpoint = b"\xcc"
    break_in_code = b"\xcc\xc3"
    argument = "rcx"
    ip = "rip"
    context_size = amd64.CONTEXT_SIZE
    context_flags = amd64.CONTEXT_ALL
    special_size = amd64.SPECIAL_REGISTERS_SIZE

    def decode(self, raw: bytes) -> RegisterContext:
        """See :meth:`KdProcessor.decode`."""
        context = amd64.decode_context(raw)
        # The debug registers of the context may be junk; those of the special registers are right.
        for name in amd64.DEBUG_REGISTERS:
            context.values.pop(name, None)
        return context

    def update(self, raw: bytes, values: dict[str, int]) -> tuple[int, bytes]:
        """See :meth:`KdProcessor.update`."""
        return amd64.CONTEXT_WITHOUT_DEBUG, amd64.update_context(raw, values)

    def decode_special(self, raw: bytes) -> dict[str, int]:
        """See :meth:`KdProcessor.decode_special`."""
        return amd64.decode_special_registers(raw)

    def whole_context(self, raw: bytes, special: dict[str, int]) -> bytes:
        """See :meth:`KdProcessor.whole_context`."""
        return amd64.with_debug_registers(raw, special)

    def address_space(self, special: dict[str, int]) -> int:
        """See :meth:`KdProcessor.address_space`."""
        return special["cr3"]

    def page_tables(self, root: int, special: dict[str, int]) -> PageTables:
        """See :meth:`KdProcessor.page_tables`."""
        from kdive.arch.amd64.paging import Amd64PageTables

        five = bool(special.get("cr4", 0) >> 12 & 1)
        return Amd64PageTables(root, 5 if five else 4)

    def resume(self, status: int, watched: Sequence[Watchpoint | None], *, trace: bool) -> bytes:
        """See :meth:`KdProcessor.resume`."""
        from kdive.arch.amd64.debug import debug_control

        return requests.resume(status, trace=trace, dr7=debug_control(watched))

    def past_watched_instruction(self, context: RegisterContext) -> dict[str, int]:
        """See :meth:`KdProcessor.past_watched_instruction`."""
        return {"efl": context.values["efl"] | _RESUME_FLAG}
