"""Results of loading symbols."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class Reloaded(Record, frozen=True):
    """``.reload``, ``ld``: modules whose symbols were looked for, with the outcome."""

    modules: list[tuple[str, str]]
    messages: list[str] = field(default_factory=list[str])
    pending: int = 0


class SymbolCheck(Record, frozen=True):
    """``!chksym``: whether symbols belong to an image.

    Attributes:
        module: The module's name.
        image: The image's file name.
        base: Its load address.
        timestamp: Its ``TimeDateStamp``.
        size: Its ``SizeOfImage`` in bytes.
        checksum: Its checksum.
        wanted: The PDB that the image names, with GUID and age, None if it names none.
        file: The symbol file that was checked, empty if there is none.
        found: That file's GUID and age, None if it does not record them.
        matches: Whether they belong together; None if that cannot be told.
        notes: Why not, and where to get the right one.
    """

    module: str
    image: str
    base: Address
    timestamp: Address
    size: Address
    checksum: Address
    wanted: tuple[str, str, int] | None
    file: str = ""
    found: tuple[str, int] | None = None
    matches: bool | None = None
    notes: list[str] = field(default_factory=list[str])
