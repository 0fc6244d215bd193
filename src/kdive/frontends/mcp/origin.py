"""Who may talk to the server over HTTP: where it listens, and which ``Host`` and ``Origin`` it answers.

A page in a browser can send requests to this machine. It cannot forge ``Origin``, and under a name of its own that it
lets point here (DNS rebinding) it cannot forge ``Host``.
"""

from __future__ import annotations

import ipaddress
import re

from kdive.errors import UsageError
from kdive.record import Record

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:/@?#\s]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#\s]+)")


class Listen(Record, frozen=True):
    """Where to listen: a host without brackets, and a port (0: any that is free)."""

    host: str
    port: int


def parse_listen(address: str) -> Listen:
    """Parse ``host:port``, ``[::1]:port`` or a port alone (on 127.0.0.1).

    Raises:
        UsageError: It is none of these.
    """
    if address.isdecimal():
        address = f"127.0.0.1:{address}"
    match = _AUTHORITY.fullmatch(address)
    if match is None or match[2] is None or int(match[2]) > 65535:
        raise UsageError(f"not an address to listen at: {address!r}", hint="--http 127.0.0.1:8099 or --http [::1]:8099")
    return Listen(match[1].strip("[]"), int(match[2]))


def is_loopback(host: str) -> bool:
    """Whether a host, with brackets or without, names this machine only: ``localhost``, 127.0.0.0/8 or ``::1``."""
    host = host.removeprefix("[").removesuffix("]")
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_authority(authority: str) -> bool:
    """Whether a ``Host`` header (``host[:port]``) names a loopback host."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_loopback(match[1])


def is_loopback_origin(origin: str) -> bool:
    """Whether an ``Origin`` header (``scheme://host[:port]``) names a loopback host; ``null`` does not."""
    match = _ORIGIN.fullmatch(origin)
    return match is not None and is_loopback_authority(match[1])


def check_listen(listen: Listen, *, unsafe: bool) -> None:
    """Refuse to listen where other machines can reach the server.

    Raises:
        UsageError: They could, and ``--unsafe-http`` was not given.
    """
    if not unsafe and not is_loopback(listen.host):
        raise UsageError(
            "refusing to serve on an address that other machines can reach",
            where=listen.host,
            hint="use 127.0.0.1 (with an SSH tunnel), or --unsafe-http with --http-token-file on a network you trust",
        )
