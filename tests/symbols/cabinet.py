"""Compressed symbol files as ``symstore /compress`` leaves them."""

from __future__ import annotations

import cabarchive


def cabinet(name: str, data: bytes) -> bytes:
    """A cabinet with one MSZIP-compressed file."""
    archive = cabarchive.CabArchive()
    archive[name] = cabarchive.CabFile(data)
    return archive.save(compress=True)
