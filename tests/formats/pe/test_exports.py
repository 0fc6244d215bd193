from __future__ import annotations

import struct

from kdive.formats.pe.exports import Export, parse_exports
from kdive.formats.pe.image import PeImage
from kdive.symbols.exports import ExportSymbols
from tests.data import need
from tests.formats.pe.build import SECTION_RVA, exports, image


def made(content: bytes, size: int | None = None) -> PeImage:
    length = len(content) if size is None else size
    return PeImage(image(content.ljust(0x2000, b"\0"), {0: (SECTION_RVA, length)}))


def test_names_ordinals_and_forwarders_are_told_apart() -> None:
    content = exports([("Alpha", 0), ("Gone", 3)], [0x2100, 0x2200, 0, 0], base=5, strings={3: "NTDLL.RtlGone"})
    table = parse_exports(made(content))
    assert table is not None
    assert table.module == "made.dll"
    assert table.exports == (
        Export("Alpha", 5, 0x2100),
        Export(None, 6, 0x2200),
        Export("Gone", 8, 0, "NTDLL.RtlGone"),
    )


def test_symbols_of_exports_answer_by_name_and_by_address() -> None:
    content = exports([("Beta", 1), ("Alpha", 0), ("Twin", 1), ("?f@C@@QEAAXXZ", 2)], [0x2100, 0x2200, 0x2300, 0x2400])
    symbols = ExportSymbols(made(content), "made.dll")
    alpha = symbols.lookup("Alpha")
    assert alpha is not None
    assert (alpha.rva, alpha.kind) == (0x2100, "function")
    assert symbols.nearest(0x21FF) == alpha
    assert symbols.nearest(0x2200) == symbols.lookup("Beta")
    assert symbols.nearest(0x20FF) is None
    assert [symbol.name for symbol in symbols.search("*a")] == ["Alpha", "Beta"]
    assert symbols.lookup("C::f") == symbols.lookup("?f@C@@QEAAXXZ")
    assert symbols.lookup("Ordinal4") == symbols.nearest(0x9999)
    assert symbols.find_type("_EPROCESS") is None
    assert list(symbols.search_types("*")) == []


def test_counts_beyond_the_file_give_what_is_there() -> None:
    content = bytearray(exports([("Alpha", 0)], [0x2100]))
    struct.pack_into("<II", content, 20, 0xFFFFFFFF, 0xFFFFFFFF)
    table = parse_exports(made(bytes(content)))
    assert table is not None
    assert any(export.name == "Alpha" for export in table.exports)
    assert len(table.exports) <= 2 << 16


def test_an_image_without_exports_has_none() -> None:
    assert parse_exports(PeImage(image(b"", {}))) is None
    assert list(ExportSymbols(PeImage(image(b"", {}))).search("*")) == []


def test_exports_of_a_real_driver_library() -> None:
    found = ExportSymbols(PeImage(need("symbols/pairs/ksi-amd64/ksi.dll").read_bytes()))
    assert len(found.exports) == 16
    entry = found.lookup("KsiInitialize")
    assert entry is not None
    assert entry.rva == 5872
