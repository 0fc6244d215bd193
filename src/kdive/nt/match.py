"""Matching a kernel of unknown identity to symbols by the evidence in its debugger data block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kdive.nt.kdbg import POINTER_FIELDS, SIZE_FIELDS
from kdive.record import Record
from kdive.symbols.catalogue import SIZED_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdive.nt.kdbg import DebuggerData
    from kdive.symbols.catalogue import IsfEntry

_MIN_ANCHORS = 3


class KernelMatch(Record, frozen=True):
    """The best symbol file for a kernel.

    Attributes:
        path: The file.
        exact: Whether its addresses hold; if not, only its types may be used.
        evidence: What agreed, for the user.
    """

    path: Path
    exact: bool
    evidence: str


def match_kernel(
    entries: Iterable[IsfEntry], data: DebuggerData, base: int, size: int, machine: int
) -> KernelMatch | None:
    """Choose among ISF files.

    A file is exact if three quarters of the anchors that the block records (three at least) lie on the symbols of their
    names; failing that, a file whose structures have the recorded sizes serves for types. The block's own address is
    an anchor too. Not all anchors agree in a real pair: ``MmUnloadedDrivers`` holds a pointer in some builds.

    Args:
        entries: The candidates.
        data: The debugger data block.
        base: Kernel load address.
        size: Kernel ``SizeOfImage``.
        machine: COFF machine number.
    """
    anchors = {"KdDebuggerDataBlock": data.address}
    anchors |= {name: data.pointer(name) for name in POINTER_FIELDS}
    anchors = {name: value - base for name, value in anchors.items() if base <= value < base + size}
    sizes = {name: data.size_of(name) for name in SIZED_TYPES if name in SIZE_FIELDS}
    sizes = {name: value for name, value in sizes.items() if value}
    near: KernelMatch | None = None
    for entry in entries:
        if entry.machine and entry.machine != machine:
            continue
        shared = [name for name in entry.anchors if name in anchors]
        agreeing = [name for name in shared if entry.anchors[name] == anchors[name]]
        same_sizes = [name for name, value in sizes.items() if entry.sizes.get(name) == value]
        if len(agreeing) >= _MIN_ANCHORS and len(agreeing) * 4 >= len(shared) * 3:
            return KernelMatch(
                Path(entry.path),
                True,
                f"debugger data block: {len(agreeing)} of {len(shared)} pointers on symbols of their names, "
                f"{len(same_sizes)} of {len(sizes)} structure sizes equal",
            )
        if near is None and sizes and len(same_sizes) == len(sizes):
            listed = ", ".join(f"{name} {sizes[name]:#x}" for name in same_sizes)
            near = KernelMatch(
                Path(entry.path), False, f"types of a nearby build: structure sizes agree ({listed}); addresses do not"
            )
    return near
