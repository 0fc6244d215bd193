"""Type layouts out of a PDB's type records."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kdive.errors import FormatError, SymbolNotFoundError
from kdive.formats.pdb.fieldlist import BaseClass, Enumerate, Member, VtablePointer
from kdive.formats.pdb.leaves import (
    ArgumentList,
    Array,
    Bitfield,
    Modifier,
    Pointer,
    Procedure,
    Udt,
    VtableShape,
)
from kdive.formats.pdb.tpi import FIRST_INDEX
from kdive.symbols.types import (
    VOID,
    ArrayType,
    BitfieldType,
    EnumType,
    Field,
    FunctionType,
    PointerType,
    PrimitiveType,
    StructType,
    TypeReference,
)

if TYPE_CHECKING:
    from kdive.formats.pdb.tpi import TypeStream
    from kdive.symbols.types import PrimitiveKind, Type

_MAX_DEPTH = 64
_MAX_BASES = 512
_MAX_FIELDS = 1 << 16
VTABLE_FIELD = "__VFN_table"

# The low byte of a type index below 0x1000 (``TYPE_ENUM_e`` in cvinfo.h).
_PRIMITIVES: dict[int, tuple[str, int, PrimitiveKind]] = {
    0x03: ("void", 0, "void"),
    0x08: ("HRESULT", 4, "hresult"),
    0x10: ("char", 1, "char"),
    0x11: ("short", 2, "int"),
    0x12: ("long", 4, "int"),
    0x13: ("long long", 8, "int"),
    0x14: ("__int128", 16, "int"),
    0x20: ("unsigned char", 1, "uint"),
    0x21: ("unsigned short", 2, "uint"),
    0x22: ("unsigned long", 4, "uint"),
    0x23: ("unsigned long long", 8, "uint"),
    0x24: ("unsigned __int128", 16, "uint"),
    0x30: ("bool", 1, "bool"),
    0x31: ("bool", 2, "bool"),
    0x32: ("bool", 4, "bool"),
    0x33: ("bool", 8, "bool"),
    0x40: ("float", 4, "float"),
    0x41: ("double", 8, "float"),
    0x42: ("long double", 10, "float"),
    0x43: ("__float128", 16, "float"),
    0x44: ("__float48", 6, "float"),
    0x45: ("float", 4, "float"),
    0x46: ("__half", 2, "float"),
    0x68: ("signed char", 1, "int"),
    0x69: ("unsigned char", 1, "uint"),
    0x70: ("char", 1, "char"),
    0x71: ("wchar_t", 2, "wchar"),
    0x72: ("short", 2, "int"),
    0x73: ("unsigned short", 2, "uint"),
    0x74: ("int", 4, "int"),
    0x75: ("unsigned int", 4, "uint"),
    0x76: ("long long", 8, "int"),
    0x77: ("unsigned long long", 8, "uint"),
    0x78: ("__int128", 16, "int"),
    0x79: ("unsigned __int128", 16, "uint"),
    0x7A: ("char16_t", 2, "wchar"),
    0x7B: ("char32_t", 4, "uint"),
    0x7C: ("char8_t", 1, "char"),
}
# The second byte: direct, or a pointer to it of so many bytes.
_MODES = {1: 2, 2: 4, 3: 4, 4: 4, 5: 6, 6: 8, 7: 16}


def _unknown(index: int) -> PrimitiveType:
    return PrimitiveType(f"<unknown type {index:#x}>", 0, "void")


@lru_cache(maxsize=512)
def primitive(index: int) -> Type:
    """Return the type of an index below 0x1000."""
    base = _PRIMITIVES.get(index & 0xFF)
    type_ = PrimitiveType(*base) if base is not None else (VOID if index & 0xFF == 0 else _unknown(index))
    size = _MODES.get(index >> 8 & 0xF)
    return type_ if size is None else PointerType(type_, size)


class TypeBuilder:
    """Turns type records into layouts, one at a time and each once.

    Structures and enumerations inside others become :class:`~kdive.symbols.types.TypeReference`, so that a layout
    never pulls in the graph behind it; what remains (pointers, arrays, signatures) is followed to a bounded depth.
    """

    def __init__(self, stream: TypeStream) -> None:
        self._stream = stream
        self._types: dict[int, Type] = {}
        self._layouts: dict[int, StructType | EnumType] = {}

    def type(self, index: int, depth: int = 0) -> Type:
        """Return the type of an index.

        Raises:
            FormatError: The record is missing or broken, or types are nested beyond reason.
        """
        if index < FIRST_INDEX:
            return primitive(index)
        cached = self._types.get(index)
        if cached is not None:
            return cached
        if depth > _MAX_DEPTH:
            raise FormatError(f"type {index:#x} is nested too deeply")
        type_ = self._build(index, depth + 1)
        self._types[index] = type_
        return type_

    def _build(self, index: int, depth: int) -> Type:
        leaf = self._stream.leaf(index)
        if isinstance(leaf, Udt):
            return self._reference(index, leaf)
        if isinstance(leaf, Pointer):
            return PointerType(self.type(leaf.target, depth), leaf.size)
        if isinstance(leaf, Modifier):
            return self.type(leaf.target, depth)
        if isinstance(leaf, Array):
            element = self.type(leaf.element, depth)
            count = leaf.elements or (leaf.size // element.size if element.size else 0)
            return ArrayType(element, count)
        if isinstance(leaf, Bitfield):
            return BitfieldType(self.type(leaf.base, depth), leaf.position, leaf.length)
        if isinstance(leaf, Procedure):
            arguments = self._stream.leaf(leaf.arguments) if leaf.arguments >= FIRST_INDEX else None
            parameters = arguments.types if isinstance(arguments, ArgumentList) else ()
            return FunctionType(
                self.type(leaf.result, depth), tuple(self.type(parameter, depth) for parameter in parameters)
            )
        if isinstance(leaf, VtableShape):
            return VOID
        return _unknown(index)

    def _reference(self, index: int, udt: Udt) -> TypeReference:
        target = self._stream.definition(index, udt)
        size = udt.size
        if target != index:
            definition = self._stream.leaf(target)
            if isinstance(definition, Udt):
                udt = definition
                size = udt.size
        if udt.kind == "enum" and not udt.forward:
            size = self._enum_base(udt).size
        name = udt.name
        return TypeReference(name, udt.kind, size, lambda: self.layout(target))

    def _enum_base(self, udt: Udt) -> Type:
        """The underlying type; anything but a primitive is nonsense and read as ``int``."""
        return primitive(udt.base if udt.base < FIRST_INDEX else 0x74)

    def layout(self, index: int) -> StructType | EnumType:
        """Return the layout of a structure or an enumeration.

        Raises:
            SymbolNotFoundError: It is only announced in this file, not defined.
            FormatError: Its records are broken.
        """
        cached = self._layouts.get(index)
        if cached is not None:
            return cached
        udt = self._stream.leaf(index)
        if not isinstance(udt, Udt):
            raise FormatError(f"type {index:#x} is neither a structure nor an enumeration")
        target = self._stream.definition(index, udt)
        if target != index:
            return self.layout_of_definition(target)
        if udt.forward:
            raise SymbolNotFoundError(
                f"the layout of {udt.name} is not in the symbol file",
                hint="the file only announces this type; another module's symbols may define it",
            )
        return self.layout_of_definition(index)

    def layout_of_definition(self, index: int) -> StructType | EnumType:
        """Return the layout of a type whose record is not a forward reference.

        Raises:
            FormatError: Its records are broken.
        """
        cached = self._layouts.get(index)
        if cached is not None:
            return cached
        udt = self._stream.leaf(index)
        if not isinstance(udt, Udt):
            raise FormatError(f"type {index:#x} is neither a structure nor an enumeration")
        layout: StructType | EnumType
        if udt.kind == "enum":
            values: dict[str, int] = {}
            for entry in self._stream.fields(udt.fields):
                if isinstance(entry, Enumerate):
                    values[entry.name] = entry.value
            layout = EnumType(udt.name, self._enum_base(udt), values)
        else:
            layout = StructType(udt.name, udt.kind, udt.size, tuple(self._fields(udt)))
        self._layouts[index] = layout
        return layout

    def _fields(self, udt: Udt) -> list[Field]:
        """The members, with those of (non-virtual) bases first and at their places in the whole."""
        fields: list[Field] = []
        pending = [(udt.fields, 0, 0)]
        bases = 0
        while pending:
            list_index, base_offset, depth = pending.pop()
            inherited: list[tuple[int, int, int]] = []
            own: list[Field] = []
            for entry in self._stream.fields(list_index):
                if isinstance(entry, Member):
                    own.append(Field(entry.name, base_offset + entry.offset, self._member_type(entry.type_index)))
                elif isinstance(entry, VtablePointer):
                    own.append(Field(VTABLE_FIELD, base_offset + entry.offset, self._member_type(entry.type_index)))
                elif isinstance(entry, BaseClass) and not entry.virtual and depth < _MAX_DEPTH:
                    bases += 1
                    base = self._base(entry.type_index)
                    if base is not None and bases <= _MAX_BASES:
                        inherited.append((base.fields, base_offset + entry.offset, depth + 1))
            fields[:0] = own
            if len(fields) > _MAX_FIELDS:
                raise FormatError(f"type {udt.name} has more than {_MAX_FIELDS} members")
            pending.extend(inherited)
        return fields

    def _base(self, index: int) -> Udt | None:
        leaf = self._stream.leaf(index) if index >= FIRST_INDEX else None
        if not isinstance(leaf, Udt):
            return None
        definition = self._stream.leaf(self._stream.definition(index, leaf))
        return definition if isinstance(definition, Udt) else None

    def _member_type(self, index: int) -> Type:
        # One broken member must not hide the rest of the structure.
        try:
            return self.type(index)
        except FormatError:
            return _unknown(index)
