"""``dt`` against the symbol file that it reads."""

from __future__ import annotations

import json
import lzma
from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.results.types import FieldRow, TypeLayout
from kdive.render.text import TextRenderer
from kdive.symbols.isf import open_isf
from kdive.symbols.types import EnumType, StructType, TypeReference
from tests.commands.test_stack import run
from tests.data import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

EXACT = {
    "x64-19041.804-amdppm.dmp": "5278AFF86C341677D7D7835C85B7B844",
    "x64-19041.3448-1a.dmp": "79BE8C368BEC7DD9677EA9B355ACE784",
    "x64-19041.2965-50.dmp": "89284D0CA6ACC8274B9A44BD5AF9290B",
}


def document(guid: str) -> dict[str, Any]:
    path = need(f"symbols/isf/windows/ntkrnlmp.pdb/{guid}-1.json.xz")
    return json.loads(lzma.decompress(path.read_bytes()))


def fields_of(spec: dict[str, Any]) -> list[tuple[str, int]]:
    return sorted((name, entry["offset"]) for name, entry in spec["fields"].items())


@pytest.mark.parametrize("name", EXACT)
def test_eprocess_of_an_exact_dump_equals_the_symbol_file(name: str, open_session: Callable[..., Session]) -> None:
    session = open_session(f"kernel-dumps/{name}")
    spec = document(EXACT[name])["user_types"]["_EPROCESS"]
    (layout,) = run(session, "dt -v nt!_EPROCESS")
    assert isinstance(layout, TypeLayout)
    assert layout.size == spec["size"]
    assert sorted((row.name, row.offset) for row in layout.fields) == fields_of(spec)
    offsets = [row.offset for row in layout.fields]
    assert offsets == sorted(offsets)
    text = TextRenderer().plain(layout)
    for field, entry in spec["fields"].items():
        assert f"+0x{entry['offset']:03x} {field}" in text


def test_the_system_process_has_its_values(open_session: Callable[..., Session]) -> None:
    session = open_session("kernel-dumps/x64-19041.804-amdppm.dmp")
    (layout,) = run(session, "dt nt!_EPROCESS UniqueProcessId ImageFileName @$proc")
    assert isinstance(layout, TypeLayout)
    values = {row.name: row for row in layout.fields}
    assert isinstance(values["UniqueProcessId"], FieldRow)
    assert values["UniqueProcessId"].number == 4
    assert values["ImageFileName"].value == '[15] UChar "System"'


def test_every_symbol_and_type_of_a_kernel_reads_back(cache: Any) -> None:
    guid = EXACT["x64-19041.804-amdppm.dmp"]
    raw = document(guid)
    symbols = open_isf(need(f"symbols/isf/windows/ntkrnlmp.pdb/{guid}-1.json.xz"), cache / "isf-test")
    assert (symbols.guid, symbols.age, symbols.pdb_name) == (guid, 1, "ntkrnlmp.pdb")
    for name, entry in raw["symbols"].items():
        found = symbols.lookup(name)
        assert found is not None, name
        assert found.rva == entry["address"], name
    rvas = sorted({entry["address"] for entry in raw["symbols"].values()})
    for low, high in zip(rvas[::37], rvas[1::37], strict=False):
        for rva in (low, (low + high) // 2, high - 1):
            nearest = symbols.nearest(rva)
            assert nearest is not None
            assert nearest.rva == low
            assert raw["symbols"][nearest.name]["address"] == low
    for name, spec in raw["user_types"].items():
        layout = symbols.find_type(name)
        assert isinstance(layout, StructType), name
        assert layout.size == spec["size"], name
        assert sorted((field.name, field.offset) for field in layout.fields) == fields_of(spec), name
        for field in layout.fields:
            kind = spec["fields"][field.name]["type"]
            if kind["kind"] in ("struct", "union", "enum"):
                assert isinstance(field.type, TypeReference)
                assert field.type.name == kind["name"]
    for name, spec in raw["enums"].items():
        layout = symbols.find_type(name)
        assert isinstance(layout, EnumType), name
        assert dict(layout.values) == spec["constants"], name


@pytest.mark.parametrize("pattern", ["KeBugCheck*", "*IoCall*", "ke?ugcheck", "Mi[AB]*", "*", "nothing*", "_E*S"])
def test_wildcards_find_what_a_plain_search_finds(pattern: str, cache: Any) -> None:
    import re

    guid = EXACT["x64-19041.804-amdppm.dmp"]
    raw = document(guid)
    symbols = open_isf(need(f"symbols/isf/windows/ntkrnlmp.pdb/{guid}-1.json.xz"), cache / "isf-test")
    source = re.escape(pattern)
    for escaped, meant in ((r"\*", ".*"), (r"\?", "."), (r"\[", "["), (r"\]", "]")):
        source = source.replace(escaped, meant)
    plain = re.compile(source, re.IGNORECASE)
    for found, names in (
        ({symbol.name for symbol in symbols.search(pattern)}, raw["symbols"]),
        ({name for name, _ in symbols.search_types(pattern)}, {**raw["user_types"], **raw["enums"]}),
    ):
        assert found == {name for name in names if plain.fullmatch(name)}
