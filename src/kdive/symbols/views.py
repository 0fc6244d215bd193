"""Typed views: a structure in memory, read once and decoded field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend
from kdive.errors import KdiveError, SymbolNotFoundError
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    EnumType,
    PointerType,
    PrimitiveType,
    StructType,
    Type,
    TypeReference,
    resolved,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.memory.interface import Memory


def decode_scalar(type_: Type, data: bytes) -> int:
    """Decode an integer, pointer, enumeration or bit field from the bytes at its place.

    Raises:
        KdiveError: The type has no integer value.
    """
    if isinstance(type_, BitfieldType):
        whole = int.from_bytes(data[: type_.base.size], "little")
        return whole >> type_.position & ((1 << type_.length) - 1)
    if isinstance(type_, TypeReference):
        type_ = type_.resolve()
    size = type_.size
    value = int.from_bytes(data[:size], "little")
    if isinstance(type_, EnumType):
        type_ = resolved(type_.base)
    if isinstance(type_, PrimitiveType) and type_.signed and size:
        return sign_extend(value, size * 8)
    if isinstance(type_, PrimitiveType | PointerType):
        return value
    raise KdiveError(f"a value of type {type_.__class__.__name__} is not a number")


def find_member(type_: StructType, path: str) -> tuple[int, Type]:
    """Return the offset and type of a member given by a dotted path (``Tcb.ApcState.Process``).

    Members of unnamed structures and unions inside are found as if they were direct members.

    Raises:
        SymbolNotFoundError: There is no such member.
    """
    offset = 0
    current: Type = type_
    for part in path.split("."):
        layout = resolved(current)
        if not isinstance(layout, StructType):
            raise SymbolNotFoundError(f"{type_.name}.{path}: {part} is not in a structure")
        found = _direct_or_unnamed(layout, part, 0)
        if found is None:
            raise SymbolNotFoundError(f"{type_.name} has no member {path}")
        offset += found[0]
        current = found[1]
    return offset, current


def _direct_or_unnamed(layout: StructType, name: str, depth: int) -> tuple[int, Type] | None:
    member = layout.field(name)
    if member is not None:
        return member.offset, member.type
    if depth > 4:
        return None
    for candidate in layout.fields:
        # Volatility's converter calls unnamed members u0, u1 …; PDBs call them by the name of the unnamed type.
        if not isinstance(candidate.type, TypeReference) or candidate.type.kind == "enum":
            continue
        if "unnamed" not in candidate.type.name and "anonymous" not in candidate.type.name:
            continue
        inner = candidate.type.resolve()
        if isinstance(inner, StructType):
            found = _direct_or_unnamed(inner, name, depth + 1)
            if found is not None:
                return candidate.offset + found[0], found[1]
    return None


_WHOLE = 0x4000
"""Size in bytes above which members are read one by one."""


class Struct:
    """A structure at an address.

    The bytes are read whole at the first access, unless there are many: few members of ``_KPRCB`` with its tens of
    kilobytes are ever asked for, and a slow target is read in lines anyway. ``view["Field"]`` gives a number for
    scalars and a :class:`Struct` for embedded structures; paths with dots work.

    Args:
        memory: Where it lies.
        address: Its address.
        type_: Its layout.
        data: Its bytes, if they have been read already.
    """

    __slots__ = ("_data", "address", "memory", "type")

    def __init__(self, memory: Memory, address: int, type_: StructType, data: bytes | None = None) -> None:
        self.memory = memory
        self.address = address
        self.type = type_
        self._data = data

    @property
    def data(self) -> bytes:
        """The bytes of the structure.

        Raises:
            MemoryAccessError: They cannot be read whole.
        """
        if self._data is None:
            self._data = self.memory.read(self.address, self.type.size)
        return self._data

    def _slice(self, offset: int, size: int) -> bytes:
        if self._data is None:
            if self.type.size > _WHOLE:
                return self.memory.read(self.address + offset, size)
            runs = self.memory.read_available(self.address, self.type.size)
            if len(runs) == 1 and len(runs[0][1]) == self.type.size:
                self._data = runs[0][1]
            else:
                # Part of the structure is missing: the rest of its members are still good.
                return self.memory.read(self.address + offset, size)
        return self._data[offset : offset + size]

    def __contains__(self, path: str) -> bool:
        try:
            find_member(self.type, path)
        except SymbolNotFoundError:
            return False
        return True

    def offset_of(self, path: str) -> int:
        """Offset in bytes of a member."""
        return find_member(self.type, path)[0]

    def address_of(self, path: str) -> int:
        """Address of a member."""
        return (self.address + self.offset_of(path)) & MASK64

    def __getitem__(self, path: str) -> int:
        """Return the number in a scalar member."""
        offset, type_ = find_member(self.type, path)
        return decode_scalar(type_, self._slice(offset, type_.size))

    def get(self, path: str, default: int = 0) -> int:
        """Return a member's number, or ``default`` if this version of the structure lacks it."""
        try:
            offset, type_ = find_member(self.type, path)
        except SymbolNotFoundError:
            return default
        return decode_scalar(type_, self._slice(offset, type_.size))

    def raw(self, path: str) -> bytes:
        """Return the bytes of a member."""
        offset, type_ = find_member(self.type, path)
        return self._slice(offset, type_.size)

    def struct(self, path: str) -> Struct:
        """Return an embedded structure."""
        offset, type_ = find_member(self.type, path)
        layout = resolved(type_)
        if not isinstance(layout, StructType):
            raise SymbolNotFoundError(f"{self.type.name}.{path} is not a structure")
        data = None if self._data is None else self._data[offset : offset + layout.size]
        return Struct(self.memory, self.address + offset, layout, data)

    def array(self, path: str) -> list[int]:
        """Return the numbers of an array of scalars."""
        offset, type_ = find_member(self.type, path)
        if not isinstance(type_, ArrayType):
            raise SymbolNotFoundError(f"{self.type.name}.{path} is not an array")
        size = type_.element.size
        data = self._slice(offset, type_.size)
        return [decode_scalar(type_.element, data[at : at + size]) for at in range(0, type_.count * size, size)]

    def text(self, path: str) -> str:
        """Return a fixed array of narrow characters up to its first NUL."""
        return self.raw(path).split(b"\0", 1)[0].decode("utf-8", "replace")

    def unicode_string(self, path: str) -> str:
        """Return the text of an embedded ``UNICODE_STRING``; empty if its buffer cannot be read."""
        offset, _ = find_member(self.type, path)
        raw = self._slice(offset, 16)
        length = int.from_bytes(raw[:2], "little") & ~1
        buffer = int.from_bytes(raw[8:16], "little")
        return self.memory.read_prefix(buffer, length).decode("utf-16-le", "replace") if buffer else ""


def walk_list(memory: Memory, head: int, limit: int = 65536) -> Iterator[int]:
    """Yield the addresses of the ``LIST_ENTRY`` links of a list, without its head.

    Stops at the head, at a link seen before, at ``limit`` links, or where memory ends.
    """
    seen = {head}
    raw = memory.read_prefix(head, 8)
    while len(raw) == 8 and len(seen) <= limit:
        link = int.from_bytes(raw, "little")
        if not link or link in seen:
            return
        seen.add(link)
        yield link
        raw = memory.read_prefix(link, 8)
