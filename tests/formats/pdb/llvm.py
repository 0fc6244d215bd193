"""Whole PDBs as llvm-pdbutil dumps them, as plain data to compare with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tests.tools import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RECORD = re.compile(r"^ *(\d+) \| (S_\w+|unknown \(\d+\)) \[size = (\d+)\](.*)$")
_TYPE = re.compile(r"^ *0x([0-9A-F]+) \| (LF_\w+|unknown \w+) \[size = (\d+)\](.*)$")
_MODULE = re.compile(r"^ *Mod (\d+) \| ")
_PLACE = r"(\d+):(\d+)"
_REGISTER = r"(unknown \(\d+\)|\w+)"
_INDEX = r"(?:0x([0-9A-F]+)|<no type>)"
_RANGE = r"range = \[(\d+):(\d+),\+(\d+)\)"

# What is compared of each kind: a pattern over the text of the record. Groups that match nothing count as 0.
FACTS: dict[str, str] = {
    "S_PUB32": rf"addr = {_PLACE}",
    "S_PROC": rf"parent = (\d+), end = (\d+), addr = {_PLACE}, code size = (\d+)\n +type = `{_INDEX}.*`, debug start ="
    r" (\d+), debug end = (\d+)",
    "S_BLOCK32": rf"parent = (\d+), end = (\d+)\n +code size = (\d+), addr = {_PLACE}",
    "S_THUNK32": rf"parent = (\d+), end = (\d+), next = (\d+)\n +kind = .*, size = (\d+), addr = {_PLACE}",
    "S_TRAMPOLINE": rf"size = (\d+), source = {_PLACE}",
    "S_SECTION": r"length = (\d+), alignment = (\d+), rva = (\d+), section # = (\d+)",
    "S_COFFGROUP": rf"length = (\d+), addr = {_PLACE}",
    "S_FRAMEPROC": r"size = (\d+), padding size = (\d+), offset to padding = (\d+)\n +bytes of callee saved registers ="
    rf" (\d+), exception handler addr = {_PLACE}",
    "S_LABEL32": rf"addr = {_PLACE}",
    "S_LOCAL": rf"type={_INDEX}",
    "S_REGREL32": rf"type = {_INDEX}.*, register = {_REGISTER}, offset = (-?\d+)",
    "S_BPREL32": rf"type = {_INDEX}.*, offset = (-?\d+)",
    "S_REGISTER": rf"register = {_REGISTER}, type = {_INDEX}",
    "S_FILESTATIC": rf"type = {_INDEX}.*, file name = (\d+)",
    "S_DATA": rf"type = {_INDEX}.*, addr = {_PLACE}",
    "S_THREAD": rf"type = {_INDEX}.*, addr = {_PLACE}",
    "S_CONSTANT": rf"type = {_INDEX}.*, value = (-?\d+)",
    "S_UDT": rf"original type = {_INDEX}",
    "S_REF": r"module = (\d+), sum name = (\d+), offset = (\d+)",
    "S_ANNOTATION": rf"addr = {_PLACE}",
    "S_CALLSITEINFO": rf"type = {_INDEX}.*, addr = {_PLACE}",
    "S_HEAPALLOCSITE": rf"type = {_INDEX}.*, addr = {_PLACE} call size = (\d+)",
    "S_BUILDINFO": r"BuildId = `0x([0-9A-F]+)`",
    "S_INLINESITE": rf"inlinee = {_INDEX}.*, parent = (\d+), end = (\d+)",
    "S_FRAMECOOKIE": rf"code offset = (-?\d+), Register = {_REGISTER}",
    "S_DEFRANGE_REGISTER": rf"register = {_REGISTER}, .*, range start = {_PLACE}, length = (\d+)",
    "S_DEFRANGE_SUBFIELD_REGISTER": rf"register = {_REGISTER}, .*, offset in parent = (\d+)\n +{_RANGE}",
    "S_DEFRANGE_REGISTER_REL": rf"register = {_REGISTER}, offset = (-?\d+), offset in parent = (\d+).*\n +{_RANGE}",
    "S_DEFRANGE_FRAMEPOINTER_REL": rf"offset = (-?\d+), {_RANGE}",
    "S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE": r"offset = (-?\d+)",
}
GROUPS = {
    "S_GPROC32": "S_PROC",
    "S_LPROC32": "S_PROC",
    "S_LDATA32": "S_DATA",
    "S_GDATA32": "S_DATA",
    "S_LTHREAD32": "S_THREAD",
    "S_GTHREAD32": "S_THREAD",
    "S_PROCREF": "S_REF",
    "S_LPROCREF": "S_REF",
    "S_DATAREF": "S_REF",
}
_STEPPING = {"NSI": 0xF00F00, "ASI": 0xFEEFEE}


class Entry(NamedTuple):
    """A record: kind, size, name (None if the text shows none), its facts, gaps, and lines of inlined code."""

    kind: str
    size: int
    name: str | None
    facts: tuple[int | str, ...]
    gaps: tuple[tuple[int, int], ...] = ()
    code: tuple[tuple[int | None, int | None, int], ...] = ()


def _blocks(text: str, head: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str], str]]:
    """Module (-1 for none), head and body of every record."""
    module, current, body = -1, None, []
    for line in text.splitlines():
        found = head.match(line)
        place = None if found else _MODULE.match(line)
        if (found or place) and current is not None:
            yield module, current, "\n".join(body)
            current = None
        if place:
            module = int(place[1])
        elif found:
            current, body = found, [found[4]]
        else:
            body.append(line)
    if current is not None:
        yield module, current, "\n".join(body)


def _values(pattern: str, body: str) -> tuple[int | str, ...]:
    found = re.search(pattern, body)
    if found is None:
        return ("text not understood", body)
    values: list[int | str] = []
    for index, group in enumerate(found.groups(), 1):
        hexadecimal = pattern_is_hexadecimal(pattern, index)
        if group is None:
            values.append(0)
        elif hexadecimal:
            values.append(int(group, 16))
        else:
            values.append(int(group) if re.fullmatch(r"-?\d+", group) else _register(group))
    return tuple(values)


def _register(text: str) -> str:
    if text.startswith("unknown"):
        return f"reg{text[9:-1]}"
    name = text.lower().removeprefix("arm64_")
    return "xzr" if name == "zr" else name


def pattern_is_hexadecimal(pattern: str, index: int) -> bool:
    """Whether a group of a pattern is a type index."""
    groups = re.findall(r"(?<!\\)\((?!\?)((?:\\[()]|[^()])*)\)", pattern)
    return groups[index - 1].startswith("[0-9A-F]")


def _code(body: str) -> tuple[tuple[int | None, int | None, int], ...]:
    """``(offset, end, line)`` after every annotation of an inline site."""
    found: list[tuple[int | None, int | None, int]] = []
    line = 0
    for row in body.splitlines():
        if (moved := re.search(r"\bline (-?\d+) \(", row)) is not None:
            line = int(moved[1])
        code, end = re.search(r"\bcode 0x([0-9A-F]+) \(", row), re.search(r"\bcode end 0x([0-9A-F]+)", row)
        if code or end:
            found.append((int(code[1], 16) if code else None, int(end[1], 16) if end else None, line))
    return tuple(found)


def symbols(path: Path, *options: str) -> dict[tuple[int, int], Entry]:
    """Symbol records by module and offset; -1 stands for the publics and globals."""
    text = run("llvm-pdbutil", "dump", *options, path)
    entries: dict[tuple[int, int], Entry] = {}
    for module, head, body in _blocks(text, _RECORD):
        kind = head[2]
        if kind.startswith("unknown"):
            kind = f"S_{int(kind[9:-1]):#06x}"
        name = re.search(r"`(.*)`", head[4])
        pattern = FACTS.get(GROUPS.get(kind, kind))
        gaps = tuple((int(a), int(b)) for a, b in re.findall(r"\((\d+),(\d+)\)", body)) if "gaps = [" in body else ()
        entries[module, int(head[1])] = Entry(
            kind,
            int(head[3]),
            (name[1] or None) if name and kind != "S_BUILDINFO" else None,
            _values(pattern, body) if pattern else (),
            gaps,
            _code(body) if kind == "S_INLINESITE" else (),
        )
    return entries


def records(path: Path, option: str) -> dict[int, tuple[str, int, str, str]]:
    """``--types`` or ``--ids``: kind, size, name and text of every record by index."""
    arguments = ["dump", option, "--dont-resolve-forward-refs", path]
    text = run("llvm-pdbutil", *arguments)
    found: dict[int, tuple[str, int, str, str]] = {}
    for _, head, body in _blocks(text, _TYPE):
        name = re.match(r" `(.*)`$", head[4])
        found[int(head[1], 16)] = (head[2], int(head[3]), name[1] if name else "", body)
    return found


def lines(path: Path) -> set[tuple[int, str, str, int, int, int]]:
    """``(module, file, checksum, section, offset, line)`` of every line entry."""
    found: set[tuple[int, str, str, int, int, int]] = set()
    module, section, file, checksum = -1, 0, "", ""
    for line in run("llvm-pdbutil", "dump", "-l", path).splitlines():
        if place := _MODULE.match(line):
            module = int(place[1])
        elif head := re.match(r"  ([0-9A-F]{4}):[0-9A-F]{8}-[0-9A-F]{8}, line(?:/column)?/addr entries", line):
            section = int(head[1], 16)
        elif source := re.match(r"(\S.*) \((?:(?:SHA-256|MD5|SHA-1): ([0-9A-F]*)|no checksum)\)$", line):
            file, checksum = source[1], source[2] or ""
        elif line.startswith("  "):
            for number, offset in re.findall(r"(\d+|NSI|ASI) ([0-9A-F]{8})(?= |$)", line):
                value = _STEPPING.get(number) or int(number)
                found.add((module, file, checksum, section, int(offset, 16), value))
    return found


def inlinees(path: Path) -> set[tuple[int, int, int, str]]:
    """``(module, inlinee, line, file)`` of every inlined function."""
    found: set[tuple[int, int, int, str]] = set()
    module = -1
    for line in run("llvm-pdbutil", "dump", "--il", path).splitlines():
        if place := _MODULE.match(line):
            module = int(place[1])
        elif entry := re.match(r" *0x([0-9A-F]+) \| +(\d+) \| (.*) \((?:SHA-256|MD5|SHA-1|no checksum).*\)$", line):
            found.add((module, int(entry[1], 16), int(entry[2]), entry[3]))
    return found
