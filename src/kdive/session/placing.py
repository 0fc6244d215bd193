"""Putting breakpoints into a target and taking them out.

Those in kernel space go through the target's own table. Those in user space are written to physical memory, where every
process that maps the page meets them; they are written down first. Others take debug registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.watchpoint import Watchpoint
from kdive.errors import CommandError, KdiveError
from kdive.session.journal import Journal, PatchedByte

if TYPE_CHECKING:
    from kdive.session.breakpoints import Breakpoint, BreakpointTable
    from kdive.session.session import Session
    from kdive.targets.live import LiveTarget

SLOTS = 4
_BREAKPOINT_INSTRUCTION = 0xCC


class Placing:
    """Keeps a target's breakpoints as they are wanted.

    Args:
        session: The session.
        target: Its target.
        table: What is wanted.
    """

    def __init__(self, session: Session, target: LiveTarget, table: BreakpointTable) -> None:
        self._session = session
        self._target = target
        self._table = table
        self._journal = Journal(session.options.state / "sites", target.description)

    def recover(self) -> int:
        """Put back what an earlier debugger left in the guest; returns how many bytes that were.

        Raises:
            KdiveError: It could not be put back.
        """
        physical, hints = self._target.physical, self._target.hints
        if not len(self._journal) or physical is None or hints is None:
            return 0
        return self._journal.put_back(hints.base, physical)

    def arm(self) -> None:
        """Tell the halted target what is wanted.

        Raises:
            CommandError: A breakpoint cannot be set; nothing has moved.
        """
        self.disarm_removed()
        for entry in self._table.everything():
            if entry.wanted == entry.placed:
                continue
            if not entry.wanted:
                self._take_out(entry)
                continue
            try:
                self._put_in(entry)
            except KdiveError as error:
                name = "the step's end" if entry.temporary else f"breakpoint {entry.id}"
                raise CommandError(
                    f"{name} at {entry.address:#x} cannot be set: {error.what}",
                    hint=error.hint or (None if entry.temporary else f"bd {entry.id} goes on without it"),
                ) from error
        self._target.set_watchpoints(self._slots())

    def check(self, entry: Breakpoint) -> None:
        """See whether a breakpoint could be set.

        Raises:
            CommandError: Its page is not in memory, or there is no debug register left.
        """
        if entry.access is not None:
            used = sum(
                other.access is not None and other.wanted for other in self._table.everything() if other != entry
            )
            if used >= SLOTS:
                raise CommandError(f"all {SLOTS} debug registers are in use", hint="bl lists them; bd or bc frees one")
        elif entry.in_user_space:
            self._physical(entry)

    def _put_in(self, entry: Breakpoint) -> None:
        assert entry.address is not None
        if entry.access is not None:
            taken = {other.slot for other in self._table.everything()}
            free = next((slot for slot in range(SLOTS) if slot not in taken), None)
            if free is None:
                raise CommandError(f"all {SLOTS} debug registers are in use")
            entry.slot = free
        elif entry.in_user_space:
            entry.physical = physical = self._physical(entry)
            hints = self._target.hints
            original = self._original(physical)
            self._journal.add(
                PatchedByte(hints.base if hints is not None else 0, physical, original, _BREAKPOINT_INSTRUCTION)
            )
            entry.handle = self._target.insert_patch(entry.address, physical)
        else:
            entry.handle = self._target.insert_breakpoint(entry.address)

    def _original(self, physical: int) -> int:
        memory = self._target.physical
        if memory is None:
            raise CommandError("breakpoints in user space need physical memory", hint="ba e1 uses a debug register")
        return memory.read(physical, 1)[0]

    def _physical(self, entry: Breakpoint) -> int:
        """Where the page of a breakpoint in user space is in physical memory."""
        from kdive.nt.processes import process_at

        assert entry.address is not None
        physical = self._target.physical
        process = process_at(self._session.kernel, entry.process) if entry.process else self._session.process
        if process is None or physical is None:
            raise CommandError("whose user space is not known", hint="/p <EPROCESS> says which process")
        translation = self._target.page_tables(process.directory_table_base).walk(physical, entry.address)
        if translation.physical is None or translation.entries[-1].state not in ("valid", "large"):
            raise CommandError(
                f"the page of {entry.address:#x} is not in memory in {process.name}",
                hint="ba e1 watches the address by a debug register instead",
            )
        return translation.physical

    def disarm_removed(self) -> None:
        """Take breakpoints that were forgotten out of a halted target."""
        while self._table.removed:
            self._take_out(self._table.removed.pop())

    def _take_out(self, entry: Breakpoint) -> None:
        handle, physical = entry.handle, entry.physical
        entry.handle = entry.physical = entry.slot = None
        if handle is not None and not any(other.handle == handle for other in self._table.everything()):
            self._target.remove_breakpoint(handle)
            if physical is not None:
                self._journal.discard(physical)

    def _slots(self) -> list[Watchpoint | None]:
        slots: list[Watchpoint | None] = [None] * SLOTS
        for entry in self._table.everything():
            if entry.slot is not None and entry.address is not None and entry.access is not None:
                slots[entry.slot] = Watchpoint(entry.address, entry.size, entry.access)
        return slots

    def clear(self) -> None:
        """Take everything out of a halted target."""
        self.disarm_removed()
        for entry in self._table.everything():
            if entry.placed:
                self._take_out(entry)
        self._target.set_watchpoints(())

    def forget(self) -> None:
        """The target has started anew: nothing that was put into it is there any more."""
        for entry in (*self._table.everything(), *self._table.removed):
            if entry.physical is not None:
                self._journal.discard(entry.physical)
            entry.handle = entry.physical = entry.slot = None
        self._table.removed.clear()
