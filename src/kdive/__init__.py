"""kdive: a Windows kernel debugger.

``kdive.open_dump(path)`` opens a crash dump, ``kdive.attach(place)`` attaches to a live guest; both return a
:class:`~kdive.sdk.Debugger`. Importing the package is cheap: the engine is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.errors import KdiveError
from kdive.version import __version__

if TYPE_CHECKING:
    from kdive.sdk import (
        BreakpointHit,
        BugcheckRaised,
        Debugger,
        ExceptionRaised,
        Frame,
        Interrupted,
        LinkLost,
        ModuleChanged,
        Question,
        Reloaded,
        Stepped,
        Stop,
        WatchpointHit,
        attach,
        open_dump,
    )

__all__ = [
    "BreakpointHit",
    "BugcheckRaised",
    "Debugger",
    "ExceptionRaised",
    "Frame",
    "Interrupted",
    "KdiveError",
    "LinkLost",
    "ModuleChanged",
    "Question",
    "Reloaded",
    "Stepped",
    "Stop",
    "WatchpointHit",
    "__version__",
    "attach",
    "open_dump",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kdive import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'kdive' has no attribute {name!r}")
