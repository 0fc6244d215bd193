"""The direction of imports: a layer imports only from itself and from layers before it."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "kdive"

# Ground first, front ends last. Packages in one tuple share a level.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("version", "errors", "cancel", "addr", "directories", "options", "record", "atomic"),
    ("wire", "formats", "arch"),
    ("memory",),
    ("targets", "symbols"),
    ("nt", "stack"),
    ("expr",),
    ("session",),
    ("commands", "render"),
    ("frontends", "sdk", "sdk_live", "sdk_stops", "cli", "samples"),
    ("__init__", "__main__"),
)
# Page tables are a format, but walking them needs the memory interface.
ALLOWED = {
    ("arch/amd64/paging.py", "memory"),
    ("arch/arm64/paging.py", "memory"),
    ("arch/amd64/unwind.py", "memory"),
    ("arch/arm64/unwind.py", "memory"),
}
_LEVEL = {name: index for index, level in enumerate(LEVELS) for name in level}


def imported(path: Path) -> set[str]:
    """Top-level parts of kdive that a file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "kdive" else [f"kdive.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found.update(name.split(".")[1] for name in names if name.startswith("kdive."))
    return found


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def test_every_part_has_a_place_in_the_layers() -> None:
    parts = {part_of(path) for path in SOURCE.rglob("*.py")}
    assert parts <= set(_LEVEL), parts - set(_LEVEL)


def test_imports_go_one_way() -> None:
    wrong: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = part_of(path)
        relative = path.relative_to(SOURCE).as_posix()
        wrong.extend(
            f"{relative} imports {other}"
            for other in sorted(imported(path))
            if other in _LEVEL and _LEVEL[other] > _LEVEL[own] and (relative, other) not in ALLOWED
        )
    assert not wrong, "\n".join(wrong)


def test_only_targets_the_fetcher_and_the_http_server_know_sockets() -> None:
    knowing = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "import socket" in path.read_text("utf-8") or "urllib.request" in path.read_text("utf-8")
    }
    fetcher = {"symbols/fetch.py", "symbols/download.py"}
    server = {"frontends/mcp/http.py"}
    assert all(place.startswith("targets/") for place in knowing - fetcher - server), knowing
