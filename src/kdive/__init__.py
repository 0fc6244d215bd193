"""kdive: a Windows kernel debugger.

``kdive.open_dump(path)`` opens a crash dump and returns a :class:`~kdive.sdk.Debugger`. Importing the package is cheap:
the engine is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.errors import KdiveError
from kdive.version import __version__

if TYPE_CHECKING:
    from kdive.sdk import Debugger, Frame, open_dump

__all__ = ["Debugger", "Frame", "KdiveError", "__version__", "open_dump"]


def __getattr__(name: str) -> Any:
    if name in ("Debugger", "Frame", "open_dump"):
        from kdive import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'kdive' has no attribute {name!r}")
