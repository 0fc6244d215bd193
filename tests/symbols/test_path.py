"""The symbol path in WinDbg's syntax."""

from __future__ import annotations

import pytest

from kdive.symbols.path import MICROSOFT_SERVER, SymbolSource, parse_symbol_path

CACHE = "/default"


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("", []),
        ("/one;/two", [((), "/one"), ((), "/two")]),
        ("srv*/cache*https://host/symbols", [(("/cache",), "https://host/symbols")]),
        ("srv*/a*/b*https://host", [(("/a", "/b"), "https://host")]),
        ("SRV*https://host", [((CACHE,), "https://host")]),
        ("srv**https://host", [((CACHE,), "https://host")]),
        ("srv*", [((), CACHE)]),
        ("symsrv*symsrv.dll*/cache*https://host", [(("/cache",), "https://host")]),
        ("https://host", [((CACHE,), "https://host")]),
        ("cache*/c;/dir;https://host", [(("/c",), ""), (("/c",), "/dir"), (("/c",), "https://host")]),
        (' /one ; ; "/two" ', [((), "/one"), ((), "/two")]),
        ("srv*/store", [((), "/store")]),
    ],
)
def test_elements_of_a_path(text: str, sources: list[tuple[tuple[str, ...], str]]) -> None:
    assert parse_symbol_path(text, CACHE) == [SymbolSource(*source) for source in sources]


def test_a_path_written_out_parses_to_itself() -> None:
    text = f"srv*/cache*{MICROSOFT_SERVER};/dir;cache*/c;srv*/c*https://other"
    once = parse_symbol_path(text, CACHE)
    again = parse_symbol_path(";".join(map(str, once)), CACHE)
    assert [source.place for source in again] == [source.place for source in once]


def test_servers_are_told_from_directories() -> None:
    kinds = [source.is_server for source in parse_symbol_path("/dir;HTTPS://host;http://other", CACHE)]
    assert kinds == [False, True, True]
