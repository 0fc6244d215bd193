"""The SDK on a live target: its breakpoints, as a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import CapabilityError, CommandError, KdiveError
from kdive.session.breakpoints import Breakpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.arch.watchpoint import Access
    from kdive.session.run import RunControl
    from kdive.session.session import Session


def run_control(session: Session) -> RunControl:
    """The run control of a live target.

    Raises:
        CapabilityError: The target is not live.
    """
    if session.run is None:
        raise CapabilityError(
            f"a {session.target.backend} target cannot run", hint="kdive.attach opens a target that can"
        )
    return session.run


class Breakpoints:
    """The breakpoints of a live target: iterate, add, remove."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._run = run_control(session)

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(self._run.breakpoints)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(
        self, place: int | str, *, condition: str = "", passes: int = 1, once: bool = False, deferred: bool = False
    ) -> Breakpoint:
        """Stop where code is run.

        Args:
            place: An address, an expression (``nt!KiInner+10``) or a source line (``file.c:12``).
            condition: An expression that must not be zero.
            passes: At which hit it stops the target.
            once: It goes when it has stopped the target.
            deferred: It waits for the module of its place, and follows it over restarts.

        Raises:
            KdiveError: There is no such place.
        """
        address, text = self._find(place, deferred=deferred)
        return self._add(Breakpoint(0, address, text, condition=condition, passes=passes, left=passes, once=once))

    def watch(self, place: int | str, access: Access = "w", size: int = 8) -> Breakpoint:
        """Stop where memory is read, written or run, by a debug register.

        Args:
            place: An address or an expression.
            access: ``w`` for writes, ``r`` for reads and writes, ``e`` for code.
            size: Bytes; 1, 2, 4 or 8, and 1 for code.

        Raises:
            KdiveError: There is no such place, or no debug register is free.
        """
        address, _ = self._find(place, deferred=False)
        return self._add(Breakpoint(0, address, access=access, size=1 if access == "e" else size))

    def remove(self, breakpoint_: Breakpoint | int) -> None:
        """Take a breakpoint away.

        Raises:
            CommandError: There is none of that number.
        """
        number = breakpoint_ if isinstance(breakpoint_, int) else breakpoint_.id
        self._run.breakpoints.find(number)
        self._run.breakpoints.remove(number)

    def clear(self) -> None:
        """Take all breakpoints away."""
        for entry in tuple(iter(self)):
            self.remove(entry)

    def _add(self, new: Breakpoint) -> Breakpoint:
        if new.address is not None and self._run.target.halted:
            if not new.in_user_space:
                self._session.memory.read(new.address, 1)
            self._run.placing.check(new)
        return self._run.breakpoints.add(new)

    def _find(self, place: int | str, *, deferred: bool) -> tuple[int | None, str]:
        from kdive.session.resolving import resolve

        if isinstance(place, int):
            if deferred:
                raise CommandError("a breakpoint that waits for its module needs a name", hint="nt!KiInner")
            return place, ""
        try:
            return resolve(self._session, place), place if deferred else ""
        except KdiveError:
            if not deferred:
                raise
            return None, place
