"""Every PDB at hand, compared whole with what llvm-pdbutil makes of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kdive.errors import FormatError
from kdive.formats.pdb.annotations import operations
from kdive.formats.pdb.dbi import NO_STREAM
from kdive.formats.pdb.decode import decode, records
from kdive.formats.pdb.file import PdbFile
from kdive.formats.pdb.kinds import layout
from kdive.formats.pdb.lines import ModuleLines
from kdive.formats.pdb.registers import register_name
from tests.data import data_root, need
from tests.formats.pdb import llvm

if TYPE_CHECKING:
    from pathlib import Path

    from kdive.formats.pdb.decode import Record

REFUSED = {"bad-block-size.pdb": "the block size is not one of the format", "fuzzed.pdb": "the block map lies outside"}


def every_pdb() -> list[str]:
    root = data_root()
    found = [path for path in root.rglob("*.pdb") if path.is_file() and path.name not in REFUSED]
    return sorted(path.relative_to(root).as_posix() for path in found)


# Where the program's text differs, and why. Anything else that differs fails.
DIFFERENCES = {
    "kinds from 0x1166 on": "newer than the program, which prints their numbers",
    "names": "some kinds (S_TOKENREF, S_HOTPATCHFUNC …) are printed without them",
    "gaps": "LLVM 14 prints the first of them only: one gap of four, none of one; the bytes beside show all",
    "lines of modules without a stream": "LLVM 14 prints those of the module before again",
    "targets of trampolines": "LLVM 14 prints the source twice",
    "offsets of S_FRAMECOOKIE and S_REGREL32": "printed without sign",
}
UNSIGNED = {"S_FRAMECOOKIE", "S_REGREL32"}
NEWER = {"S_FRAMEREG", "S_DEFRANGE_CONSTVAL_FULL_SCOPE", "S_DEFRANGE_GLOBALSYM_FULL_SCOPE"}
_FIELDS = {
    "S_PUB32": ("section", "offset"),
    "S_PROC": ("parent", "end", "section", "offset", "size", "type_index", "debug_start", "debug_end"),
    "S_BLOCK32": ("parent", "end", "size", "section", "offset"),
    "S_THUNK32": ("parent", "end", "next", "size", "section", "offset"),
    "S_TRAMPOLINE": ("size", "section", "offset"),
    "S_SECTION": ("size", "alignment", "rva", "section"),
    "S_COFFGROUP": ("size", "section", "offset"),
    "S_FRAMEPROC": ("frame_size", "pad_size", "pad_offset", "saved_registers", "handler_section", "handler_offset"),
    "S_LABEL32": ("section", "offset"),
    "S_LOCAL": ("type_index",),
    "S_REGREL32": ("type_index", "register", "offset"),
    "S_BPREL32": ("type_index", "offset"),
    "S_REGISTER": ("register", "type_index"),
    "S_FILESTATIC": ("type_index", "module_name"),
    "S_DATA": ("type_index", "section", "offset"),
    "S_THREAD": ("type_index", "section", "offset"),
    "S_CONSTANT": ("type_index", "value"),
    "S_UDT": ("type_index",),
    "S_REF": ("module", "sum", "offset"),
    "S_ANNOTATION": ("section", "offset"),
    "S_CALLSITEINFO": ("type_index", "section", "offset"),
    "S_HEAPALLOCSITE": ("type_index", "section", "offset", "size"),
    "S_BUILDINFO": ("item",),
    "S_INLINESITE": ("inlinee", "parent", "end"),
    "S_FRAMECOOKIE": ("offset", "register"),
    "S_DEFRANGE_REGISTER": ("register", "@section", "@offset", "@size"),
    "S_DEFRANGE_SUBFIELD_REGISTER": ("register", "part", "@section", "@offset", "@size"),
    "S_DEFRANGE_REGISTER_REL": ("register", "offset", "part", "@section", "@offset", "@size"),
    "S_DEFRANGE_FRAMEPOINTER_REL": ("offset", "@section", "@offset", "@size"),
    "S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE": ("offset",),
}


def code(record: Record) -> tuple[tuple[int | None, int | None, int], ...]:
    """The annotations as the program prints them, one by one."""
    found: list[tuple[int | None, int | None, int]] = []
    offset = line = 0
    for operation, first, second in operations(record.rest):
        if operation == 6:
            line += first
        elif operation in (1, 3, 11):
            offset += first
            line += second
            found.append((offset, None, line))
        elif operation == 12:
            offset += second
            found.append((offset, offset + first, line))
        elif operation == 4:
            offset += first
            found.append((None, offset, line))
    return tuple(found)


def entry(record: Record, machine: int) -> llvm.Entry:
    kind = record.kind_name
    known = record.kind_name
    if kind in NEWER:
        kind = f"S_{record.kind:#06x}"
    facts: list[int | str] = []
    for name in _FIELDS.get(llvm.GROUPS.get(known, known), ()):
        if name.startswith("@"):
            assert record.range is not None
            facts.append(getattr(record.range, name[1:]))
        elif name == "register":
            facts.append(register_name(machine, record.fields[name]))
        elif name == "value":
            facts.append(record.value or 0)
        elif name == "part":
            facts.append(record.fields["part"] & 0xFFF if "part" in record.fields else record.fields["flags"] >> 4)
        else:
            value = record.fields[name]
            facts.append(value & 0xFFFFFFFF if name == "offset" and known in UNSIGNED else value)
    return llvm.Entry(
        kind,
        record.end - record.at,
        record.name or None,
        tuple(facts),
        record.range.gaps if record.range is not None else (),
        code(record) if kind == "S_INLINESITE" else (),
    )


def opened(relative: str) -> tuple[Path, PdbFile]:
    path = need(relative)
    return path, PdbFile.open(path)


def test_the_broken_ones_are_refused_with_a_reason() -> None:
    for name in REFUSED:
        (path,) = need("pdb").rglob(name)
        with pytest.raises(FormatError) as caught:
            PdbFile.open(path)
        assert name in caught.value.what
        assert caught.value.where or caught.value.hint


def difference(ours: dict, theirs: dict) -> list[tuple[object, llvm.Entry | None, llvm.Entry | None]]:
    """The records that differ, but for the reasons of the table."""
    found: list[tuple[object, llvm.Entry | None, llvm.Entry | None]] = []
    for key in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(key), theirs.get(key)
        if mine is not None and other is not None:
            if other.name is None:
                mine = mine._replace(name=None)
            if mine.gaps[: len(other.gaps)] == other.gaps:
                mine = mine._replace(gaps=other.gaps)
        if mine != other:
            found.append((key, mine, other))
    return found


@pytest.mark.parametrize("relative", every_pdb())
def test_every_symbol_record_is_what_llvm_says(relative: str) -> None:
    path, file = opened(relative)
    machine = file.dbi.machine if file.dbi is not None else 0
    ours: dict[tuple[int, int], llvm.Entry] = {}
    for module in range(len(file.dbi.modules) if file.dbi is not None else 0):
        data, end = file.module_symbols(module)
        ours.update({(module, record.at): entry(record, machine) for record in records(data, end)})
    theirs = llvm.symbols(path, "--symbols")
    assert difference(ours, theirs)[:5] == []


@pytest.mark.parametrize("relative", every_pdb())
def test_every_public_and_global_is_what_llvm_says(relative: str) -> None:
    path, file = opened(relative)
    theirs = {offset: found for (_, offset), found in llvm.symbols(path, "--publics", "--globals").items()}
    offsets = [at - 1 for table in (file.publics.names, file.globals) if table.usable for at in table.references()]
    whole = file.records.whole()
    ours = {offset: entry(decode(whole, offset), 0) for offset in offsets}
    assert difference(ours, theirs)[:5] == []


@pytest.mark.parametrize("relative", every_pdb())
def test_every_line_and_inlined_function_is_what_llvm_says(relative: str) -> None:
    path, file = opened(relative)
    lines: set[tuple[int, str, str, int, int, int]] = set()
    inlinees: set[tuple[int, int, int, str]] = set()
    for module in range(len(file.dbi.modules) if file.dbi is not None else 0):
        found = ModuleLines(file.module_lines(module))
        names = {
            at: (file.strings.get(source.name), source.checksum.hex().upper()) for at, source in found.files.items()
        }
        for block in found.blocks:
            for offset, line in zip(block.offsets, block.lines(), strict=True):
                lines.add((module, *names[block.file], block.section, block.start + offset, line))
        inlinees |= {
            (module, index, entry.line, names[entry.file][0])
            for index, known in found.inlinees.items()
            for entry in known
        }
    modules = file.dbi.modules if file.dbi is not None else []
    theirs = {entry for entry in llvm.lines(path) if modules[entry[0]].stream != NO_STREAM}
    assert sorted(lines ^ theirs)[:5] == []
    assert sorted(inlinees ^ llvm.inlinees(path))[:5] == []


def test_every_declared_kind_has_fields_of_distinct_names() -> None:
    from kdive.formats.pdb.kinds import KINDS

    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)
    for number, kind in KINDS.items():
        _, names = layout(number)
        assert len(set(names)) == len(names), kind.name
        assert re.fullmatch(r"S_[A-Z0-9_]+", kind.name)
