"""The user's breakpoints: what stops the target, for whom, how often, and what happens then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import USER_SPACE_END
from kdive.errors import CommandError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.arch.watchpoint import Access


class Breakpoint(Record):
    """A breakpoint.

    Attributes:
        id: Its number.
        address: Where it is; None while it waits for its module.
        text: The expression that it is resolved from anew when modules come and go; empty if it stays where it is.
        access: What a debug register watches for; empty for a breakpoint instruction.
        size: Bytes that a debug register watches.
        enabled: Whether it stops the target.
        temporary: Whether it belongs to a step and is not shown.
        once: Whether it goes when it has stopped the target.
        process: Address of the ``_EPROCESS`` that it is for, 0 for any.
        thread: Address of the ``_ETHREAD`` that it is for, 0 for any.
        processor: The processor that it is for, None for any.
        least_sp: Least stack pointer that it is for: a step over a call ends in the frame that it began in.
        condition: Expression that must not be zero.
        condition_error: Why the condition could not be evaluated at the last hit.
        passes: At which hit it stops the target.
        left: How many hits until then.
        hits: How often it was hit.
        commands: What runs when it stops the target.
        handle: The target's handle, None while it is not there.
        physical: Where it is written in physical memory, if it is in user space.
        slot: Its debug register, None while it has none.
    """

    id: int
    address: int | None = None
    text: str = ""
    access: Access | None = None
    size: int = 1
    enabled: bool = True
    temporary: bool = False
    once: bool = False
    process: int = 0
    thread: int = 0
    processor: int | None = None
    least_sp: int = 0
    condition: str = ""
    condition_error: str = ""
    passes: int = 1
    left: int = 1
    hits: int = 0
    commands: str = ""
    handle: int | None = None
    physical: int | None = None
    slot: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether it should be in the target."""
        return self.enabled and self.address is not None

    @property
    def placed(self) -> bool:
        """Whether it is in the target."""
        return self.handle is not None or self.slot is not None

    @property
    def in_user_space(self) -> bool:
        """Whether its address means something in one process only."""
        return self.address is not None and self.address < USER_SPACE_END

    def replaces(self, other: Breakpoint) -> bool:
        """Whether it is about the same place and the same actors as another one."""
        return not other.temporary and (
            (self.address, self.text, self.access, self.process, self.thread, self.processor)
            == (other.address, other.text, other.access, other.process, other.thread, other.processor)
        )


class BreakpointTable:
    """Breakpoints by number."""

    def __init__(self) -> None:
        self._known: dict[int, Breakpoint] = {}
        self.removed: list[Breakpoint] = []
        """Those that are gone and may still be in the target."""

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter([entry for _, entry in sorted(self._known.items()) if not entry.temporary])

    def everything(self) -> list[Breakpoint]:
        """All breakpoints, those of steps too."""
        return list(self._known.values())

    def add(self, new: Breakpoint) -> Breakpoint:
        """Add a breakpoint under the next free number; one about the same place is replaced."""
        for number, known in self._known.items():
            if not new.temporary and new.replaces(known):
                self.remove(number)
                new.id = number
                break
        else:
            new.id = next(number for number in range(len(self._known) + 1) if number not in self._known)
        self._known[new.id] = new
        return new

    def find(self, number: int) -> Breakpoint:
        """Return a breakpoint.

        Raises:
            CommandError: There is none of that number.
        """
        found = self._known.get(number)
        if found is None or found.temporary:
            raise CommandError(f"no breakpoint {number}", hint="bl lists the breakpoints")
        return found

    def renumber(self, number: int, new: int) -> None:
        """Give a breakpoint another number.

        Raises:
            CommandError: There is none of that number, or the other one is taken.
        """
        found = self.find(number)
        if new in self._known and new != number:
            raise CommandError(f"breakpoint {new} exists already")
        del self._known[number]
        found.id = new
        self._known[new] = found

    def remove(self, number: int) -> None:
        """Forget a breakpoint; it is taken out of the target when that is next told what is wanted."""
        gone = self._known.pop(number)
        if gone.placed:
            self.removed.append(gone)

    def at(self, address: int) -> list[Breakpoint]:
        """The breakpoints at an address whose instruction may have been hit, the user's before those of steps."""
        found = [
            entry
            for entry in self._known.values()
            if entry.enabled and entry.address == address and entry.access is None
        ]
        return sorted(found, key=lambda entry: entry.temporary)

    def watching(self, slot: int) -> Breakpoint | None:
        """The breakpoint that a debug register belongs to."""
        return next((entry for entry in self._known.values() if entry.slot == slot), None)
