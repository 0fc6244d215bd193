"""Item records (the IPI stream): function identifiers, strings, build information, where a type was declared.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources and LLVM's ``CodeViewTypes.def``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.numeric import name_at
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.formats.pdb.tpi import TypeStream

LF_FUNC_ID = 0x1601
LF_MFUNC_ID = 0x1602
LF_BUILDINFO = 0x1603
LF_SUBSTR_LIST = 0x1604
LF_STRING_ID = 0x1605
LF_UDT_SRC_LINE = 0x1606
LF_UDT_MOD_SRC_LINE = 0x1607
_MAX_PARTS = 1024

_II = struct.Struct("<II")
_III = struct.Struct("<III")
_IIIH = struct.Struct("<IIIH")


class Function(Record, frozen=True):
    """A function: its name, its type, and the item of its namespace (or the class it is a member of), 0 for none."""

    name: str
    type_index: int
    scope: int = 0
    owner: int = 0


class String(Record, frozen=True):
    """A string; ``parts`` is the list of the strings that stand before it, 0 for none."""

    text: str
    parts: int = 0


class ItemList(Record, frozen=True):
    """Build information (directory, compiler, source, PDB, command line) or the parts of a long string."""

    items: tuple[int, ...]


class Declaration(Record, frozen=True):
    """Where a type was declared.

    Attributes:
        type_index: The type.
        file: Item of the file's name, or its offset in the string table if ``module`` is given.
        line: The line.
        module: 1-based number of the module that contributed it, 0 if not recorded.
    """

    type_index: int
    file: int
    line: int
    module: int = 0


Item = Function | String | ItemList | Declaration


def parse_item(leaf: int, body: bytes) -> Item | None:
    """Decode an item record; None if it is of an unknown kind.

    Args:
        leaf: The kind of record.
        body: What follows the kind.

    Raises:
        FormatError: The record is cut short.
    """
    try:
        return _parse(leaf, body)
    except struct.error:
        raise FormatError(f"item record {leaf:#x} is cut short") from None


def _parse(leaf: int, body: bytes) -> Item | None:
    if leaf in (LF_FUNC_ID, LF_MFUNC_ID):
        scope, type_index = _II.unpack_from(body)
        name, _ = name_at(body, 8)
        return Function(name, type_index, scope) if leaf == LF_FUNC_ID else Function(name, type_index, owner=scope)
    if leaf == LF_STRING_ID:
        return String(name_at(body, 4)[0], int.from_bytes(body[:4], "little"))
    if leaf in (LF_BUILDINFO, LF_SUBSTR_LIST):
        size = 2 if leaf == LF_BUILDINFO else 4
        count = int.from_bytes(body[:size], "little")
        if size + 4 * count > len(body):
            raise FormatError(f"item record {leaf:#x} is cut short")
        return ItemList(struct.unpack_from(f"<{count}I", body, size))
    if leaf == LF_UDT_SRC_LINE:
        return Declaration(*_III.unpack_from(body))
    if leaf == LF_UDT_MOD_SRC_LINE:
        return Declaration(*_IIIH.unpack_from(body))
    return None


def item(items: TypeStream, index: int) -> Item | None:
    """Return a decoded item record.

    Raises:
        FormatError: There is no such record, or it is broken.
    """
    return parse_item(*items.record(index))


def text_of(items: TypeStream, index: int) -> str:
    """Return a string item with the parts before it.

    Raises:
        FormatError: A record is missing, broken or no string.
    """
    found = item(items, index)
    if not isinstance(found, String):
        raise FormatError(f"item {index:#x} is no string")
    parts = item(items, found.parts) if found.parts else None
    before: list[str] = []
    for part in parts.items[:_MAX_PARTS] if isinstance(parts, ItemList) else ():
        piece = item(items, part)
        # Parts of parts do not occur; following them would let a broken file run in circles.
        before.append(piece.text if isinstance(piece, String) else "")
    return "".join(before) + found.text
