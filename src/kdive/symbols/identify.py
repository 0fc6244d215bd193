"""What a symbol or image file is, read from the file itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.symbols.images import open_image_file
from kdive.symbols.wanted import WantedFile, image_key

if TYPE_CHECKING:
    from pathlib import Path

_MSF_MAGIC = b"Microsoft C/C++ "


def identify(path: Path, name: str = "") -> WantedFile:
    """Return the store name and key of a PDB or PE image.

    Args:
        path: The file.
        name: What to call it; the file's own name if empty.

    Raises:
        FormatError: It is neither, or broken.
        UnsupportedError: It is a PDB of a kind that is not supported.
    """
    name = name or path.name
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MSF_MAGIC))
    except OSError as error:
        raise FormatError(f"cannot read: {error.strerror or error}", where=str(path)) from error
    if magic == _MSF_MAGIC:
        from kdive.formats.pdb.file import PdbFile

        pdb = PdbFile.open(path)
        age = pdb.dbi.age if pdb.dbi is not None else pdb.info.age
        return WantedFile(name, f"{pdb.info.guid}{age:X}")
    if magic[:2] == b"MZ":
        image = open_image_file(path)
        return WantedFile(name, image_key(image.timestamp, image.image_size))
    raise FormatError("neither a PDB nor a PE image", where=str(path))


def same_identity(found: WantedFile, wanted: WantedFile) -> bool:
    """Whether a file is the one that was wanted.

    Keys are spelt in either case. A PDB that was written again keeps its GUID, has a higher age, and still belongs
    to the image.
    """
    have, want = found.key.upper(), wanted.key.upper()
    if have == want:
        return True
    return len(want) > 32 and len(have) > 32 and have[:32] == want[:32] and int(have[32:], 16) >= int(want[32:], 16)
