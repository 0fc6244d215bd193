"""MCP on standard input and output, against a real process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kdive import cli
from tests.frontends.mcp.support import DUMP, in_loop, server_command, text

if TYPE_CHECKING:
    from asyncio.subprocess import Process

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def start(*options: str) -> Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *server_command("--dump", DUMP, *options), stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 24
    )


async def ask(process: Process, message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    while True:
        line = await process.stdout.readline()
        assert line, "the server is gone"
        answer = json.loads(line)
        if answer.get("id") == message["id"]:
            return answer


async def initialize(process: Process) -> None:
    assert (await ask(process, INITIALIZE))["result"]["protocolVersion"] == "2025-11-25"
    assert process.stdin is not None
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_sdk_client_connects_in_every_mode(mode: str) -> None:
    from mcp import Client, StdioServerParameters

    async def work() -> None:
        command, *arguments = server_command("--dump", DUMP)
        async with Client(StdioServerParameters(command=command, args=arguments), mode=mode) as client:
            result = await client.call_tool("command", {"line": "!analyze"})
            assert "IMAGE_NAME:  faulty.sys" in text(result)
            assert len((await client.list_tools()).tools) == 18

    in_loop(work)


def test_the_end_of_the_input_ends_the_server() -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""

    in_loop(work)


def test_the_end_of_the_input_ends_a_command_that_runs() -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(call(2, "command", line=".sleep 0n3600000")).encode() + b"\n")
        await ask(process, call(3, "output", id=7))
        process.stdin.close()
        assert await process.wait() == 0

    in_loop(work)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_the_server_in_order(name: str) -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(call(2, "command", line=".sleep 0n3600000")).encode() + b"\n")
        await ask(process, call(3, "output", id=7))
        process.send_signal(getattr(signal, name))
        assert await process.wait() == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""

    in_loop(work)


def test_a_cancelled_request_stops_its_command_and_the_session_stays_usable() -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(call(2, "command", line=".sleep 0n3600000")).encode() + b"\n")
        busy = {"busy": None}
        number = 3
        while busy["busy"] is None:
            busy = (await ask(process, call(number, "status")))["result"]["structuredContent"]
            number += 1
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        process.stdin.write(json.dumps(cancelled).encode() + b"\n")
        answer = await ask(process, call(number, "command", line=".echo alive"))
        assert answer["result"]["content"][0]["text"].startswith("alive\n")
        process.stdin.close()
        assert await process.wait() == 0

    in_loop(work)


def test_rubbish_and_oversized_messages_do_not_end_the_server() -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        for rubbish in (b"\xff\xfe{\n", b"[]\n", b"\n", b'{"jsonrpc":"2.0","id":9}\n', b"x" * (5 << 20) + b"\n"):
            process.stdin.write(rubbish)
            await process.stdin.drain()
        answer = await ask(process, call(3, "command", line=".echo alive"))
        assert answer["result"]["isError"] is False
        process.stdin.close()
        assert await process.wait() == 0

    in_loop(work)


def test_a_client_that_does_not_read_cannot_hold_the_server_up() -> None:
    async def work() -> None:
        process = await start()
        await initialize(process)
        assert process.stdin is not None
        for number in range(40):
            process.stdin.write(json.dumps(call(number + 2, "command", line="help")).encode() + b"\n")
        process.stdin.close()
        assert await process.wait() == 0

    in_loop(work)


def test_a_client_that_is_killed_leaves_no_server_behind() -> None:
    async def work() -> None:
        reading, writing = os.pipe()
        code = (
            "import subprocess, sys\n"
            "server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE,"
            " pass_fds=[int(sys.argv[1])])\n"
            "print('up', flush=True)\n"
            "server.wait()\n"
        )
        client = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, str(writing), *server_command("--dump", DUMP)),
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[writing],
        )
        os.close(writing)
        assert client.stdout is not None
        assert await client.stdout.readline() == b"up\n"
        client.kill()
        await client.wait()
        # The server holds the other end of this pipe: it closes when the server has ended.
        assert await asyncio.to_thread(os.read, reading, 1) == b""
        os.close(reading)

    in_loop(work)


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["--dump", "nothing.dmp"], 1, "error: no such file"),
        (["-b", "gdb", "--connect", "127.0.0.1:1"], 1, "not in this release"),
        (["-b", "kdnet"], 2, "needs a key"),
        (["--redact", "("], 2, "not a regular expression"),
        (["--redact", "x*"], 2, "matches an empty text"),
        (["--allow-host-files", "/nothing/here"], 2, "no such folder"),
        (["--http", "nonsense"], 2, "not an address to listen at"),
        (["--http", "0.0.0.0:0"], 2, "--unsafe-http"),
        (["--http", "127.0.0.1:0", "--http-token-file", "/nothing"], 2, "cannot read the token"),
        (["--unsafe-http"], 2, "belong to --http"),
    ],
)
def test_what_cannot_be_served_ends_the_server_at_the_start(
    arguments: list[str], status: int, part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["mcp", *arguments]) == status
    captured = capfd.readouterr()
    assert part in captured.err
    assert captured.out == ""


def test_other_commands_do_not_import_the_protocol() -> None:
    import subprocess

    code = (
        "import sys; from kdive import cli; cli.main(['--dump', sys.argv[1], '--batch', '-c', 'k']); "
        "print([name for name in ('mcp', 'mcp_types', 'pydantic', 'uvicorn', 'starlette') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, DUMP], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_serving_on_standard_streams_does_not_load_the_web_server() -> None:
    import subprocess

    code = (
        "import sys; from kdive import cli; cli.main(['mcp']); "
        "print('kdive.frontends.mcp.http' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.splitlines()[-1] == "False"
