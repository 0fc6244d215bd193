"""The user's breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import CommandError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.targets.live import LiveTarget


class Breakpoint(Record):
    """A breakpoint.

    Attributes:
        id: Its number.
        address: Where it is.
        enabled: Whether it stops the target.
        temporary: Whether it belongs to a step and is not shown.
        passes: How many hits until it stops the target, 1 for the next.
        hits: How often it was hit.
        commands: What runs when it is hit.
        handle: The target's handle, None while it is not there.
    """

    id: int
    address: int
    enabled: bool = True
    temporary: bool = False
    passes: int = 1
    hits: int = 0
    commands: str = ""
    handle: int | None = None


class BreakpointTable:
    """Breakpoints by number."""

    def __init__(self) -> None:
        self._known: dict[int, Breakpoint] = {}
        self._removed: list[int] = []

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter([entry for entry in self._known.values() if not entry.temporary])

    def add(self, address: int, *, temporary: bool = False, passes: int = 1, commands: str = "") -> Breakpoint:
        """Add a breakpoint; one of the user's at the same address is changed instead."""
        known = None if temporary else next((entry for entry in self if entry.address == address), None)
        if known is not None:
            known.enabled, known.passes, known.commands = True, passes, commands
            return known
        number = next(number for number in range(len(self._known) + 1) if number not in self._known)
        self._known[number] = Breakpoint(number, address, temporary=temporary, passes=passes, commands=commands)
        return self._known[number]

    def find(self, number: int) -> Breakpoint:
        """Return a breakpoint.

        Raises:
            CommandError: There is none of that number.
        """
        found = self._known.get(number)
        if found is None:
            raise CommandError(f"no breakpoint {number}", hint="bl lists the breakpoints")
        return found

    def remove(self, number: int) -> None:
        """Forget a breakpoint; the target is told when it goes on, or by :meth:`disarm_removed`."""
        removed = self.find(number)
        del self._known[number]
        if removed.handle is not None and not any(entry.handle == removed.handle for entry in self._known.values()):
            self._removed.append(removed.handle)

    def at(self, address: int) -> Breakpoint | None:
        """The breakpoint that stops the target at an address, the user's before a step's."""
        found = [entry for entry in self._known.values() if entry.enabled and entry.address == address]
        return min(found, key=lambda entry: entry.temporary, default=None)

    def arm(self, target: LiveTarget) -> None:
        """Tell a halted target which breakpoints are wanted."""
        self.disarm_removed(target)
        for entry in self._known.values():
            if entry.enabled and entry.handle is None:
                entry.handle = target.insert_breakpoint(entry.address)
            elif not entry.enabled and entry.handle is not None:
                target.remove_breakpoint(entry.handle)
                entry.handle = None

    def disarm_removed(self, target: LiveTarget) -> None:
        """Take breakpoints that were forgotten out of a halted target."""
        for handle in self._removed:
            target.remove_breakpoint(handle)
        self._removed.clear()

    def forget_handles(self) -> None:
        """The target has started anew: none of its handles means anything."""
        self._removed.clear()
        for entry in self._known.values():
            entry.handle = None
