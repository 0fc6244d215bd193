"""Fixtures that many tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.data import need

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AMDPPM = "kernel-dumps/x64-19041.804-amdppm.dmp"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the run: symbol indexes are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep kdive's own files out of the user's folders, and the user's settings out of the tests."""
    monkeypatch.setenv("KDIVE_HOME", str(tmp_path / "kdive-home"))
    monkeypatch.delenv("_NT_SYMBOL_PATH", raising=False)


@pytest.fixture
def open_session(cache: Path) -> Callable[..., Session]:
    """Open real dumps with the symbols that are at hand."""

    def opened(relative: str, *, symbols: bool = True) -> Session:
        path = need(relative)
        options = SessionOptions(
            symbol_path=str(need("symbols/store")) if symbols else "",
            isf_directories=(need("symbols/isf"),) if symbols else (),
            offline=True,
            cache=cache,
        )
        return Session(open_dump(path), options)

    return opened


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` rewrites the golden texts; look at the difference before committing it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden texts")
