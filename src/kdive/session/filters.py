"""What becomes of exceptions and module events: stop, say so, or go on (``sx``)."""

from __future__ import annotations

import fnmatch
from typing import Literal

from kdive.errors import CommandError
from kdive.record import Record

Mode = Literal["break", "second", "notify", "ignore"]
"""Stop at the first chance; stop at the second chance only; say so and go on; go on."""


class Filter(Record):
    """What becomes of one kind of event.

    Attributes:
        alias: Its short name.
        name: What it is.
        mode: What becomes of it.
        handled: Whether the target is told that an exception was handled when it goes on.
        code: The exception code; None for module events and for all other exceptions.
        commands: What runs when it stops the target.
        module: Pattern of module names, for module events; empty for all.
    """

    alias: str
    name: str
    mode: Mode
    handled: bool = False
    code: int | None = None
    commands: str = ""
    module: str = ""


# alias, name, code, mode, handled: WinDbg's table for kernel targets, without the events that these do not report.
_EXCEPTIONS: tuple[tuple[str, str, int, Mode, bool], ...] = (
    ("av", "Access violation", 0xC0000005, "break", False),
    ("asrt", "Assertion failure", 0xC0000420, "break", False),
    ("aph", "Application hang", 0xCFFFFFFF, "break", False),
    ("bpe", "Break instruction exception", 0x80000003, "break", True),
    ("eh", "C++ EH exception", 0xE06D7363, "second", False),
    ("clr", "CLR exception", 0xE0434F4D, "second", False),
    ("clrn", "CLR notification exception", 0xE0444143, "second", True),
    ("dm", "Data misaligned", 0x80000002, "break", False),
    ("dbce", "Debugger command exception", 0x40010009, "ignore", True),
    ("gp", "Guard page violation", 0x80000001, "break", False),
    ("ii", "Illegal instruction", 0xC000001D, "break", False),
    ("ip", "In-page I/O error", 0xC0000006, "break", False),
    ("dz", "Integer divide-by-zero", 0xC0000094, "break", False),
    ("iov", "Integer overflow", 0xC0000095, "break", False),
    ("ch", "Invalid handle", 0xC0000008, "break", False),
    ("lsq", "Invalid lock sequence", 0xC000001E, "break", False),
    ("isc", "Invalid system call", 0xC000001C, "break", False),
    ("svh", "Service hang", 0xEFFFFFFF, "break", False),
    ("sse", "Single step exception", 0x80000004, "break", True),
    ("sbo", "Security check failure or stack buffer overrun", 0xC0000409, "break", False),
    ("sov", "Stack overflow", 0xC00000FD, "break", False),
    ("vs", "Verifier stop", 0xC0000421, "break", False),
    ("vcpp", "Visual C++ exception", 0x406D1388, "ignore", True),
    ("wkd", "Wake debugger", 0x80000007, "break", False),
    ("rto", "Windows Runtime Originate Error", 0x40080201, "second", False),
    ("rtt", "Windows Runtime Transform Error", 0x40080202, "second", False),
)
LOAD, UNLOAD, OTHER = "ld", "ud", "*"


class EventFilters:
    """The table of what becomes of events."""

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}
        self.reset()

    def reset(self) -> None:
        """Go back to the defaults."""
        self._filters = {
            alias: Filter(alias, name, mode, handled, code) for alias, name, code, mode, handled in _EXCEPTIONS
        }
        self._filters[LOAD] = Filter(LOAD, "Load module", "ignore")
        self._filters[UNLOAD] = Filter(UNLOAD, "Unload module", "ignore")
        self._filters[OTHER] = Filter(OTHER, "Other exception", "break")

    def __iter__(self):
        return iter(self._filters.values())

    def exception(self, code: int) -> Filter:
        """What becomes of an exception."""
        return next((found for found in self._filters.values() if found.code == code), self._filters[OTHER])

    def module(self, name: str, *, unload: bool) -> Filter:
        """What becomes of a module's coming or going; a filter for other modules ignores it."""
        found = self._filters[UNLOAD if unload else LOAD]
        if found.module and not fnmatch.fnmatch(name.lower(), found.module.lower()):
            return Filter(found.alias, found.name, "ignore")
        return found

    def set(self, what: str, mode: Mode, *, handled: bool | None = None, commands: str | None = None) -> Filter:
        """Change what becomes of an event.

        Args:
            what: An alias, an exception code in hex, ``ld`` or ``ud`` with ``:module`` perhaps, or ``*``.
            mode: What becomes of it.
            handled: Whether the exception counts as handled; None leaves that.
            commands: What runs when it stops the target; None leaves that.

        Raises:
            CommandError: There is no such event.
        """
        alias, _, module = what.partition(":")
        found = self._filters.get(alias.lower()) or self._by_code(alias)
        if module and found.alias not in (LOAD, UNLOAD):
            raise CommandError(f"{alias} takes no module", hint="ld:<module> and ud:<module> do")
        found.mode = mode
        found.module = module
        if handled is not None:
            found.handled = handled
        if commands is not None:
            found.commands = commands
        return found

    def _by_code(self, text: str) -> Filter:
        try:
            code = int(text.replace("`", ""), 16)
        except ValueError:
            raise CommandError(f"no event {text!r}", hint="sx lists them; an exception's code names it too") from None
        if not 0 <= code < 1 << 32:
            raise CommandError(f"{text} is no exception code")
        known = next((found for found in self._filters.values() if found.code == code), None)
        if known is None:
            known = self._filters[f"{code:08x}"] = Filter(f"{code:08x}", "Unknown exception", "break", code=code)
        return known
