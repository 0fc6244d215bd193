"""Which hosts and origins count as this machine."""

from __future__ import annotations

import pytest

from kdive.errors import UsageError
from kdive.frontends.mcp.origin import (
    Listen,
    check_listen,
    is_loopback,
    is_loopback_authority,
    is_loopback_origin,
    parse_listen,
)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "LocalHost"])
def test_loopback_hosts(host: str) -> None:
    assert is_loopback(host)
    check_listen(Listen(host, 1), unsafe=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "evil.example", "", "127.1"])
def test_other_hosts_are_refused_unless_unsafe(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UsageError, match="refusing to serve"):
        check_listen(Listen(host, 1), unsafe=False)
    check_listen(Listen(host, 1), unsafe=True)


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://LOCALHOST:3000",
        "https://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]",
        "http://[::1]:6274",
        "app://localhost",
    ],
)
def test_origins_on_this_machine(origin: str) -> None:
    assert is_loopback_origin(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "localhost",
        "127.0.0.1:80",
        "http://",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://evil.example#@localhost",
        "http://localhost@evil.example",
        "http://127.0.0.1.evil.example",
        "http://[::1].evil.example",
        "http://localhost:port",
        "http://localhost/path",
        "http://localhost, http://evil.example",
        "http://10.0.0.1",
    ],
)
def test_other_origins(origin: str) -> None:
    assert not is_loopback_origin(origin)


def test_a_host_header_may_have_a_port() -> None:
    assert is_loopback_authority("localhost:80")
    assert is_loopback_authority("[::1]:80")
    assert not is_loopback_authority("evil.example:80")
    assert not is_loopback_authority("localhost:80:80")


@pytest.mark.parametrize(
    ("given", "listen"),
    [
        ("127.0.0.1:8099", Listen("127.0.0.1", 8099)),
        ("[::1]:0", Listen("::1", 0)),
        ("8099", Listen("127.0.0.1", 8099)),
        ("localhost:1", Listen("localhost", 1)),
    ],
)
def test_addresses_to_listen_at(given: str, listen: Listen) -> None:
    assert parse_listen(given) == listen


@pytest.mark.parametrize("given", ["", "host", "::1:80", "127.0.0.1:99999", "a b:1", "http://127.0.0.1:1"])
def test_other_addresses_are_refused(given: str) -> None:
    with pytest.raises(UsageError):
        parse_listen(given)
