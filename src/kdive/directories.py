"""Where kdive keeps its own files.

``KDIVE_HOME`` moves all of them below one folder; otherwise they lie in the platform's cache, state and config folders.
"""

from __future__ import annotations

import os
from pathlib import Path


def _base(kind: str) -> Path:
    home = os.environ.get("KDIVE_HOME")
    if home:
        return Path(home) / kind
    import platformdirs

    finder = {
        "cache": platformdirs.user_cache_path,
        "state": platformdirs.user_state_path,
        "config": platformdirs.user_config_path,
    }[kind]
    return finder("kdive", appauthor=False)


def cache_directory() -> Path:
    """Folder of things that can be made again: downloaded symbols, symbol indexes."""
    return _base("cache")


def state_directory() -> Path:
    """Folder of things that grow with use: history."""
    return _base("state")


def config_directory() -> Path:
    """Folder of things that the user sets."""
    return _base("config")
