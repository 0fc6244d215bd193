"""How images get their module names."""

from __future__ import annotations

import re

KERNEL_IMAGES = frozenset({"ntoskrnl.exe", "ntkrnlmp.exe", "ntkrnlpa.exe", "ntkrpamp.exe", "ntkrla57.exe"})


def base_name(path: str) -> str:
    """Return the last part of a Windows path."""
    return path.replace("/", "\\").rsplit("\\", 1)[-1]


def module_name(image_name: str) -> str:
    """Return the name that symbols of an image are qualified with.

    The kernel is ``nt`` whatever its file is called; other names lose their extension, and characters that would not
    survive in an expression become underscores.
    """
    if image_name.lower() in KERNEL_IMAGES:
        return "nt"
    stem = image_name.rsplit(".", 1)[0] if "." in image_name[1:] else image_name
    return re.sub(r"[^\w]", "_", stem) or "image"
