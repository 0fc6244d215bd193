"""What llvm-pdbutil says about a PDB, as plain data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.tools import run

if TYPE_CHECKING:
    from pathlib import Path

_PUBLIC = re.compile(r"S_PUB32 \[size = \d+\] `(.*)`\n +flags = (.*), addr = (\d+):(\d+)")
_SECTION = re.compile(r"SECTION HEADER #(\d+)\n +(.*) name\n +([0-9A-F]+) virtual size\n +([0-9A-F]+) virtual address")
_RECORD = re.compile(r"^ +0x([0-9A-F]+) \| (LF_\w+) \[size = \d+\](?: `(.*)`)?$")
_MEMBER = re.compile(r"- LF_MEMBER \[name = `(.*)`, Type = 0x([0-9A-F]+)(?: \(.*\))?, offset = (\d+), attrs = .*\]")


def publics(path: Path) -> list[tuple[str, int, int]]:
    """``(name, section, offset)`` of all public symbols."""
    text = run("llvm-pdbutil", "dump", "--publics", path)
    return [(name, int(section), int(offset)) for name, _, section, offset in _PUBLIC.findall(text)]


def sections(path: Path) -> dict[int, int]:
    """RVAs of the sections by number."""
    text = run("llvm-pdbutil", "dump", "--section-headers", path)
    text = text.split("Original Section Headers")[0]
    return {int(number): int(rva, 16) for number, _, _, rva in _SECTION.findall(text)}


def structures(path: Path) -> dict[str, list[tuple[int, list[tuple[str, int]]]]]:
    """For every named and defined structure or union: ``(size, [(member, offset)])`` of each of its definitions."""
    lists: dict[int, list[tuple[str, int]]] = {}
    rest: dict[int, int] = {}
    found: dict[str, list[tuple[int, list[tuple[str, int]]]]] = {}
    current, kind, name, fields = 0, "", "", 0
    for line in run("llvm-pdbutil", "dump", "--types", path).splitlines():
        if record := _RECORD.match(line):
            current, kind, name = int(record[1], 16), record[2], record[3] or ""
            if kind == "LF_FIELDLIST":
                lists[current] = []
            continue
        if kind == "LF_FIELDLIST":
            if member := _MEMBER.search(line):
                lists[current].append((member[1], int(member[3])))
            elif "LF_INDEX" in line and (more := re.search(r"0x([0-9A-F]+)", line)):
                rest[current] = int(more[1], 16)
        elif kind in ("LF_STRUCTURE", "LF_CLASS", "LF_UNION"):
            if field_list := re.search(r"field list: (?:0x([0-9A-F]+)|<no type>)", line):
                fields = int(field_list[1], 16) if field_list[1] else 0
            if (size := re.search(r"options: (.*), sizeof (\d+)", line)) and "forward ref" not in size[1]:
                members: list[tuple[str, int]] = []
                part: int | None = fields
                while part:
                    members += lists.get(part, [])
                    part = rest.get(part)
                found.setdefault(name, []).append((int(size[2]), members))
    return found


def lines(path: Path) -> dict[tuple[int, int], set[tuple[str, int]]]:
    """``(file, line)`` by section and offset."""
    found: dict[tuple[int, int], set[tuple[str, int]]] = {}
    file, section = "", 0
    for line in run("llvm-pdbutil", "dump", "-l", path).splitlines():
        if head := re.match(r"(\S.*) \((?:SHA-256|MD5|SHA-1|no checksum)", line):
            file = head[1]
        elif place := re.match(r"  (\d{4}):[0-9A-F]{8}-", line):
            section = int(place[1])
        else:
            for number, offset in re.findall(r"(\d+) ([0-9A-F]{8})(?=\s|$)", line):
                found.setdefault((section, int(offset, 16)), set()).add((file, int(number)))
    return found
