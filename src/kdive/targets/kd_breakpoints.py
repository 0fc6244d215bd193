"""The breakpoint instructions in a KD target.

Those in kernel space go through the target's own table, which holds 32; those in user space are written to the physical
page. Readers of memory see the bytes that they stand in the place of.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from kdive.errors import TargetError
from kdive.record import Record
from kdive.wire.kd import requests

if TYPE_CHECKING:
    from kdive.targets.kd_connection import KdConnection
    from kdive.targets.kd_memory import KdMemory

_WINDOW = 16
"""The target removes breakpoints of its table within so many bytes of a reported stop."""


class _Breakpoint(Record):
    """A breakpoint that is wanted.

    Attributes:
        address: Where it is.
        physical: Where the instruction is written, for one that is not in the target's table.
        handle: The target's handle, None while it is not in its table.
        original: The bytes that it stands in the place of.
        present: Whether it is in the target.
    """

    address: int
    physical: int | None = None
    handle: int | None = None
    original: bytes = b""
    present: bool = False


class KdBreakpoints:
    """What is wanted, and what of it is in the target.

    Args:
        connection: The link.
        virtual: Virtual memory.
        frames: Physical memory.

    Attributes:
        instruction: The breakpoint instruction of the target's machine.
    """

    def __init__(self, connection: KdConnection, virtual: KdMemory, frames: KdMemory) -> None:
        self.instruction = b"\xcc"
        self._connection = connection
        self._virtual = virtual
        self._frames = frames
        self._wanted: dict[int, _Breakpoint] = {}
        self._next = 1
        self._left: set[int] = set()
        for memory in (virtual, frames):
            memory.before_write = functools.partial(self._lift, memory)

    def __bool__(self) -> bool:
        """Whether any is wanted."""
        return bool(self._wanted)

    @property
    def present(self) -> list[int]:
        """Addresses of those that are in the target."""
        return [wanted.address for wanted in self._wanted.values() if wanted.present]

    def wanted_at(self, address: int) -> bool:
        """Whether one is wanted there."""
        return any(wanted.address == address for wanted in self._wanted.values())

    def left(self, address: int) -> bool:
        """Whether one was there once: another processor may still report it."""
        return address in self._left

    def add(self, address: int) -> int:
        """Want one in kernel space; return its number.

        Raises:
            TargetError: The target's table is full.
        """
        in_table = [wanted for wanted in self._wanted.values() if wanted.physical is None]
        if len(in_table) >= requests.BREAKPOINT_TABLE_SIZE:
            raise TargetError(
                f"the target's table takes {requests.BREAKPOINT_TABLE_SIZE} breakpoints",
                hint="bc clears some; ba has more",
            )
        return self._want(_Breakpoint(address))

    def add_patch(self, address: int, physical: int) -> int:
        """Want one that is written to a physical page; return its number."""
        original = self._frames.read(physical, len(self.instruction))
        return self._want(_Breakpoint(address, physical, original=original))

    def _want(self, wanted: _Breakpoint) -> int:
        for key, known in self._wanted.items():
            if (known.address, known.physical) == (wanted.address, wanted.physical):
                return key
        key = self._next
        self._next += 1
        self._wanted[key] = wanted
        return key

    def remove(self, number: int) -> None:
        """Take one out of the halted target, and no longer want it; an unknown number is nothing.

        Raises:
            TargetError: It could not be taken out; it is wanted still.
        """
        wanted = self._wanted.get(number)
        if wanted is not None:
            self._take_out(wanted)
            del self._wanted[number]

    def remove_all(self) -> None:
        """Take all out of the halted target, and no longer want them.

        Raises:
            TargetError: One could not be taken out.
        """
        for number in list(self._wanted):
            self.remove(number)

    def put(self, except_at: int | None) -> None:
        """Write what is wanted to the halted target, but for the one at an address that is to be passed.

        Raises:
            TargetError: One cannot be set.
        """
        for wanted in self._wanted.values():
            if wanted.address == except_at:
                self._take_out(wanted)
            elif not wanted.present:
                self._put_in(wanted)

    def lift(self) -> None:
        """Take all out of the halted target; they come back when it goes on."""
        for wanted in self._wanted.values():
            self._take_out(wanted)

    def stopped_at(self, program_counter: int) -> None:
        """The target has stopped: it has taken those of its table that are near out by itself."""
        for wanted in self._wanted.values():
            if wanted.handle is not None and 0 <= wanted.address - program_counter < _WINDOW:
                self._unmask(wanted)

    def forget(self) -> None:
        """The target has begun anew: none is in it."""
        self._wanted.clear()
        self._left.clear()
        self._virtual.masked.clear()
        self._frames.masked.clear()

    def _put_in(self, wanted: _Breakpoint) -> None:
        if wanted.physical is not None:
            self._frames.write_raw(wanted.physical, self.instruction)
        else:
            wanted.original = self._virtual.read(wanted.address, len(self.instruction))
            reply = self._connection.require(
                requests.write_breakpoint(wanted.address), f"set a breakpoint at {wanted.address:#x}"
            )
            wanted.handle = requests.breakpoint_handle(reply)
        wanted.present = True
        for index, byte in enumerate(wanted.original):
            self._virtual.masked[wanted.address + index] = byte
            if wanted.physical is not None:
                self._frames.masked[wanted.physical + index] = byte

    def _take_out(self, wanted: _Breakpoint) -> None:
        if not wanted.present:
            return
        if wanted.physical is not None:
            self._frames.write_raw(wanted.physical, wanted.original)
        elif wanted.handle is not None:
            self._connection.ask(requests.restore_breakpoint(wanted.handle))
        self._unmask(wanted)

    def _unmask(self, wanted: _Breakpoint) -> None:
        wanted.handle, wanted.present = None, False
        self._left.add(wanted.address)
        for index in range(len(wanted.original)):
            self._virtual.masked.pop(wanted.address + index, None)
            if wanted.physical is not None:
                self._frames.masked.pop(wanted.physical + index, None)

    def _lift(self, memory: KdMemory, address: int, size: int) -> None:
        """Take out those in a range that is about to be written; they come back when the target goes on."""
        for wanted in self._wanted.values():
            place = wanted.physical if memory is self._frames else wanted.address
            if wanted.present and place is not None and address - len(wanted.original) < place < address + size:
                self._take_out(wanted)
