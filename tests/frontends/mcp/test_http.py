"""MCP over Streamable HTTP, against a real process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.frontends.mcp.support import DUMP, OPEN, HttpServer, in_loop, text
from tests.frontends.mcp.test_stdio import INITIALIZE

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """A server that all tests of this module share, with the sample open."""
    with HttpServer("--dump", DUMP) as server:
        yield server.address


async def post(address: str, message: object, **headers: str) -> tuple[int, dict[str, str], str]:
    """Send a request with headers just as given; return status, headers and body."""
    host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
    body = json.dumps(message).encode()
    fixed = {"Host": f"{host}:{port}", **ACCEPT, "Content-Length": str(len(body)), "Connection": "close"}
    fields = fixed | {name.replace("_", "-"): value for name, value in headers.items()}
    head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    return await exchange(int(port), head.encode("latin-1") + body)


async def exchange(port: int, request: bytes) -> tuple[int, dict[str, str], str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    return int(first.split()[1]), headers, body.decode()


async def until_busy(client: Any) -> None:
    while (await client.call_tool("status", {})).structured_content["busy"] is None:
        pass


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_sdk_client_connects_in_every_mode_and_the_session_outlives_it(address: str, mode: str) -> None:
    from mcp import Client

    async def work() -> None:
        for _ in range(2):
            async with Client(address, mode=mode) as client:
                assert "faulty!ReadDeviceRegister" in text(await client.call_tool("command", {"line": "k"}))
                assert (await client.call_tool("open", OPEN)).is_error

    in_loop(work)


def test_two_clients_share_the_one_session(address: str) -> None:
    from mcp import Client

    async def work() -> None:
        async with Client(address, mode="legacy") as first, Client(address, mode="2026-07-28") as second:
            await first.call_tool("close", {})
            opened = await asyncio.gather(first.call_tool("open", OPEN), second.call_tool("open", OPEN))
            assert sorted(result.is_error for result in opened) == [False, True]
            await first.call_tool("command", {"line": "r $t5 = 0n42"})
            assert "0000002a" in text(await second.call_tool("command", {"line": "? @$t5"}))
            answers = await asyncio.gather(
                *(client.call_tool("command", {"line": f".echo {n}"}) for n in range(20) for client in (first, second))
            )
            assert [text(answer).splitlines()[0] for answer in answers] == [str(n) for n in range(20) for _ in "ab"]

    in_loop(work)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_that_gives_up_stops_its_command(address: str, mode: str) -> None:
    from mcp import Client

    async def work() -> None:
        async with Client(address, mode=mode) as client:
            running = asyncio.ensure_future(client.call_tool("command", {"line": ".sleep 0n3600000"}))
            await until_busy(client)
            running.cancel()
            await asyncio.wait((running,))
            assert text(await client.call_tool("command", {"line": ".echo alive"})).startswith("alive\n")

    in_loop(work)


def test_foreign_hosts_and_origins_are_turned_away(address: str) -> None:
    async def work() -> None:
        status, headers, _ = await post(address, INITIALIZE)
        assert status == 200
        assert headers["mcp-session-id"]
        for origin in ("https://evil.example", "null", "localhost", "http://localhost.evil.example"):
            assert (await post(address, INITIALIZE, Origin=origin))[0] == 403
        for host in ("evil.example", "evil.example:80", "10.0.0.1"):
            assert (await post(address, INITIALIZE, Host=host))[0] == 421
        assert (await post(address, INITIALIZE, Host="127.9.9.9:1"))[0] == 200
        port = int(address.rpartition(":")[2].partition("/")[0])
        elsewhere = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        assert (await exchange(port, elsewhere))[0] == 404

    in_loop(work)


def test_pages_on_this_machine_may_use_the_server(address: str) -> None:
    async def work() -> None:
        status, headers, _ = await post(address, INITIALIZE, Origin="http://LocalHost:6274")
        assert status == 200
        assert headers["access-control-allow-origin"] in ("*", "http://LocalHost:6274")
        assert headers["access-control-expose-headers"] == "*"
        port = int(address.rpartition(":")[2].partition("/")[0])
        preflight = (
            "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\nAccess-Control-Request-Method: POST\r\n"
            "Access-Control-Request-Headers: mcp-session-id\r\nConnection: close\r\n\r\n"
        )
        allowed = await exchange(port, preflight.format("http://localhost:1").encode())
        assert allowed[0] == 200
        assert "POST" in allowed[1]["access-control-allow-methods"]
        assert "mcp-session-id" in allowed[1]["access-control-allow-headers"]
        assert (await exchange(port, preflight.format("http://evil.example").encode()))[0] == 403

    in_loop(work)


def test_oversized_requests_are_refused(address: str) -> None:
    async def work() -> None:
        assert (await post(address, INITIALIZE, Content_Length=str(5 << 20)))[0] == 413
        with contextlib.suppress(ConnectionResetError):
            # The connection may be cut before the client has read the answer.
            assert (await post(address, INITIALIZE, Filler="y" * 300_000))[0] == 400
        assert (await post(address, INITIALIZE))[0] == 200

    in_loop(work)


def test_without_the_token_nothing_is_served(tmp_path: Path) -> None:
    from httpx2 import AsyncClient
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef-secret\n")

    async def work(address: str) -> None:
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic 0123456789abcdef-secret"}):
            status, headers, _ = await post(address, INITIALIZE, **given)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
        bearer = {"Authorization": "Bearer 0123456789abcdef-secret"}
        assert (await post(address, INITIALIZE, **bearer))[0] == 200
        async with (
            AsyncClient(headers=bearer, follow_redirects=True) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            assert len((await client.list_tools()).tools) == 18

    with HttpServer("--http-token-file", str(secret)) as server:
        in_loop(lambda: work(server.address))


def test_unsafe_http_warns_and_admits_any_host_and_origin() -> None:
    async def work(address: str) -> None:
        address = address.replace("0.0.0.0", "127.0.0.1")
        assert (await post(address, INITIALIZE, Origin="https://evil.example", Host="debugger.example"))[0] == 200

    with HttpServer("--unsafe-http", listen="0.0.0.0:0") as server:
        assert "warning: --unsafe-http" in server.warnings
        in_loop(lambda: work(server.address))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_signal_ends_the_server_in_order(mode: str) -> None:
    from mcp import Client

    async def work(server: HttpServer) -> None:
        async with Client(server.address, mode=mode) as client:
            running = asyncio.ensure_future(client.call_tool("command", {"line": ".sleep 0n3600000"}))
            await until_busy(client)
            server.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.process.wait, 30) == 0
            await asyncio.gather(running, return_exceptions=True)

    with HttpServer("--dump", DUMP) as server:
        in_loop(lambda: work(server))
        assert server.process.stderr is not None
        assert server.process.stderr.read() == ""
