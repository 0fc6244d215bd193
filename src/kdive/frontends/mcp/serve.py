"""``kdive mcp``: from options to a running server, and its orderly end."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import signal
import sys
from typing import TYPE_CHECKING

from kdive.errors import KdiveError, UsageError
from kdive.frontends.mcp.origin import Listen, check_listen, parse_listen
from kdive.frontends.mcp.policy import make_policy
from kdive.frontends.mcp.tool import ArgumentError
from kdive.frontends.mcp.toolbox import Toolbox
from kdive.record import Record
from kdive.render.console import error_text

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kdive.frontends.opening import OpenRequest, SymbolRequest

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


class ServeOptions(Record, frozen=True):
    """How to serve.

    Attributes:
        http: Address for HTTP, None for standard input and output.
        unsafe_http: Serve other machines, under any name.
        token_file: File with the bearer token for HTTP.
        allow_host_files: Folder in which commands may open files.
        read_only: Nothing in the target may be changed.
        redact: Regular expressions, or files with them.
    """

    http: str | None = None
    unsafe_http: bool = False
    token_file: str | None = None
    allow_host_files: str | None = None
    read_only: bool = False
    redact: tuple[str, ...] = ()


def serve(request: OpenRequest | None, symbols: SymbolRequest, options: ServeOptions) -> int:
    """Serve until the client leaves or a signal comes; return the exit status.

    Args:
        request: A target to open at the start.
        symbols: Where symbols come from, for every session that is opened.
        options: How to serve.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="kdive-mcp: %(name)s: %(message)s")
    # The SDK warns of each request that it turns away; a hostile client must not fill a log.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    try:
        policy = make_policy(options.allow_host_files, read_only=options.read_only, redact=options.redact)
        listen = _listen(options)
        token = None
        if listen is not None:
            from kdive.frontends.mcp.http import read_token

            token = read_token(options.token_file)
    except UsageError as error:
        _say(error)
        return EXIT_USAGE
    return asyncio.run(_serve(request, Toolbox(symbols, policy), listen, token, unsafe=options.unsafe_http))


def _listen(options: ServeOptions) -> Listen | None:
    if options.http is None:
        if options.unsafe_http or options.token_file:
            raise UsageError("--unsafe-http and --http-token-file belong to --http")
        return None
    listen = parse_listen(options.http)
    check_listen(listen, unsafe=options.unsafe_http)
    if options.unsafe_http:
        sys.stderr.write(
            "kdive-mcp: warning: --unsafe-http: other machines and any web page may drive this debugger"
            f"{'' if options.token_file else ', and there is no token'}\n"
        )
    return listen


async def _serve(
    request: OpenRequest | None, box: Toolbox, listen: Listen | None, token: str | None, *, unsafe: bool
) -> int:
    stop = asyncio.Event()
    _on_signals(stop)
    try:
        if request is not None:
            status = await _open_first(request, box)
            if status != EXIT_OK:
                return status
        if listen is None:
            return await _serve_stdio(box, stop)
        from kdive.frontends.mcp.http import serve_http
        from kdive.frontends.mcp.server import make_server

        try:
            await serve_http(make_server(box), listen, stop, box.slot.shutdown, unsafe=unsafe, token=token)
        except KdiveError as error:
            _say(error)
            return EXIT_FAILED
        return EXIT_OK
    finally:
        if not await box.slot.shutdown():
            sys.stderr.write(
                "kdive-mcp: the session did not end in time: a live target may have been left with breakpoints; "
                "attach again to have them taken out\n"
            )
        if box.slot.trouble:
            sys.stderr.write(f"kdive-mcp: {box.slot.trouble}\n")


async def _serve_stdio(box: Toolbox, stop: asyncio.Event) -> int:
    from kdive.frontends.mcp.server import make_server
    from kdive.frontends.mcp.stdio import stdio_streams, take_standard_streams

    server = make_server(box)
    # What has been loaded stays; the collector need not look through it again during calls.
    gc.freeze()
    async with stdio_streams(*take_standard_streams()) as (incoming, outgoing):
        await _until(stop, server.run(incoming, outgoing, server.create_initialization_options()))
    return EXIT_OK


async def _until(stop: asyncio.Event, work: Coroutine[object, object, None]) -> None:
    """Await work, or cancel it when told to stop."""
    serving = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not serving.done():
        serving.cancel()
    try:
        await serving
    except asyncio.CancelledError:
        return


def _on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:
            # Windows: no signal handlers on its event loop.
            signal.signal(number, functools.partial(_wake, loop, stop))


def _wake(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, number: int, frame: object) -> None:
    del number, frame
    loop.call_soon_threadsafe(stop.set)


async def _open_first(request: OpenRequest, box: Toolbox) -> int:
    named = {"backend": request.backend, "connect": request.connect, "key": request.key}
    try:
        opened = await box.call("open", {name: value for name, value in named.items() if value is not None})
    except ArgumentError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USAGE
    if opened.is_error:
        sys.stderr.write(opened.text + "\n")
        return EXIT_FAILED
    return EXIT_OK


def _say(error: KdiveError) -> None:
    sys.stderr.write(error_text(error).plain() + "\n")
