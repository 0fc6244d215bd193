"""Run control through the server, on targets that stop by a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kdive.frontends.mcp import control
from kdive.targets.kd import KdTarget
from tests.frontends.mcp.support import live_opener, with_toolbox
from tests.targets.fake_kd import FakeKd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kdive.frontends.mcp.toolbox import Toolbox

DISPATCH, WORKER = 0xFFFFF80000201040, 0xFFFFF80000401010
LIVE = {"backend": "kd", "connect": "fake"}
Targets = "Callable[[FakeKd], FakeKd]"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[[FakeKd], FakeKd]:
    """Have the server find this target."""

    def found(fake: FakeKd) -> FakeKd:
        monkeypatch.setattr(control, "open_session", live_opener(lambda: fake, cache))
        return fake

    return found


async def data(box: Toolbox, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await box.call(tool, arguments)
    assert not result.is_error, result.text
    return result.data or {}


def test_a_watchpoint_stop_has_the_fields_of_a_breakpoint(serve: Callable[[FakeKd], FakeKd]) -> None:
    fake = serve(FakeKd())

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="ba w4 nt!KiBugCheckDispatch")
        fake.plan.append((WORKER, 0))
        await data(box, "resume")
        stop = await data(box, "wait_for_stop")
        contexts = {"attached_process", "stopped_process", "stopped_thread"}
        assert set(stop) == {
            *("stop", "id", "address", "symbol", "temporary", "rip", "watch_access", "watch_length"),
            *("condition_error", *contexts),
        }
        assert (stop["stop"], stop["id"], stop["watch_access"], stop["watch_length"]) == ("watchpoint", 0, "w", 4)
        assert (stop["address"], stop["rip"]) == (f"{DISPATCH:#x}", f"{WORKER:#x}")
        assert stop["symbol"] == "nt!KiBugCheckDispatch"

    with_toolbox(work)


def test_a_transport_that_cannot_say_not_handled_is_told_apart(
    serve: Callable[[FakeKd], FakeKd], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(FakeKd())
    monkeypatch.setattr(KdTarget, "takes_dispositions", False)

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        refused = await box.call("resume", {"disposition": "not_handled"})
        assert refused.is_error
        assert "cannot be told that an exception was not handled" in refused.text
        assert (await data(box, "status"))["running"] is False

    with_toolbox(work)


def test_a_live_place_has_a_default(serve: Callable[[FakeKd], FakeKd]) -> None:
    serve(FakeKd())

    async def work(box: Toolbox) -> None:
        assert (await data(box, "open", backend="kd"))["connect"].endswith(".sock")

    with_toolbox(work)


def test_breakpoints_are_out_before_the_target_is_sent_on(serve: Callable[[FakeKd], FakeKd]) -> None:
    fake = serve(FakeKd())

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "command", line="bp nt!KiBugCheckDispatch; bp fffff80000401010")
        await data(box, "resume")
        await data(box, "status")
        assert fake.table
        await data(box, "close")
        fake.join()
        assert fake.running
        assert fake.table == {}

    with_toolbox(work)


def test_a_restart_is_incoherent_until_the_kernel_is_found(serve: Callable[[FakeKd], FakeKd]) -> None:
    fake = serve(FakeKd())

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        await data(box, "resume")
        fake.restart()
        stop = await data(box, "wait_for_stop")
        assert stop["stop"] == "target_reloaded"
        assert stop["coherent"] is (await data(box, "status"))["coherent"]
        assert stop["note"].startswith("the guest restarted")

    with_toolbox(work)


def test_a_step_that_ends_late_is_a_step(serve: Callable[[FakeKd], FakeKd], monkeypatch: pytest.MonkeyPatch) -> None:
    fake = serve(FakeKd())
    monkeypatch.setattr("kdive.session.run._STEP_WAIT", 0.05)

    async def work(box: Toolbox) -> None:
        await data(box, "open", **LIVE)
        await data(box, "interrupt")
        fake.may_step.clear()
        late = await box.call("command", {"line": "t"})
        assert "the step has not ended" in late.text
        fake.may_step.set()
        stop = await data(box, "wait_for_stop")
        assert set(stop) == {"stop", "rip"}
        assert stop["stop"] == "step"

    with_toolbox(work)
