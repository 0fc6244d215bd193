"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from typing import BinaryIO


@contextlib.contextmanager
def replacing(target: Path) -> Generator[BinaryIO]:
    """Write a file under another name in the same folder; it takes its name when the body ends without an error.

    Several writers do not disturb each other (the last one wins), and nobody sees half a file. The folder is made.

    Raises:
        OSError: It cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    os.close(handle)
    try:
        with open(temporary, "wb") as file:  # noqa: PTH123 - so that file.name is the name
            yield file
        os.replace(temporary, target)  # noqa: PTH105 - both are names
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
