"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from typing import BinaryIO


@contextlib.contextmanager
def replacing(target: Path, *, durable: bool = False, overwrite: bool = True) -> Generator[BinaryIO]:
    """Write a file under another name in the same folder; it takes its name when the body ends without an error.

    Several writers do not disturb each other (the last one wins), and nobody sees half a file. The folder is made. The
    file can be read and written by its owner only.

    Args:
        target: The file.
        durable: Whether its bytes must be on the disk before it takes its name.
        overwrite: Whether it may take the place of another; if not, one that came meanwhile is left alone too.

    Raises:
        OSError: It cannot be written.
        FileExistsError: There is a file of this name, and it is not to be overwritten.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    os.close(handle)
    try:
        with open(temporary, "wb") as file:  # noqa: PTH123 - so that file.name is the name
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if overwrite or not _linked(temporary, target):
            os.replace(temporary, target)  # noqa: PTH105 - both are names
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108


def _linked(temporary: str, target: Path) -> bool:
    """Give a file its name without taking the place of another; False where the file system has no links.

    Raises:
        FileExistsError: There is a file of this name.
    """
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        return False
    return True
