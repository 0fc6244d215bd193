"""Every promise of the server has a test."""

from __future__ import annotations

import importlib

from tests.frontends.mcp.contract import PROMISES


def test_every_promise_has_a_test_that_exists() -> None:
    missing = []
    for name, (promise, test) in PROMISES.items():
        assert promise
        place, _, function = test.partition("::")
        folder, _, module = place.rpartition("/")
        found = importlib.import_module(f"tests.{folder or 'frontends.mcp'}.test_{module}")
        if not callable(getattr(found, f"test_{function}", None)):
            missing.append(f"{name}: {test}")
    assert not missing
