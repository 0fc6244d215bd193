"""Which ISF files lie in a folder, and what kernel each is for, without converting them.

A kernel whose PDB identity is unknown is matched by evidence: addresses of its own variables (from the debugger data
block) must fall on the symbols of the right names, and the structure sizes that it recorded must agree. Looking into a
compressed ISF file costs some 50 ms, so what was seen is kept on disk.
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from kdive.atomic import replacing
from kdive.errors import FormatError
from kdive.record import Record
from kdive.symbols.isf import decompress_isf

if TYPE_CHECKING:
    from collections.abc import Iterator

ANCHORS = (
    "PsLoadedModuleList",
    "PsActiveProcessHead",
    "KdDebuggerDataBlock",
    "KiProcessorBlock",
    "PspCidTable",
    "KiBugCheckData",
    "NtBuildLab",
    "MmUnloadedDrivers",
)
SIZED_TYPES = ("_EPROCESS", "_ETHREAD", "_KPRCB")
_VERSION = 1


class IsfEntry(Record, frozen=True):
    """What is known of one ISF file.

    Attributes:
        path: The file.
        pdb: PDB file name.
        guid: 32 upper-case hex digits.
        age: PDB age.
        machine: COFF machine number, 0 if not recorded.
        anchors: RVAs of the anchor symbols.
        sizes: Sizes in bytes of the kernel structures that the debugger data block records.
    """

    path: str
    pdb: str
    guid: str
    age: int
    machine: int
    anchors: dict[str, int]
    sizes: dict[str, int]


def isf_files(directory: Path) -> Iterator[Path]:
    """Every ISF file below a folder."""
    for suffix in (".json.xz", ".json.gz", ".json.bz2", ".json"):
        yield from sorted(directory.rglob(f"*{suffix}"))


def inspect(path: Path) -> IsfEntry | None:
    """Look into a file; None if it is no ISF file of a PDB."""
    try:
        text = decompress_isf(path)
    except (FormatError, OSError):
        return None
    pdb = re.search(rb'"pdb"\s*:\s*\{[^}]*\}', text)
    if pdb is None:
        return None
    try:
        identity: dict[str, Any] = json.loads(b"{" + pdb.group() + b"}")["pdb"]
    except ValueError:
        return None
    anchors: dict[str, int] = {}
    for name in ANCHORS:
        match = re.search(rb'"' + name.encode() + rb'"\s*:\s*\{[^}]*?"address"\s*:\s*(\d+)', text)
        if match:
            anchors[name] = int(match.group(1))
    sizes: dict[str, int] = {}
    for name in SIZED_TYPES:
        at = text.find(b'"' + name.encode() + b'": {')
        if at < 0:
            at = text.find(b'"' + name.encode() + b'":{')
        match = re.compile(rb'"kind"\s*:\s*"(?:struct|union|class)"\s*,\s*"size"\s*:\s*(\d+)').search(text, max(at, 0))
        # A member may itself say `"kind": "struct"`, but only a whole type says kind and size in a row.
        if at >= 0 and match:
            sizes[name] = int(match.group(1))
    age, machine = identity.get("age", 0), identity.get("machine_type", 0)
    return IsfEntry(
        str(path),
        str(identity.get("database", "")),
        str(identity.get("GUID", "")).upper(),
        age if isinstance(age, int) else 0,
        machine if isinstance(machine, int) else 0,
        anchors,
        sizes,
    )


class IsfCatalogue:
    """The ISF files of some folders.

    Args:
        directories: Folders to look in, with all below.
        cache: File that remembers what was seen; None remembers nothing.
    """

    def __init__(self, directories: list[Path], cache: Path | None) -> None:
        self._directories = directories
        self._cache = cache
        self._memory: dict[str, Any] = {}

    def by_identity(self, guid: str, age: int) -> Path | None:
        """Find the file of one PDB. The usual place (``pdb/GUID-AGE.json.xz``) is tried before looking into files."""
        stem = f"{guid}-{age}"
        for directory in self._directories:
            for path in isf_files(directory):
                if path.name.split(".")[0].upper() == stem.upper():
                    return path
        for entry in self.entries():
            if entry.guid == guid.upper() and entry.age == age:
                return Path(entry.path)
        return None

    def entries(self) -> Iterator[IsfEntry]:
        """Yield what is known of each file, looking into those that have not been seen in their present form.

        A caller that has found what it wants stops early: the rest is not looked into.
        """
        self._memory = self._memory or (self._load() if self._directories else {})
        known: dict[str, Any] = self._memory
        fresh = False
        try:
            for path in (path for directory in self._directories for path in isf_files(directory)):
                with contextlib.suppress(OSError):
                    status = path.stat()
                    key = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
                    if key not in known:
                        entry = inspect(path)
                        known[key] = None if entry is None else structs.asdict(entry)
                        fresh = True
                    if known[key] is not None:
                        yield IsfEntry(**known[key])
        finally:
            if fresh:
                self._save(known)

    def _load(self) -> dict[str, Any]:
        if self._cache is None:
            return {}
        try:
            document = json.loads(self._cache.read_text("utf-8"))
            return document["entries"] if document["version"] == _VERSION else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _save(self, known: dict[str, Any]) -> None:
        if self._cache is None:
            return
        with contextlib.suppress(OSError), replacing(self._cache) as file:
            file.write(json.dumps({"version": _VERSION, "entries": known}).encode())
