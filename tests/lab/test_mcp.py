"""The MCP server on a machine that runs, through the SDK's own client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.lab.live import (
    CONTEXTS,
    HEX,
    data,
    desk_of,
    guest_runs,
    next_stop,
    opening,
    said,
    stop_at,
    with_box,
    with_live_client,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.frontends.mcp.toolbox import Toolbox

Machines = "Callable[..., Any]"


def words(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def test_the_guest_runs_right_after_open(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        opened = await data(client, "open", **opening(guest.kd))
        assert opened == {"status": "connected", "backend": "kd", "connect": str(guest.kd), "processors": 1}
        assert await asyncio.to_thread(guest_runs, guest)
        status = await data(client, "status")
        assert status["running"] is True
        assert status["coherent"] is True
        assert [status[name] for name in ("rip", "symbol", "current_thread", "stopped_process", "stopped_thread")] == (
            [None] * 5
        )
        assert HEX.fullmatch(status["kernel_base"])
        assert "[target running]" in await said(client, ".echo x")

    with_live_client(None, work)


def test_the_breakpoint_flow_of_the_instructions(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        first = await data(client, "interrupt")
        assert first["already_halted"] is False
        assert HEX.fullmatch(first["rip"])
        assert (await data(client, "interrupt"))["already_halted"] is True
        await said(client, "bp nt!KiInner")
        assert await data(client, "resume") == {"running": True, "already_running": False, "disposition": "handled"}
        stop = await next_stop(client)
        assert set(stop) == {
            *("stop", "id", "address", "symbol", "temporary", "rip", "watch_access", "watch_length"),
            *("condition_error", *CONTEXTS),
        }
        assert (stop["stop"], stop["id"], stop["temporary"]) == ("breakpoint", 0, False)
        assert (stop["symbol"], stop["rip"]) == ("nt!KiInner", stop["address"])
        assert (stop["attached_process"], stop["watch_access"], stop["condition_error"]) == (None, None, None)
        assert set(stop["stopped_process"]) == {"pid", "name", "eprocess"}
        assert set(stop["stopped_thread"]) == {"tid", "pid", "ethread"}
        stack = await said(client, "k")
        assert "nt!KiOuter" in stack
        assert stack.splitlines()[-1].startswith(f"[target halted @ 0 {stop['rip']} nt!KiInner | process ")
        halted = await data(client, "wait_for_stop")
        assert (halted["stop"], halted["event"], halted["rip"]) == ("halted", False, stop["rip"])
        assert halted["last_stop"] == stop

    with_live_client(guest.kd, work)


def test_waiting_does_not_resume_and_says_running_when_the_time_is_over(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        assert await data(client, "wait_for_stop", timeout_ms=50) == {"stop": "running"}
        await data(client, "interrupt")
        before = (await data(client, "status"))["rip"]
        assert (await data(client, "wait_for_stop", timeout_ms=50))["stop"] == "halted"
        assert (await data(client, "status"))["rip"] == before
        assert (await data(client, "resume"))["already_running"] is False
        assert (await data(client, "resume"))["already_running"] is True

    with_live_client(guest.kd, work)


def test_a_condition_that_fails_is_told(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        stop = await stop_at(client, 'bp /w "poi(ffff900000000000) == 1" nt!KiInner')
        assert stop["stop"] == "breakpoint"
        assert stop["condition_error"]

    with_live_client(guest.kd, work)


def test_an_exception_tells_its_code_and_not_handled_leaves_it_to_the_guest(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.send("fault page")
        stop = await next_stop(client)
        assert set(stop) == {
            *("stop", "rip", "exception_code", "first_chance", "exception_address", "symbol", *CONTEXTS)
        }
        assert (stop["stop"], stop["exception_code"], stop["first_chance"]) == ("exception", "0xc0000005", True)
        assert stop["symbol"].startswith("nt!Touch")
        resumed = await data(client, "resume", disposition="not_handled")
        assert resumed["disposition"] == "not_handled"

    with_live_client(guest.kd, work)


def test_an_int3_in_the_code_is_an_exception(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.send("fault int3")
        stop = await next_stop(client)
        assert (stop["stop"], stop["exception_code"]) == ("exception", "0x80000003")
        await data(client, "resume")
        assert await asyncio.to_thread(guest_runs_after, guest)

    with_live_client(guest.kd, work)


def guest_runs_after(guest: Any) -> bool:
    guest.answer()
    return guest_runs(guest)


def test_a_bugcheck_comes_with_its_analysis(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.send("bugcheck 1e 1 2 3 4")
        stop = await next_stop(client)
        assert set(stop) == {"stop", "rip", "bugcheck"}
        assert stop["stop"] == "bugcheck"
        assert HEX.fullmatch(stop["rip"])
        assert (stop["bugcheck"]["code"], stop["bugcheck"]["name"]) == ("0x1e", "KMODE_EXCEPTION_NOT_HANDLED")
        assert [row["value"] for row in stop["bugcheck"]["parameters"]] == ["0x1", "0x2", "0x3", "0x4"]

    with_live_client(guest.kd, work)


def test_a_step_is_allowed_and_shows_where_it_ended(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        stop = await stop_at(client, "bp nt!KiInner")
        shown = await said(client, "t")
        assert stop["rip"] not in shown.splitlines()[-1]
        assert (await data(client, "wait_for_stop"))["stop"] == "halted"

    with_live_client(guest.kd, work)


def test_a_reboot_is_told_and_the_new_kernel_is_there(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.qmp("system_reset")
        stop = await next_stop(client)
        assert set(stop) == {"stop", "kernel_base", "coherent", "note"}
        assert stop["stop"] == "target_reloaded"
        while not stop["coherent"]:
            await data(client, "resume")
            stop = await next_stop(client)
        status = await data(client, "status")
        assert (status["running"], status["coherent"], status["kernel_base"]) == (False, True, stop["kernel_base"])
        assert "nt " in await said(client, "lm")

    with_live_client(guest.kd, work)


def test_close_leaves_the_guest_running_without_breakpoints(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        await data(client, "interrupt")
        clean = (await said(client, "db nt!KiInner L20")).splitlines()[:2]
        stop = await stop_at(client, "bp nt!KiInner; bp nt!KiOuter")
        assert stop["stop"] == "breakpoint"
        assert await data(client, "close") == {"status": "closed"}
        assert await asyncio.to_thread(guest_runs, guest)
        await data(client, "open", **opening(guest.kd))
        await data(client, "interrupt")
        assert (await said(client, "db nt!KiInner L20")).splitlines()[:2] == clean
        assert await said(client, "bl")

    with_live_client(guest.kd, work)


def test_what_the_guest_prints_and_why_it_stopped_is_told_by_the_next_command(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.send("print [target running]")
        shown = ""
        while "[dbgprint]" not in shown:
            shown += await said(client, ".echo x")
        assert "[dbgprint] [target running]" in shown
        await asyncio.to_thread(guest.answer)
        guest.send("fault divide")
        shown = ""
        while "[target stopped" not in shown:
            shown = await said(client, ".echo x")
        assert shown.splitlines()[0].startswith("[target stopped: exception @ 0x")
        assert "[target stopped" not in await said(client, ".echo x")
        assert (await next_stop(client))["stop"] == "exception"

    with_live_client(guest.kd, work)


def test_hits_for_nobody_are_absorbed_between_calls(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        await data(client, "interrupt")
        await said(client, 'bp nt!KiInner "gc"')
        await data(client, "resume")
        # The guest goes on through its breakpoint though nobody calls.
        assert await asyncio.to_thread(guest_runs, guest)
        assert await data(client, "wait_for_stop", timeout_ms=20) == {"stop": "running"}

    with_live_client(guest.kd, work)


def test_resume_takes_in_a_stop_that_the_tick_caught_and_moves_past_it(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        stop = await stop_at(client, "bp nt!KiInner")
        assert (await data(client, "resume"))["already_running"] is False
        while (await data(client, "status"))["running"]:
            pass
        assert await data(client, "resume") == {"running": True, "already_running": False, "disposition": "handled"}
        assert (await next_stop(client))["rip"] == stop["rip"]

    with_live_client(guest.kd, work)


def test_interrupt_takes_in_a_pending_stop_and_asks_for_no_second_one(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        await stop_at(client, "bp nt!KiInner")
        await data(client, "resume")
        while (await data(client, "status"))["running"]:
            pass
        assert (await data(client, "interrupt"))["already_halted"] is True
        assert (await next_stop(client))["stop"] == "breakpoint"
        await said(client, "bc *")
        await data(client, "resume")
        assert await data(client, "wait_for_stop", timeout_ms=100) == {"stop": "running"}

    with_live_client(guest.kd, work)


def test_at_most_one_nudge_waits_and_the_ticker_ends_with_the_session(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(box: Toolbox) -> None:
        assert not (await box.call("open", opening(guest.kd))).is_error
        desk, nudges, inside = desk_of(box), 0, False
        catch_up = desk.catch_up

        def counted() -> None:
            nonlocal nudges
            nudges += not inside
            catch_up()

        desk.catch_up = counted
        ticking = box.slot._ticking
        assert ticking is not None
        assert not ticking.done()

        def busy(_: Any) -> int:
            nonlocal inside
            before = nudges
            while box.slot.state.owner._jobs.qsize() == 0:
                pass
            desk.session.cancel.wait(0.1)
            assert box.slot.state.owner._jobs.qsize() == 1
            return nudges - before

        assert await box.slot.run(busy, "a long job") == 0
        assert not (await box.call("close", {})).is_error
        await asyncio.wait((ticking,))

    with_box(work)


def test_a_wait_that_is_cancelled_loses_no_stop_and_lets_others_in(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(box: Toolbox) -> None:
        assert not (await box.call("open", opening(guest.kd))).is_error
        waiting = asyncio.ensure_future(box.call("wait_for_stop", {"timeout_ms": 20_000}))
        status = (await box.call("status", {})).data
        assert status is not None
        assert status["running"]
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        guest.send("fault divide")
        stop = (await box.call("wait_for_stop", {"timeout_ms": 20_000})).data
        assert stop is not None
        assert stop["stop"] == "exception"

    with_box(work)


def test_a_wait_ends_when_another_client_closes_the_session(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(box: Toolbox) -> None:
        assert not (await box.call("open", opening(guest.kd))).is_error
        waiting = asyncio.ensure_future(box.call("wait_for_stop", {"timeout_ms": 20_000}))
        await asyncio.sleep(0)
        assert (await box.call("close", {})).data == {"status": "closed"}
        ended = await waiting
        assert ended.is_error
        assert guest_runs(guest)

    with_box(work)


def test_a_lost_link_is_told_by_every_call_and_close_frees_the_slot(machine: Callable[..., Any]) -> None:
    guest = machine()

    async def work(client: Any) -> None:
        guest.process.kill()
        for tool in ("wait_for_stop", "resume", "interrupt"):
            result = await client.call_tool(tool, {})
            assert result.is_error
            assert "the link to the target is lost" in words(result)
        assert (await data(client, "status"))["lost"]
        assert (await client.call_tool("command", {"line": "db nt!KiInner"})).is_error
        assert await data(client, "close") == {"status": "closed"}

    with_live_client(guest.kd, work)


def test_breakpoints_that_cannot_be_taken_out_leave_the_guest_halted_and_are_told(
    machine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kdive.errors import TargetError
    from kdive.targets.kd_breakpoints import KdBreakpoints

    guest = machine()

    def refuse(*_: object) -> None:
        raise TargetError("the target refused")

    async def work(client: Any) -> None:
        await stop_at(client, "bp nt!KiOuter; bp nt!KiInner")
        monkeypatch.setattr(KdBreakpoints, "_take_out", refuse)
        closed = await data(client, "close")
        monkeypatch.undo()
        assert closed["status"] == "closed"
        assert "the target is left standing" in closed["warning"]
        await data(client, "open", **opening(guest.kd))
        assert await asyncio.to_thread(guest_runs, guest)

    with_live_client(guest.kd, work)
