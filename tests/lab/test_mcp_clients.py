"""Two client processes and a server process over HTTP, on a machine that runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.frontends.mcp.support import SECONDS, HttpServer, in_loop
from tests.lab.conftest import LAB
from tests.lab.live import data, guest_runs, next_stop, opening, said
from tests.lab.test_teardown import original
from tests.soak import bound, chances

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

ROOT = Path(__file__).resolve().parents[2]
STOPS = {"running", "halted", "breakpoint", "interrupted"}
OPERATIONS = 12


def client_process(address: str, seed: int, operations: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lab.mcp_client", address, str(seed), str(operations)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def check(line: dict[str, Any]) -> None:
    """What one client may be told, whatever the other does."""
    assert line["error"] is None, line
    told = line["data"]
    match line["tool"]:
        case "status":
            assert (told["rip"] is None) is told["running"], line
        case "wait_for_stop":
            assert told["stop"] in STOPS, line
        case "resume":
            assert told["running"] is True, line
        case _:
            assert told["rip"], line


@pytest.mark.timeout(bound(150))
def test_two_client_processes_one_of_them_killed_at_any_moment(
    machine: Callable[..., Any], attach: Callable[..., Session]
) -> None:
    from mcp import Client

    guest = machine(cpus=2)
    clean = original(guest, attach)

    async def rounds(address: str) -> None:
        async with Client(address) as client:
            await data(client, "open", **opening(guest.kd))
            await data(client, "interrupt")
            await said(client, "bp nt!KiInner")
            for chance in chances(60, share=15):
                pair = [client_process(address, chance.randrange(1 << 30), OPERATIONS) for _ in range(2)]
                first = pair[1].stdout
                assert first is not None
                for _ in range(chance.randrange(OPERATIONS // 2)):
                    first.readline()
                pair[1].kill()
                out, errors = pair[0].communicate(timeout=SECONDS)
                pair[1].communicate(timeout=SECONDS)
                told = [json.loads(line) for line in out.splitlines()]
                assert len(told) == OPERATIONS, errors
                for line in told:
                    check(line)
                # Whatever was going on: the state can be settled, and the next stop is not lost.
                await data(client, "interrupt")
                assert (await data(client, "status"))["running"] is False
                await data(client, "resume")
                assert (await next_stop(client))["symbol"] == "nt!KiInner"

    with HttpServer("--sympath", str(LAB / "images")) as server:
        in_loop(lambda: rounds(server.address), bound(120))
    # The server was asked to end while the guest stood at the breakpoint.
    assert guest_runs(guest)
    assert original(guest, attach) == clean
