"""A processor's registers at one moment, whatever the architecture."""

from __future__ import annotations

from typing import Literal

from kdive.record import Record, field

MachineName = Literal["amd64", "arm64", "x86", "arm"]


class RegisterContext(Record):
    """Registers by their lower-case debugger names.

    Attributes:
        machine: Which architecture the names belong to.
        values: 64-bit general, control and flag registers; ``xmm0``… and ``v0``… are 128-bit integers. Only registers
            that the source of the context recorded are present.
    """

    machine: MachineName
    values: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def ip(self) -> int:
        """The instruction pointer (``rip`` or ``pc``)."""
        return self.values.get("rip" if self.machine == "amd64" else "pc", 0)

    @property
    def sp(self) -> int:
        """The stack pointer (``rsp`` or ``sp``)."""
        return self.values.get("rsp" if self.machine == "amd64" else "sp", 0)

    def copy(self) -> RegisterContext:
        """Return an independent copy."""
        return RegisterContext(self.machine, dict(self.values))
