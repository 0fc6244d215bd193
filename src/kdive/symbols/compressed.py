"""Compressed symbol files: ``name.pd_`` is a cabinet that holds ``name.pdb``.

``symstore /compress`` and ``makecab`` write them. MSZIP is expanded here, LZX is not.

Source: Microsoft, "Using SymStore" and the cabinet format ``[MS-CAB]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdive.atomic import replacing
from kdive.errors import FormatError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

_CABINET = b"MSCF"
_MAX_COMPRESSED = 1 << 30


def compressed_name(name: str) -> str:
    """The name of a file's compressed form: ``amdppm.pd_`` for ``amdppm.pdb``."""
    return f"{name[:-1]}_"


def expand(source: Path, target: Path) -> None:
    """Expand a compressed file; ``target`` appears whole or not at all.

    Raises:
        FormatError: The cabinet is broken or does not hold one file.
        UnsupportedError: It is compressed in a way that cannot be read here.
    """
    # Imported here: few stores are compressed.
    from cabarchive import CabArchive, CorruptionError, NotSupportedError

    advice = f"expand it by hand, for example with: cabextract -p {source} > {target}"
    try:
        if source.stat().st_size > _MAX_COMPRESSED:
            raise UnsupportedError("the compressed file is larger than 1 GiB", where=str(source), hint=advice)
        data = source.read_bytes()
        if data[:4] != _CABINET:
            raise FormatError("not a cabinet, so not a compressed symbol file", where=str(source))
        archive: Any = CabArchive(data)
        files = [bytes(entry.buf or b"") for entry in archive.values()]
    except NotSupportedError as error:
        raise UnsupportedError(f"cannot expand: {error}", where=str(source), hint=advice) from error
    except (CorruptionError, OSError, ValueError, IndexError, ZeroDivisionError) as error:
        raise FormatError(f"cannot expand: {error or type(error).__name__}", where=str(source)) from error
    if len(files) != 1:
        raise FormatError(f"a compressed symbol file holds one file, this one {len(files)}", where=str(source))
    try:
        with replacing(target) as file:
            file.write(files[0])
    except OSError as error:
        raise FormatError(f"cannot write: {error.strerror or error}", where=str(target)) from error
