"""Every promise of the server has a test."""

from __future__ import annotations

import importlib

from tests.frontends.mcp.contract import LIVE, PROMISES, pending


def test_every_promise_has_a_test_that_exists() -> None:
    missing = []
    for name, (promise, test) in PROMISES.items():
        assert promise
        if test == LIVE:
            continue
        module, _, function = test.partition("::")
        found = importlib.import_module(f"tests.frontends.mcp.test_{module}")
        if not callable(getattr(found, f"test_{function}", None)):
            missing.append(f"{name}: {test}")
    assert not missing


def test_only_what_needs_a_running_target_is_pending() -> None:
    live = ("shape.", "shutdown.", "resume.", "wait.", "interrupt.", "stops.", "status.", "open.", "dbgprint", "stop-")
    assert all(name.startswith(live) for name in pending())
