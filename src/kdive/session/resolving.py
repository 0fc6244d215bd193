"""Breakpoints that are known by a name: found when their module is there, waiting while it is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.errors import KdiveError

if TYPE_CHECKING:
    from kdive.session.breakpoints import BreakpointTable
    from kdive.session.session import Session

SOURCE = re.compile(r"`?(?:(?P<module>[\w.]+)!)?(?P<file>[^`!]*[\w.]+\.\w+):(?P<line>\d+)`?$")
"""``file.c:123``, perhaps with a module and in backquotes."""


def resolve(session: Session, text: str) -> int:
    """The address that a breakpoint's text stands for: an expression or a source line.

    Raises:
        KdiveError: It stands for none now.
    """
    source = SOURCE.match(text.strip())
    if source is not None:
        return source_address(session, source["module"] or "", source["file"], int(source["line"]))
    from kdive.expr.evaluator import evaluate
    from kdive.session.evaluation import SessionScope

    return evaluate(text, SessionScope(session)).number


def source_address(session: Session, module: str, file: str, line: int) -> int:
    """The address of the code of a source line.

    Raises:
        KdiveError: No module has code there.
    """
    engine = session.engine
    for state in engine.states:
        if module and state.module.name.lower() != module.lower():
            continue
        symbols = engine.symbols_of(state)
        found = symbols.addresses(file, line) if symbols is not None else ()
        if found:
            return state.module.base + found[0]
    raise KdiveError(f"no code of {file}:{line} is known", hint="lm shows which modules have private symbols")


def resolve_deferred(session: Session, table: BreakpointTable) -> None:
    """Find anew the addresses of breakpoints that are known by a name."""
    for entry in table.everything():
        if not entry.text:
            continue
        try:
            address = resolve(session, entry.text)
        except KdiveError:
            address = None
        if address == entry.address:
            continue
        if entry.placed:
            gone = type(entry)(entry.id, entry.address, handle=entry.handle, physical=entry.physical, slot=entry.slot)
            table.removed.append(gone)
            entry.handle = entry.physical = entry.slot = None
        entry.address = address
