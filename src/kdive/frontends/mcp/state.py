"""Where a session's target stands, and why, as the data that tools answer with.

Everything here runs on the owner thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.addr import json_address
from kdive.errors import KdiveError
from kdive.nt.processes import process_at
from kdive.targets.live import ExceptionEvent, LiveTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.nt.processes import Process, Thread
    from kdive.session.run import RunControl, Stop
    from kdive.session.session import Session

_PARAMETERS = 4


def status_of(session: Session) -> dict[str, Any]:
    """The answer of ``status``.

    The processes and the thread are three different answers: what the user inspects, whose page tables the stopped
    processor has loaded, and the Windows thread that it runs. A running target has neither of the last two.
    """
    run = session.run
    running = run is not None and not run.target.halted
    ip = None if running else _or_none(lambda: session.context().ip)
    thread = None if running else _or_none(lambda: _stopped_thread(session))
    address = None if running else thread.address if thread is not None else session.kernel.triage_thread
    coherent = run is None or run.coherent
    base = session.kernel.base if coherent or not running else None
    status = {
        "running": running,
        "current_thread": json_address(address) if address else None,
        "rip": _address(ip),
        "symbol": _symbol(session, ip),
        "attached_process": _process(session.scope.process),
        "stopped_process": None if running else _process(_or_none(lambda: _stopped_process(session, thread))),
        "stopped_thread": _thread(thread),
        "coherent": coherent,
        "kernel_base": _address(base),
        "busy": None,
    }
    return status | {"lost": run.lost or None} if run is not None else status


def parked(session: Session) -> dict[str, Any]:
    """The answer of ``wait_for_stop`` on a target that stands still with nothing pending."""
    return {"stop": "halted", "event": False, **_where(session), "coherent": status_of(session)["coherent"]}


def stop_object(session: Session, run: RunControl, stop: Stop) -> dict[str, Any]:
    """A stop as ``wait_for_stop`` tells it.

    Stops that the contract has no word for (a module that was waited for, a question of the target) are ``halted`` with
    ``event`` true and a note.
    """
    event = stop.event
    match stop.kind:
        case "breakpoint" | "watchpoint":
            found = stop.breakpoint
            assert found is not None
            return {
                "stop": stop.kind,
                "id": None if found.temporary else found.id,
                "address": _address(found.address),
                "temporary": found.temporary,
                **_where(session, found.address),
                "watch_access": found.access,
                "watch_length": found.size if found.access is not None else None,
                "condition_error": found.condition_error or None,
            }
        case "exception" | "break" if isinstance(event, ExceptionEvent) and not stop.asked:
            return {
                "stop": "exception",
                "exception_code": f"0x{event.code:08x}",
                "first_chance": event.first_chance,
                "exception_address": _address(event.address),
                **_where(session, event.address),
            }
        case "bugcheck":
            return {"stop": "bugcheck", "rip": _address(stop.ip), "bugcheck": _or_none(lambda: _bugcheck(session))}
        case "step":
            return {"stop": "step", "rip": _address(stop.ip)}
        case "target_reloaded":
            base = session.kernel.base
            return {
                "stop": "target_reloaded",
                "kernel_base": _address(base),
                "coherent": run.coherent,
                "note": stop.note,
            }
        case "break":
            return parked(session)
        case _:
            return parked(session) | {"event": True, "note": f"{stop.kind}: {stop.note}"}


def stop_line(session: Session, stop: Stop) -> str:
    """A stop in a few words; names in it are the target's."""
    words = stop.kind.replace("_", " ")
    if stop.breakpoint is not None and not stop.breakpoint.temporary:
        words += f" {stop.breakpoint.id}"
    if stop.note:
        words += f" ({stop.note})"
    if stop.ip is not None:
        words += f" @ {json_address(stop.ip)} {_symbol(session, stop.ip) or ''}"
    return words.rstrip()


def _where(session: Session, address: int | None = None) -> dict[str, Any]:
    """Where the processor stands, the name of an address (by default the same one), and the three contexts."""
    status = status_of(session)
    symbol = status["symbol"] if address is None else _symbol(session, address)
    contexts = ("attached_process", "stopped_process", "stopped_thread")
    return {"rip": status["rip"], "symbol": symbol, **{name: status[name] for name in contexts}}


def _bugcheck(session: Session) -> dict[str, Any]:
    from kdive.commands.analysis import bugcheck_info
    from kdive.render.json import to_data

    address = session.kernel.symbol("KiBugCheckData")
    data = session.memory.read(address, 8 * (1 + _PARAMETERS))
    code, *parameters = (int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8))
    return to_data(bugcheck_info(session, code, tuple(parameters), explained=True))


def _stopped_thread(session: Session) -> Thread | None:
    return session.stopped_thread if isinstance(session.target, LiveTarget) else session.thread


def _stopped_process(session: Session, thread: Thread | None) -> Process | None:
    """Whose page tables are loaded: those that the thread borrows, if it is attached to another process."""
    if thread is None:
        return session.current_process
    return process_at(session.kernel, thread.attached_address)


def _thread(thread: Thread | None) -> dict[str, Any] | None:
    if thread is None:
        return None
    return _or_none(lambda: {"tid": thread.tid, "pid": thread.pid, "ethread": json_address(thread.address)})


def _process(entry: Process | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return _or_none(lambda: {"pid": entry.pid, "name": entry.name, "eprocess": json_address(entry.address)})


def _address(value: int | None) -> str | None:
    return None if value is None else json_address(value)


def _symbol(session: Session, address: int | None) -> str | None:
    return None if address is None else _or_none(lambda: session.engine.name_of(address))


def _or_none(ask: Callable[[], Any]) -> Any:
    """What can be found out; None if the target does not hold it."""
    try:
        return ask()
    except KdiveError:
        return None
