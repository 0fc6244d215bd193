"""MCP over Streamable HTTP at ``/mcp``; all HTTP sessions share the one debugger session."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse

from kdive.errors import TargetError, UsageError
from kdive.frontends.mcp.origin import is_loopback_authority, is_loopback_origin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

    from kdive.frontends.mcp.origin import Listen

PATH = "/mcp"
MAX_BODY = 4 << 20
_MAX_SESSIONS = 256
_MIN_TOKEN = 16
_STOP_SECONDS = 1
"""How long open event streams may hold up the end; clients keep one open all the time."""


def read_token(path: str | None) -> str | None:
    """Read the bearer token from its file.

    Raises:
        UsageError: The file cannot be read, or holds no usable token.
    """
    if path is None:
        return None
    try:
        token = Path(path).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--http-token-file: cannot read the token", where=path) from error
    if len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"--http-token-file: a token of at least {_MIN_TOKEN} printable ASCII characters is needed", where=path
        )
    return token


class Doorkeeper:
    """Turns away requests under foreign names, from foreign pages, and without the token.

    Args:
        app: What serves the rest.
        unsafe: Whether any ``Host`` and ``Origin`` may pass.
        token: What ``Authorization: Bearer`` must hold, if anything.
    """

    def __init__(self, app: ASGIApp, *, unsafe: bool, token: str | None) -> None:
        self._unsafe = unsafe
        self._token = token.encode() if token is not None else None
        guarded: ASGIApp = self._authorised
        # A preflight request carries no token; which origins may ask has been decided before.
        self._cors = CORSMiddleware(
            guarded, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], expose_headers=["*"]
        )
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and not self._unsafe:
            headers = Headers(scope=scope)
            refusal: PlainTextResponse | None = None
            hosts = headers.getlist("host")
            if len(hosts) != 1 or not is_loopback_authority(hosts[0]):
                refusal = PlainTextResponse("Host must name this machine, such as 127.0.0.1\n", 421)
            elif not all(is_loopback_origin(origin) for origin in headers.getlist("origin")):
                refusal = PlainTextResponse("Origin must be a page on this machine\n", 403)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._cors(scope, receive, send)

    async def _authorised(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._token is not None:
            given = Headers(scope=scope).get("authorization", "")
            kind, _, token = given.partition(" ")
            fits = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token)
            if kind.lower() != "bearer" or not fits:
                refusal = PlainTextResponse("a bearer token is needed\n", 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def make_app(server: Server[Any], *, unsafe: bool, token: str | None) -> Doorkeeper:
    """The ASGI application."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY,
        max_sessions=_MAX_SESSIONS,
        # The doorkeeper checks more: the whole of 127.0.0.0/8, any case, origins without a port.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Doorkeeper(app, unsafe=unsafe, token=token)


class _Uvicorn(uvicorn.Server):
    """A server whose signals are handled by somebody else."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield


def _listen_at(listen: Listen) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    # The event loop turns Nagle's algorithm off only where the protocol is named; left on, each answer takes 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((listen.host, listen.port))
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock


async def serve_http(
    server: Server[Any],
    listen: Listen,
    stop: asyncio.Event,
    finish: Callable[[], Awaitable[object]],
    *,
    unsafe: bool,
    token: str | None,
) -> None:
    """Serve until told to stop.

    Args:
        server: What to serve.
        listen: Where; the address in use is written to standard error.
        stop: Set to stop.
        finish: Ends the session, so that the calls in flight are answered before the connections close.
        unsafe: See :class:`Doorkeeper`.
        token: See :class:`Doorkeeper`.

    Raises:
        TargetError: The address cannot be listened at.
    """
    try:
        sock = _listen_at(listen)
    except OSError as error:
        raise TargetError(f"cannot listen: {error.strerror or error}", where=f"{listen.host}:{listen.port}") from error
    host = f"[{listen.host}]" if sock.family == socket.AF_INET6 else listen.host
    config = uvicorn.Config(
        make_app(server, unsafe=unsafe, token=token),
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_STOP_SECONDS,
        h11_max_incomplete_event_size=1 << 16,
        limit_concurrency=512,
    )
    runner = _Uvicorn(config)
    # Clients keep event streams open all the time; that these are cut at the end is no news.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not runner.should_exit)
    with sock:
        sys.stderr.write(f"kdive-mcp: serving at http://{host}:{sock.getsockname()[1]}{PATH}\n")
        sys.stderr.flush()
        serving = asyncio.ensure_future(runner.serve([sock]))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await finish()
        runner.should_exit = True
        await serving
