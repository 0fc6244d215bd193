"""Symbols from Volatility 3 ISF files, through a compact on-disk index.

An ISF file is one large JSON document, often compressed; parsing a kernel's takes a good part of a second. It is
converted once to an index that is opened by ``mmap`` and answers every question by bisection or by one regular
expression over all names.

Format facts: the Volatility 3 symbol schema (``schemas/schema-6.2.0.json``).
"""

from __future__ import annotations

import array
import json
import mmap
import re
import struct
import sys
import zlib
from bisect import bisect_left, bisect_right
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kdive.atomic import replacing
from kdive.errors import FormatError, SymbolNotFoundError
from kdive.symbols.interface import ModuleSymbols, Symbol, wildcard
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
    Type,
    TypeReference,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INDEX_VERSION = 3
_MAGIC = b"KDIVEISF"
_HEAD = struct.Struct("<8sII")
_MAX_TEXT = 512 << 20
_MAX_DEPTH = 32
_PRIMITIVE_KINDS = {"int", "char", "float", "void", "bool"}


def decompress_isf(path: Path) -> bytes:
    """Return the text of an ISF file, whatever it is compressed with.

    Raises:
        FormatError: It cannot be decompressed, or is larger than 512 MiB.
    """
    raw = path.read_bytes()
    try:
        if path.suffix == ".xz":
            import lzma

            stream = lzma.LZMADecompressor()
            text = stream.decompress(raw, _MAX_TEXT)
            finished = stream.eof
        elif path.suffix == ".gz":
            inflater = zlib.decompressobj(31)
            text = inflater.decompress(raw, _MAX_TEXT)
            finished = inflater.eof
        elif path.suffix == ".bz2":
            import bz2

            unzipper = bz2.BZ2Decompressor()
            text = unzipper.decompress(raw, _MAX_TEXT)
            finished = unzipper.eof
        else:
            return raw
    except Exception as error:  # each decompressor has its own family of errors
        raise FormatError(f"cannot decompress the ISF file: {error}", where=str(path)) from error
    if not finished:
        raise FormatError("the compressed ISF file is cut short or too large", where=str(path))
    return text


def _mapping(document: Any, key: str, path: Path) -> dict[str, Any]:
    value = cast("dict[str, Any]", document).get(key, {}) if isinstance(document, dict) else None
    if not isinstance(value, dict):
        raise FormatError(f"the ISF file's {key!r} is not an object", where=str(path))
    return cast("dict[str, Any]", value)


def load_isf(path: Path) -> dict[str, Any]:
    """Read and check the outline of an ISF file.

    Raises:
        FormatError: It is not an ISF file.
    """
    try:
        document = json.loads(decompress_isf(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the ISF file is not JSON: {error}", where=str(path)) from error
    except OSError as error:
        raise FormatError(f"cannot read the ISF file: {error}", where=str(path)) from error
    for key in ("metadata", "symbols", "user_types", "base_types", "enums"):
        _mapping(document, key, path)
    return document


def _name_rank(name: str) -> tuple[bool, bool, int, str]:
    """Of several symbols at one address prefer the plain one a person would write."""
    return name.startswith(("?", "$", "__imp_")), name.startswith("_"), len(name), name


def build_index(document: dict[str, Any], source: str) -> bytes:
    """Convert an ISF document to the index format."""
    path = Path(source)
    symbols: list[tuple[str, int]] = []
    variable_types: dict[str, Any] = {}
    for name, entry in _mapping(document, "symbols", path).items():
        address = cast("dict[str, Any]", entry).get("address") if isinstance(entry, dict) else None
        if isinstance(address, int) and 0 <= address < 1 << 48 and "\n" not in name:
            symbols.append((name, address))
            if isinstance(kind := cast("dict[str, Any]", entry).get("type"), dict) and kind:
                variable_types[name] = kind
    symbols.sort()
    names = [name.encode("utf-8", "replace") for name, _ in symbols]
    by_rva = sorted(range(len(symbols)), key=lambda index: (symbols[index][1], _name_rank(symbols[index][0])))
    types: list[tuple[bytes, bytes]] = []
    for group, default in (("user_types", "struct"), ("enums", "enum")):
        for name, entry in _mapping(document, group, path).items():
            if isinstance(entry, dict) and "\n" not in name:
                if default == "enum":
                    entry = {**cast("dict[str, Any]", entry), "kind": "enum"}
                types.append((name.encode("utf-8", "replace"), json.dumps(entry, separators=(",", ":")).encode()))
    types.sort()
    sections = {
        "names": b"\n" + b"\n".join(names) + b"\n",
        "name_offsets": _offsets(names),
        "rvas": _array("Q", [rva for _, rva in symbols]),
        "by_rva": _array("I", by_rva),
        "sorted_rvas": _array("Q", [symbols[index][1] for index in by_rva]),
        "type_names": b"\n" + b"\n".join(name for name, _ in types) + b"\n",
        "type_name_offsets": _offsets([name for name, _ in types]),
        "type_offsets": _offsets([body for _, body in types], gap=0, start=0),
        "type_bodies": b"".join(body for _, body in types),
        "variable_types": json.dumps(variable_types, separators=(",", ":")).encode(),
    }
    table: dict[str, list[int]] = {}
    body = bytearray()
    for key, data in sections.items():
        body += bytes(-len(body) % 8)
        table[key] = [len(body), len(data)]
        body += data
    header = json.dumps(
        {
            "base_types": document["base_types"],
            "metadata": document["metadata"],
            "sections": table,
            "source": source,
            "checksum": zlib.crc32(body),
        }
    ).encode()
    header += b" " * (-(len(header) + _HEAD.size) % 8)
    return _HEAD.pack(_MAGIC, INDEX_VERSION, len(header)) + header + bytes(body)


def _array(code: str, values: list[int]) -> bytes:
    packed = array.array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _offsets(parts: list[bytes], gap: int = 1, start: int = 1) -> bytes:
    offsets = [start]
    for part in parts:
        offsets.append(offsets[-1] + len(part) + gap)
    return _array("I", offsets)


class IsfSymbols(ModuleSymbols):
    """An opened index.

    Args:
        data: The index bytes (usually an ``mmap``).
        path: The ISF file that it was made from.

    Raises:
        FormatError: The index is torn or of another version.
    """

    kind = "isf"

    def __init__(self, data: bytes | mmap.mmap, path: str) -> None:
        self.path = path
        view = memoryview(data)
        if len(view) < _HEAD.size:
            raise FormatError("the symbol index is cut short", where=path)
        magic, version, size = _HEAD.unpack_from(view)
        if magic != _MAGIC or version != INDEX_VERSION or _HEAD.size + size > len(view):
            raise FormatError("not a symbol index of this version", where=path)
        try:
            header = json.loads(bytes(view[_HEAD.size : _HEAD.size + size]))
            table: Mapping[str, list[int]] = header["sections"]
            body = view[_HEAD.size + size :]
            if zlib.crc32(body) != header["checksum"]:
                raise FormatError("the symbol index is torn: its checksum is wrong", where=path)
            parts = {key: body[start : start + length] for key, (start, length) in table.items()}
            if any(len(parts[key]) != table[key][1] for key in table):
                raise FormatError("the symbol index is cut short", where=path)
            self.metadata: dict[str, Any] = header["metadata"]
            self.source: str = header["source"]
            self._base_types: dict[str, Any] = header["base_types"]
            self._names = parts["names"]
            self._name_offsets = parts["name_offsets"].cast("I")
            self._rvas = parts["rvas"].cast("Q")
            self._by_rva = parts["by_rva"].cast("I")
            self._sorted_rvas = parts["sorted_rvas"].cast("Q")
            self._type_names = parts["type_names"]
            self._type_name_offsets = parts["type_name_offsets"].cast("I")
            self._type_offsets = parts["type_offsets"].cast("I")
            self._type_bodies = parts["type_bodies"]
            self._variable_types_text = parts["variable_types"]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the symbol index is damaged: {error}", where=path) from error
        self._cache: dict[str, StructType | EnumType | PrimitiveType | None] = {}

    @property
    def _pdb(self) -> dict[str, Any]:
        windows = self.metadata.get("windows")
        pdb = cast("dict[str, Any]", windows).get("pdb") if isinstance(windows, dict) else None
        return cast("dict[str, Any]", pdb) if isinstance(pdb, dict) else {}

    @property
    def guid(self) -> str:
        """GUID of the PDB that the ISF file was made from (32 upper-case hex digits), or an empty string."""
        return str(self._pdb.get("GUID", "")).upper()

    @property
    def age(self) -> int:
        """Age of that PDB."""
        age = self._pdb.get("age", 0)
        return age if isinstance(age, int) else 0

    @property
    def identity(self) -> tuple[str, int] | None:
        """See :attr:`ModuleSymbols.identity`."""
        return (self.guid, self.age) if self.guid else None

    @property
    def pdb_name(self) -> str:
        """File name of that PDB."""
        return str(self._pdb.get("database", ""))

    def _name_at(self, index: int) -> str:
        start, end = self._name_offsets[index], self._name_offsets[index + 1] - 1
        return bytes(self._names[start:end]).decode("utf-8", "replace")

    @staticmethod
    def _find(names: memoryview, offsets: memoryview, wanted: bytes) -> int:
        def key(index: int) -> bytes:
            return bytes(names[offsets[index] : offsets[index + 1] - 1])

        count = len(offsets) - 1
        index = bisect_left(range(count), wanted, key=key)
        return index if index < count and key(index) == wanted else -1

    def lookup(self, name: str) -> Symbol | None:
        """See :meth:`ModuleSymbols.lookup`."""
        index = self._find(self._names, self._name_offsets, name.encode())
        return None if index < 0 else Symbol(name, self._rvas[index])

    def nearest(self, rva: int) -> Symbol | None:
        """See :meth:`ModuleSymbols.nearest`."""
        place = bisect_right(self._sorted_rvas, rva) - 1
        if place < 0:
            return None
        found = self._sorted_rvas[place]
        first = bisect_left(self._sorted_rvas, found, hi=place + 1)
        return Symbol(self._name_at(self._by_rva[first]), found)

    def search(self, pattern: str) -> Iterator[Symbol]:
        """See :meth:`ModuleSymbols.search`."""
        for index, name in self._match(self._names, self._name_offsets, pattern):
            yield Symbol(name, self._rvas[index])

    def find_type(self, name: str) -> StructType | EnumType | PrimitiveType | None:
        """See :meth:`ModuleSymbols.find_type`."""
        if name not in self._cache:
            self._cache[name] = self._load_type(name)
        return self._cache[name]

    def search_types(self, pattern: str) -> Iterator[tuple[str, int]]:
        """See :meth:`ModuleSymbols.search_types`."""
        for index, name in self._match(self._type_names, self._type_name_offsets, pattern):
            size = self._body(index).get("size", 0)
            yield name, size if isinstance(size, int) else 0

    def type_of(self, name: str) -> Type | None:
        """See :meth:`ModuleSymbols.type_of`."""
        spec = self._variable_types.get(name)
        return None if spec is None else self._type(spec, 0)

    @cached_property
    def _variable_types(self) -> dict[str, Any]:
        return json.loads(bytes(self._variable_types_text))

    @staticmethod
    def _match(names: memoryview, offsets: memoryview, pattern: str) -> Iterator[tuple[int, str]]:
        # One regular expression over all names at once: `.` does not match the newline that parts them.
        source = wildcard(pattern).pattern.encode()
        compiled = re.compile(rb"(?i:^" + source + rb"$)", re.MULTILINE)
        for match in compiled.finditer(names, 1, max(len(names) - 1, 1)):
            if match.end() > match.start():
                yield bisect_left(offsets, match.start()), match.group().decode("utf-8", "replace")

    def _body(self, index: int) -> dict[str, Any]:
        text = bytes(self._type_bodies[self._type_offsets[index] : self._type_offsets[index + 1]])
        return json.loads(text)

    def _load_type(self, name: str) -> StructType | EnumType | PrimitiveType | None:
        index = self._find(self._type_names, self._type_name_offsets, name.encode())
        if index < 0:
            return self._primitive(name) if name in self._base_types else None
        body = self._body(index)
        try:
            if body["kind"] == "enum":
                pairs = sorted((int(value), str(key)) for key, value in body["constants"].items())
                values = {key: value for value, key in pairs}
                return EnumType(name, self._primitive(body["base"]), values)
            fields = tuple(
                Field(key, int(spec["offset"]), self._type(spec["type"], 0))
                for key, spec in sorted(body["fields"].items(), key=_field_order)
            )
            kind = body["kind"] if body["kind"] in ("struct", "union", "class") else "struct"
            return StructType(name, kind, int(body["size"]), fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"type {name} of the ISF file is damaged: {error!r}", where=self.path) from error

    def _primitive(self, name: str) -> PrimitiveType:
        spec = self._base_types.get(name)
        if not isinstance(spec, dict):
            return VOID
        entry = cast("dict[str, Any]", spec)
        kind, size, signed = entry.get("kind"), int(entry.get("size", 0)), bool(entry.get("signed"))
        spelled = {"wchar": "wchar_t", "pointer": "unsigned long long"}.get(name, name)
        if kind == "void" or kind not in _PRIMITIVE_KINDS:
            return VOID
        if name == "wchar":
            return PrimitiveType(spelled, size, "wchar")
        if name == "HRESULT":
            return PrimitiveType(spelled, size, "hresult")
        if kind == "int":
            return PrimitiveType(spelled, size, "int" if signed else "uint")
        return PrimitiveType(spelled, size, kind)

    def _type(self, spec: Any, depth: int) -> Type:
        if depth > _MAX_DEPTH or not isinstance(spec, dict):
            raise ValueError("type nested too deep")
        entry = cast("dict[str, Any]", spec)
        kind = entry["kind"]
        if kind == "base":
            return self._primitive(entry["name"])
        if kind == "pointer":
            size = int(self._base_types.get("pointer", {}).get("size", 8))
            return PointerType(self._type(entry["subtype"], depth + 1) if "subtype" in entry else VOID, size)
        if kind == "array":
            count = int(entry["count"])
            if not 0 <= count <= 1 << 32:
                raise ValueError(f"array of {count}")
            return ArrayType(self._type(entry["subtype"], depth + 1), count)
        if kind == "bitfield":
            position, length = int(entry["bit_position"]), int(entry["bit_length"])
            if not (0 <= position < 128 and 0 < length <= 64):
                raise ValueError(f"bit field of {length} bits at {position}")
            return BitfieldType(self._type(entry["type"], depth + 1), position, length)
        if kind == "function":
            return FunctionType()
        if kind in ("struct", "union", "class", "enum"):
            return self._reference(str(entry["name"]), kind)
        raise ValueError(f"kind {kind!r}")

    def _reference(self, name: str, kind: Any) -> TypeReference:
        index = self._find(self._type_names, self._type_name_offsets, name.encode())
        size = 0
        if index >= 0:
            # The size stands at the end of the body; a full decode of every mentioned type would be slow.
            tail = bytes(self._type_bodies[self._type_offsets[index] : self._type_offsets[index + 1]])
            match = re.search(rb'"size":(\d+)[^"]*\}$', tail) or re.search(rb'"size":(\d+)', tail)
            size = int(match.group(1)) if match else 0

        def resolve() -> StructType | EnumType:
            found = self.find_type(name)
            if not isinstance(found, StructType | EnumType):
                raise SymbolNotFoundError(f"no layout of type {name}", where=self.path)
            return found

        return TypeReference(name, kind, size, resolve)


def _field_order(item: tuple[str, Any]) -> tuple[int, int]:
    """ISF objects list fields by name; a person expects them by place: offset, then bit position."""
    spec: dict[str, Any] = item[1]
    kind: dict[str, Any] = spec["type"]
    return int(spec["offset"]), int(kind.get("bit_position", -1))


def open_isf(path: Path, cache: Path | None = None) -> IsfSymbols:
    """Open an ISF file through its index, making the index if there is none yet.

    Args:
        path: The ISF file (``.json``, ``.json.xz``, ``.json.gz``, ``.json.bz2``).
        cache: Folder for indexes; None keeps the index in memory only.

    Raises:
        FormatError: It is not an ISF file.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise FormatError(f"cannot read the ISF file: {error}", where=str(path)) from error
    source = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    place = None
    if cache is not None:
        label = path.name.split(".")[0]
        folder = path.parent.name
        place = cache / f"{folder}-{label}-v{INDEX_VERSION}.isfx"
        found = _open_index(place, source, str(path))
        if found is not None:
            return found
    data = build_index(load_isf(path), source)
    if place is not None and _store(place, data):
        found = _open_index(place, source, str(path))
        if found is not None:
            return found
    return IsfSymbols(data, str(path))


def _open_index(place: Path, source: str, path: str) -> IsfSymbols | None:
    try:
        with place.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        symbols = IsfSymbols(data, path)
    except (OSError, ValueError, FormatError):
        return None
    return symbols if symbols.source == source else None


def _store(place: Path, data: bytes) -> bool:
    try:
        with replacing(place) as file:
            file.write(data)
    except OSError:
        return False
    return True
