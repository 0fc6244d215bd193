"""The version resource of a PE image.

Format facts: Microsoft's "PE Format" specification, "The .rsrc Section"; ``VS_VERSIONINFO`` and ``VS_FIXEDFILEINFO``
in the Windows SDK documentation.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.formats.pe.image import DIRECTORY_RESOURCE
from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.formats.pe.image import PeImage

_DIRECTORY = struct.Struct("<IIHHHH")
_ENTRY = struct.Struct("<II")
_DATA_ENTRY = struct.Struct("<IIII")
_FIXED = struct.Struct("<13I")
_NODE = struct.Struct("<HHH")
_TYPE_VERSION = 16
_SUBDIRECTORY = 0x80000000
_FIXED_SIGNATURE = 0xFEEF04BD
_MAX_ENTRIES = 4096
_MAX_RESOURCE = 1 << 16
_MAX_STRINGS = 256


class VersionInfo(Record, frozen=True):
    """What the version resource says.

    Attributes:
        file_version: ``major.minor.build.revision`` of the file.
        product_version: The same of the product.
        strings: ``CompanyName``, ``FileDescription``, ``OriginalFilename`` and so on, of the first language.
    """

    file_version: str
    product_version: str
    strings: dict[str, str] = field(default_factory=dict[str, str])


def version_info(image: PeImage) -> VersionInfo | None:
    """Read the version resource; None if the image has none, or the part that holds it is missing or broken."""
    rva, _ = image.directory(DIRECTORY_RESOURCE)
    if not rva:
        return None
    level = _child(image, rva, 0, _TYPE_VERSION)
    for _ in range(2):  # the name, then the language: the first of each
        if level is None or not level & _SUBDIRECTORY:
            return None
        level = _child(image, rva, level & ~_SUBDIRECTORY, None)
    if level is None or level & _SUBDIRECTORY:
        return None
    raw = image.read_available(rva + level, _DATA_ENTRY.size)
    if len(raw) < _DATA_ENTRY.size:
        return None
    data_rva, size, _, _ = _DATA_ENTRY.unpack(raw)
    return parse_version_resource(image.read_available(data_rva, min(size, _MAX_RESOURCE)))


def _child(image: PeImage, root: int, offset: int, wanted: int | None) -> int | None:
    """Where the entry ``wanted`` (or the first one) of a resource directory leads."""
    head = image.read_available(root + offset, _DIRECTORY.size)
    if len(head) < _DIRECTORY.size:
        return None
    *_, named, numbered = _DIRECTORY.unpack(head)
    count = min(named + numbered, _MAX_ENTRIES)
    table = image.read_available(root + offset + _DIRECTORY.size, count * _ENTRY.size)
    for identifier, where in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        if wanted is None or identifier == wanted:
            return where
    return None


class _Node(Record, frozen=True):
    key: str
    value: bytes
    is_text: bool
    children: tuple[int, int]
    """Start and end of what follows the value."""


def _node(data: bytes, at: int, limit: int) -> tuple[_Node, int] | None:
    """The node at an offset and where the next one starts."""
    if at + _NODE.size > limit:
        return None
    length, value_length, kind = _NODE.unpack_from(data, at)
    end = min(at + length, limit)
    if length < _NODE.size:
        return None
    text = data[at + _NODE.size : end]
    key = text[: len(text) & ~1].decode("utf-16-le", "replace").split("\0", 1)[0]
    value_at = (at + _NODE.size + len(key.encode("utf-16-le", "surrogatepass")) + 2 + 3) & ~3
    is_text = kind == 1
    value_end = min(value_at + value_length * (2 if is_text else 1), end)
    return _Node(key, data[value_at:value_end], is_text, ((value_end + 3) & ~3, end)), (at + length + 3) & ~3


def _nodes(data: bytes, span: tuple[int, int]) -> Iterator[_Node]:
    at, limit = span
    for _ in range(_MAX_STRINGS):
        found = _node(data, at, limit)
        if found is None:
            return
        yield found[0]
        at = found[1]


def parse_version_resource(data: bytes) -> VersionInfo | None:
    """Decode a ``VS_VERSIONINFO`` block; None if it does not hold the fixed part."""
    found = _node(data, 0, len(data))
    if found is None or found[0].key != "VS_VERSION_INFO" or len(found[0].value) < _FIXED.size:
        return None
    root = found[0]
    fixed = _FIXED.unpack_from(root.value)
    if fixed[0] != _FIXED_SIGNATURE:
        return None
    strings: dict[str, str] = {}
    for part in _nodes(data, root.children):
        if part.key != "StringFileInfo":
            continue
        for table in _nodes(data, part.children):
            for entry in _nodes(data, table.children):
                value = entry.value[: len(entry.value) & ~1].decode("utf-16-le", "replace")
                strings.setdefault(entry.key, value.split("\0", 1)[0])
            break
    return VersionInfo(_dotted(fixed[2], fixed[3]), _dotted(fixed[4], fixed[5]), strings)


def _dotted(high: int, low: int) -> str:
    return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
