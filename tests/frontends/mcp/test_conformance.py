"""The public conformance suite, and the inspector, against our server."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.frontends.mcp.support import DUMP, HttpServer
from tests.frontends.mcp.test_tools import NAMES

if TYPE_CHECKING:
    from collections.abc import Generator

BIN = Path(__file__).parents[3] / ".node" / "node_modules" / ".bin"
EXPECTED = Path(__file__).parent / "conformance"
ARGUMENTS = {
    "wait_for_stop": ["timeout_ms=1"],
    "open": ["backend=dump", f"connect={DUMP}"],
    "command": ["line=? 1", "format=json"],
    "output": ["id=0"],
    "read_memory": ["address=rsp", "count=4"],
    "disassemble": ["address=rip"],
    "symbols": ["pattern=nt!Ke*"],
    "type_layout": ["type=nt!_KTHREAD"],
}
REFUSED = ("open", "resume", "output")
"""Tools that answer with an error here: a session is open, a dump cannot run, nothing is kept."""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    if not (BIN / program).exists():
        reason = f"{program} is not installed: sh tools/node_packages.sh"
        if os.environ.get("KDIVE_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(BIN / program), *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=os.environ | {"PATH": path},
    )


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with HttpServer("--dump", DUMP) as server:
        yield server.address


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_fails_only_where_it_needs_tools_of_its_own(
    address: str, version: str, tmp_path: Path
) -> None:
    done = run(
        "conformance",
        *("server", "--url", address, "--suite", "all", "--spec-version", version),
        *("--expected-failures", str(EXPECTED / f"{version}.yml"), "-o", str(tmp_path)),
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_inspector_lists_and_calls_every_tool(address: str) -> None:
    listed = run("mcp-inspector", "--cli", address, "--method", "tools/list")
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == NAMES

    def call(name: str) -> subprocess.CompletedProcess[str]:
        pairs = [part for pair in ARGUMENTS.get(name, []) for part in ("--tool-arg", pair)]
        return run("mcp-inspector", "--cli", address, "--method", "tools/call", "--tool-name", name, *pairs)

    names = [name for name in NAMES if name != "close"]
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(names, pool.map(call, names), strict=True)) | {"close": call("close")}
    for name, done in results.items():
        result = json.loads(done.stdout)
        assert result["content"][0]["text"], name
        assert bool(result.get("isError")) == (name in REFUSED), (name, result)
