"""The tools that hold the session and, on a live target, let it run."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from kdive.errors import CancelledError, UnsupportedError, UsageError
from kdive.frontends.mcp import live
from kdive.frontends.mcp.desk import Desk
from kdive.frontends.mcp.refusal import refuse_by_policy
from kdive.frontends.mcp.slot import CLOSED_MEANWHILE, HEARTBEAT, SlotError
from kdive.frontends.mcp.tool import LOOKS, ArgumentError, Call, Hints, Tool, ToolResult, choice, integer, text
from kdive.frontends.opening import DEFAULT_PLACES, OpenRequest, open_session
from kdive.options import BACKENDS
from kdive.targets.live import Disposition

if TYPE_CHECKING:
    from kdive.frontends.mcp.toolbox import Toolbox
    from kdive.session.owner import Owner

WAIT_DEFAULT_MS = 10_000
WAIT_LIMIT_MS = 20_000
WAIT_SLICE = 0.05
"""Seconds that a wait holds the owner thread at a time, so that other calls come in between."""
STATUS_PATIENCE = 0.2
"""Seconds that ``status`` waits for a busy owner before it answers without it."""

_ADDRESS = {"type": ["string", "null"]}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_PROCESS: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {"pid": {"type": "integer"}, "name": _TEXT, "eprocess": _TEXT},
}
_THREAD: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {"tid": {"type": "integer"}, "pid": {"type": "integer"}, "ethread": _TEXT},
}
_CONTEXTS = {"attached_process": _PROCESS, "stopped_process": _PROCESS, "stopped_thread": _THREAD}
STOPS = ("breakpoint", "watchpoint", "exception", "bugcheck", "step", "target_reloaded", "running", "halted")


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def answer(data: dict[str, Any], *, is_error: bool = False) -> ToolResult:
    """An answer whose text is its data."""
    return ToolResult(json.dumps(data, ensure_ascii=False), is_error, data)


# --- opening and closing ---------------------------------------------------------------------------------------------


async def open_target(call: Call) -> ToolResult:
    """``open``: claim the slot, open the target on the owner thread, promote the claim."""
    box = call.box
    backend, connect, key = (call.arguments.get(name) for name in ("backend", "connect", "key"))
    connect = connect or DEFAULT_PLACES.get(str(backend))
    request = OpenRequest(str(backend), connect, key, box.symbols)
    try:
        request.check()
    except UsageError as error:
        raise ArgumentError(str(error)) from error
    except UnsupportedError as error:
        return box.failure(error)
    with box.slot.claim() as claim:
        desk, notices = await box.slot.run_on(
            claim.owner, lambda: _attach(box, claim.owner, request), f"open {connect or backend}", call.progress
        )
        claim.promote(desk)
    data = {
        "status": "connected",
        "backend": backend,
        "connect": connect,
        "processors": desk.session.target.processors,
    }
    data = box.cleaner.data(data)
    shown = answer(data).text + "".join(f"\nwarning: {notice}" for notice in notices)
    return ToolResult(box.cleaner.body(shown), data=data)


def _attach(box: Toolbox, owner: Owner, request: OpenRequest) -> tuple[Desk, list[str]]:
    session = owner.adopt(open_session(request, owner.token))
    box.policy.apply(session)
    desk = Desk(session, box.cleaner, lambda command: refuse_by_policy(command, desk.shell.dispatcher, box.policy))
    if session.run is not None:
        # A live target runs freely between calls.
        session.run.resume()
        desk.refresh()
    return desk, session.notices()


async def close_target(call: Call) -> ToolResult:
    """``close``: free the slot."""
    data: dict[str, Any] = await call.box.slot.close()
    return answer(data, is_error=data["status"] == "pending")


# --- where the target stands -----------------------------------------------------------------------------------------


def _status(desk: Desk) -> dict[str, Any]:
    desk.refresh()
    return desk.last_status


async def status(call: Call) -> ToolResult:
    """``status``: answered by the owner thread, or from what is known if that is busy."""
    slot = call.box.slot
    desk = slot.active.desk
    asked = asyncio.ensure_future(slot.run(_status, "status"))
    try:
        done, _ = await asyncio.wait((asked,), timeout=STATUS_PATIENCE)
    finally:
        if not asked.done():
            asked.cancel()
    data = await asked if done else desk.last_status | {"busy": slot.doing or "busy"}
    return answer(call.box.cleaner.data(data))


# --- run control -----------------------------------------------------------------------------------------------------


async def resume(call: Call) -> ToolResult:
    """``resume``: let the target run; nothing is waited for."""
    disposition = Disposition(call.arguments["disposition"])
    return answer(await call.box.slot.run(lambda desk: live.resume(desk, disposition), "resume"))


async def wait_for_stop(call: Call) -> ToolResult:
    """``wait_for_stop``: hold the owner thread for slices of the time, and take a stop only when it is on its way."""
    box = call.box
    active = box.slot.active
    begun = time.monotonic()
    end = begun + (call.arguments["timeout_ms"] or WAIT_DEFAULT_MS) / 1000
    told = begun
    while True:
        now = time.monotonic()
        if call.progress is not None and now - told >= HEARTBEAT:
            told = now
            await call.progress(now - begun, f"wait_for_stop: {now - begun:.0f} s")
        left = max(min(WAIT_SLICE, end - now), 0)
        try:
            found = await box.slot.run_in(active, lambda desk, left=left: live.poll(desk, left), "wait_for_stop")
        except CancelledError as error:
            raise SlotError(CLOSED_MEANWHILE) from error
        if found is not None:
            stop, data = found
            active.desk.delivered = stop
            return answer(box.cleaner.data(data))
        if time.monotonic() >= end:
            return answer({"stop": "running"})


async def interrupt(call: Call) -> ToolResult:
    """``interrupt``: halt the target; one that cannot run is halted already."""
    return answer(await call.box.slot.run(live.interrupt, "interrupt"))


CONTROL_TOOLS = (
    Tool(
        "status",
        "Show where the target stands",
        "Whether the target runs, the current instruction, thread and processes, the kernel's base. Cheap; `busy` is "
        "set while a long command runs. attached_process is what you inspect (.process), stopped_process owns the "
        "loaded page tables, stopped_thread is what runs: three different answers.",
        status,
        hints=LOOKS,
        output=_object(
            ("running", "rip", "coherent"),
            running=_FLAG,
            current_thread=_ADDRESS,
            rip=_ADDRESS,
            symbol=_ADDRESS,
            **_CONTEXTS,
            coherent=_FLAG,
            kernel_base=_ADDRESS,
            busy=_ADDRESS,
            lost=_ADDRESS,
        ),
    ),
    Tool(
        "open",
        "Open a target",
        "Open a crash dump (backend `dump`, connect = the file's path) or a live guest (backend `kd`, connect = the "
        "VM's serial socket or HOST:PORT), which runs on. Fails while another session is active. kdnet, gdb and memory "
        "are not in this release. Ask the user which target to open, and how the VM is exposed.",
        open_target,
        {
            "backend": choice("how to reach the target", BACKENDS),
            "connect": text(
                f"dump: path of the file (required). kd: Unix socket, default {DEFAULT_PLACES['kd']}. "
                "kdnet: host:port, default 0.0.0.0:50000. "
                "gdb: host:port, default 127.0.0.1:1234. memory: not used",
                4096,
            ),
            "key": text("KDNET key; required for kdnet, refused elsewhere"),
        },
        ("backend",),
        Hints(open_world=True),
        _object(
            ("status", "backend", "connect", "processors"),
            status={"const": "connected"},
            backend=_TEXT,
            connect=_ADDRESS,
            processors={"type": "integer"},
        ),
    ),
    Tool(
        "close",
        "Close the session",
        "Close the session and free its slot, or cancel an open that is pending. A live target runs on.",
        close_target,
        hints=Hints(idempotent=True),
        output=_object(("status",), status={"enum": ["closed", "pending"]}, note=_TEXT, warning=_TEXT),
    ),
    Tool(
        "resume",
        "Resume a live target",
        "Let a live target run; returns at once. Then poll wait_for_stop. A dump cannot run.",
        resume,
        {"disposition": choice("of the exception that it stopped for (KD)", ("handled", "not_handled"), "handled")},
        hints=Hints(destructive=True, open_world=True),
        output=_object(
            ("running", "already_running", "disposition"), running=_FLAG, already_running=_FLAG, disposition=_TEXT
        ),
    ),
    Tool(
        "wait_for_stop",
        "Wait for the next stop",
        "Wait for the next stop without resuming. `running`: the time is over, call again, no stop is lost; "
        "`halted`: parked with nothing pending. A dump is always halted.",
        wait_for_stop,
        {"timeout_ms": integer("0 means the default, 10000", 0, WAIT_LIMIT_MS, WAIT_DEFAULT_MS)},
        hints=LOOKS,
        output=_object(("stop",), stop={"enum": list(STOPS)}, rip=_ADDRESS, symbol=_ADDRESS, **_CONTEXTS),
    ),
    Tool(
        "interrupt",
        "Halt a live target",
        "Halt a running target; does nothing if it is halted already.",
        interrupt,
        hints=Hints(idempotent=True, open_world=True),
        output=_object(("already_halted", "rip"), already_halted=_FLAG, rip=_ADDRESS),
    ),
)
