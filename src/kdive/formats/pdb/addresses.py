"""Between ``section:offset`` and RVA, with the detour over OMAP for images rearranged after linking.

Format facts: ``IMAGE_SECTION_HEADER`` in ``winnt.h``; ``OMAP`` in ``dbghelp.h`` and Microsoft's published PDB sources.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right

_SECTION = struct.Struct("<8sIIIIIIHHI")
_MAX_RVA = 0xFFFFFFFF


class Omap:
    """A piecewise translation of RVAs: sorted starts, each with a target (0: the piece was removed)."""

    def __init__(self, data: bytes) -> None:
        words = array("I", data[: len(data) // 8 * 8])
        self._starts = words[0::2]
        self._targets = words[1::2]

    def __bool__(self) -> bool:
        return len(self._starts) > 0

    def translate(self, rva: int) -> int | None:
        """Return where ``rva`` went, or None if it is in no piece or its piece was removed."""
        index = bisect_right(self._starts, rva) - 1
        if index < 0 or not self._targets[index]:
            return None
        return self._targets[index] + rva - self._starts[index]


class AddressMap:
    """Translates addresses as the symbol records have them.

    Args:
        headers: The section header stream of the image as linked (``IMAGE_SECTION_HEADER`` array). With OMAP these are
            the *original* headers.
        to_source: The OMAP stream from the final image to the image as linked (empty if there is none).
        from_source: The OMAP stream the other way.
    """

    def __init__(self, headers: bytes, to_source: bytes = b"", from_source: bytes = b"") -> None:
        whole = headers[: len(headers) // _SECTION.size * _SECTION.size]
        self.sections: list[tuple[int, int]] = [(raw[2], max(raw[1], raw[3])) for raw in _SECTION.iter_unpack(whole)]
        # Of sections at one address the last in the file's order that is not empty counts.
        order = sorted(
            range(len(self.sections)), key=lambda index: (self.sections[index][0], self.sections[index][1] > 0)
        )
        self._starts = [self.sections[index][0] for index in order]
        self._numbers = [index + 1 for index in order]
        self._bases = [start for start, _ in self.sections]
        self._to_source = Omap(to_source) or None
        self._from_source = Omap(from_source) or None

    @property
    def rearranged(self) -> bool:
        """Whether the image was rearranged after linking, so that neighbours may have moved apart."""
        return self._from_source is not None

    def rva(self, section: int, offset: int) -> int | None:
        """Return the RVA of a 1-based section and an offset, or None for absolute or removed addresses."""
        if not 1 <= section <= len(self._bases):
            return None
        rva = self._bases[section - 1] + offset
        if rva > _MAX_RVA:
            return None
        return rva if self._from_source is None else self._from_source.translate(rva)

    def place(self, rva: int) -> tuple[int, int] | None:
        """Return the 1-based section and the offset of an RVA, or None if no section holds it."""
        if self._to_source is not None:
            source = self._to_source.translate(rva)
            if source is None:
                return None
            rva = source
        index = bisect_right(self._starts, rva) - 1
        return (self._numbers[index], rva - self._starts[index]) if index >= 0 else None
