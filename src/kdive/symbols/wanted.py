"""Files that symbol stores hold, and the keys that they are filed under."""

from __future__ import annotations

from kdive.record import Record


class WantedFile(Record, frozen=True):
    """A file that symbols were looked for in.

    Attributes:
        name: File name, as the store spells it (``amdppm.pdb``).
        key: Store key: GUID and age for a PDB, timestamp and size for an image.
    """

    name: str
    key: str

    @property
    def relative(self) -> str:
        """The path of the file inside a store, with forward slashes."""
        return f"{self.name}/{self.key}/{self.name}"


def image_key(timestamp: int, size: int) -> str:
    """The store key of an image: timestamp as eight hex digits, size as few as it takes (``c9c030003b000``)."""
    return f"{timestamp:08X}{size:x}"
