"""What lies in local symbol stores, and putting files into them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from kdive.atomic import replacing
from kdive.errors import FormatError, KdiveError, SymbolError
from kdive.record import Record
from kdive.symbols.catalogue import inspect
from kdive.symbols.identify import identify
from kdive.symbols.wanted import WantedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ISF_SUFFIXES = (".json", ".json.xz", ".json.gz", ".json.bz2")


class StoredFile(Record, frozen=True):
    """A file in a store.

    Attributes:
        name: File name, as the store spells it.
        key: Store key; empty in a flat folder, where only the file itself tells.
        path: The file.
        size: Bytes.
    """

    name: str
    key: str
    path: Path
    size: int


def stored_files(directories: Iterable[Path]) -> Iterator[StoredFile]:
    """Yield what symbol-store folders hold: ``name/key/name``, two-tier too, and files lying flat."""
    for directory in directories:
        for place in _entries(directory):
            if place.is_dir():
                yield from _keyed(place)
                for deeper in _entries(place) if len(place.name) == 2 else ():
                    yield from _keyed(deeper)
            elif place.suffix.lower() in (".pdb", ".exe", ".dll", ".sys"):
                yield StoredFile(place.name, "", place, place.stat().st_size)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _keyed(folder: Path) -> Iterator[StoredFile]:
    for key in _entries(folder):
        file = key / folder.name
        if file.is_file():
            yield StoredFile(folder.name, key.name, file, file.stat().st_size)


def add_file(path: Path, store: Path, isf_folder: Path) -> Path:
    """Copy a PDB, a PE image or an ISF file to where it is looked for; return that place.

    Args:
        path: The file.
        store: Root of the symbol store for PDBs and images.
        isf_folder: Folder for ISF files.

    Raises:
        FormatError: The file is none of these, or broken.
        SymbolError: It cannot be copied.
    """
    if path.name.lower().endswith(ISF_SUFFIXES):
        entry = inspect(path)
        if entry is None:
            raise FormatError("not an ISF file of a PDB", where=str(path))
        suffix = path.name[path.name.lower().index(".json") :]
        target = isf_folder / "windows" / entry.pdb / f"{entry.guid}-{entry.age}{suffix}"
    else:
        target = store / identify(path).relative
    try:
        with path.open("rb") as source, replacing(target) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    except OSError as error:
        raise SymbolError(f"cannot copy: {error.strerror or error}", where=str(target)) from error
    return target


def wanted_by(path: Path) -> WantedFile:
    """Return the PDB that an image asks for.

    Raises:
        FormatError: It is no PE image, or names no PDB.
    """
    from kdive.symbols.images import open_image_file

    identity = open_image_file(path).pdb_identity
    if identity is None:
        raise FormatError("the image names no PDB", where=str(path), hint="it was linked without debug information")
    return WantedFile(identity.file_name, identity.key)


def parse_wanted(text: str) -> WantedFile:
    """Read ``name/KEY`` as stores and addresses write it.

    Raises:
        SymbolError: It is not of that form.
    """
    parts = text.strip("/").split("/")
    if len(parts) not in (2, 3) or not all(character in "0123456789abcdefABCDEF" for character in parts[1]):
        raise SymbolError(f"neither a file nor NAME/KEY: {text}", hint="for example amdppm.pdb/1C19FDDB…1")
    return WantedFile(parts[0], parts[1])


def find_exact(path: Path, wanted: WantedFile) -> str:
    """Say why a file is not the wanted one; empty if it is."""
    from kdive.symbols.identify import same_identity

    try:
        found = identify(path, wanted.name)
    except KdiveError as error:
        return str(error)
    return "" if same_identity(found, wanted) else f"{path}: is {found.key}, wanted is {wanted.key}"
