"""Every type and item record of every PDB at hand, compared with what llvm-pdbutil makes of it."""

from __future__ import annotations

import re

import pytest

from kdive.formats.pdb import fieldlist, items, leaves
from kdive.formats.pdb.fieldlist import parse_field_list
from tests.formats.pdb import llvm
from tests.formats.pdb.test_whole_files import every_pdb, opened

_I = r"(?:0x([0-9A-F]+)|<no type>)"
_NAMES = {
    0x000A: "LF_VTSHAPE",
    0x1001: "LF_MODIFIER",
    0x1002: "LF_POINTER",
    0x1008: "LF_PROCEDURE",
    0x1009: "LF_MFUNCTION",
    0x1201: "LF_ARGLIST",
    0x1203: "LF_FIELDLIST",
    0x1205: "LF_BITFIELD",
    0x1206: "LF_METHODLIST",
    0x1503: "LF_ARRAY",
    0x1504: "LF_CLASS",
    0x1505: "LF_STRUCTURE",
    0x1506: "LF_UNION",
    0x1507: "LF_ENUM",
    0x1601: "LF_FUNC_ID",
    0x1602: "LF_MFUNC_ID",
    0x1603: "LF_BUILDINFO",
    0x1604: "LF_SUBSTR_LIST",
    0x1605: "LF_STRING_ID",
    0x1606: "LF_UDT_SRC_LINE",
    0x1607: "LF_UDT_MOD_SRC_LINE",
}
_MODES = {0: "pointer", 1: "ref", 2: "data member pointer", 3: "member fn pointer", 4: "rvalue ref"}
_MODIFIERS = {1: "const", 2: "volatile", 4: "unaligned"}


def _numbers(pattern: str, text: str) -> list[tuple[int, ...]]:
    """The groups of every match; those of type indexes are hexadecimal, and 0 if there is none."""
    found: list[tuple[int, ...]] = []
    for match in re.finditer(pattern, text):
        values = []
        for index, group in enumerate(match.groups(), 1):
            hexadecimal = llvm.pattern_is_hexadecimal(pattern, index)
            values.append(int(group, 16 if hexadecimal else 10) if group else 0)
        found.append(tuple(values))
    return found


def entries(body: str) -> list[tuple[object, ...]]:
    """The entries of a field list as text gives them."""
    found: list[tuple[object, ...]] = []
    parts = re.split(r"^ +- (?=LF_)", body, flags=re.MULTILINE)[1:]
    for part in parts:
        kind = part.split()[0]
        name = match[1] if (match := re.search(r"name = `(.*?)`[,\]]", part)) else ""
        if kind == "LF_MEMBER":
            found.append((kind, name, *_numbers(rf"Type = {_I}.*, offset = (\d+)", part)[-1]))
        elif kind == "LF_STMEMBER":
            found.append((kind, name, *_numbers(rf"type = {_I}", part)[0]))
        elif kind == "LF_ENUMERATE":
            match = re.search(r"\[(.*) = (-?\d+)\]", part)
            found.append((kind, match[1], int(match[2])) if match else (kind, part))
        elif kind == "LF_BCLASS":
            found.append((kind, *_numbers(rf"type = {_I}.*, offset = (\d+)", part)[0]))
        elif kind in ("LF_VBCLASS", "LF_IVBCLASS"):
            found.append(
                ("LF_VBCLASS", *_numbers(rf"base = {_I}.*, vbptr offset = (\d+), vtable index = (\d+)", part)[0])
            )
        elif kind == "LF_VFUNCTAB":
            found.append((kind, *_numbers(rf"type = {_I}", part)[0]))
        elif kind == "LF_ONEMETHOD":
            match = re.search(rf"type = {_I}.*, vftable offset = (-?\d+)", part)
            found.append((kind, name, int(match[1], 16), int(match[2])) if match else (kind, part))
        elif kind == "LF_METHOD":
            found.append((kind, name, *_numbers(rf"# overloads = (\d+), overload list = {_I}", part)[0]))
        elif kind == "LF_NESTTYPE":
            found.append((kind, name, *_numbers(rf"parent = {_I}", part)[-1]))
        elif kind == "LF_INDEX":
            found.append((kind, *_numbers(r"0x([0-9A-F]+)", part)[0]))
    return found


def own_entries(body: bytes) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for entry in parse_field_list(body):
        match entry:
            case fieldlist.Member(name, index, offset):
                found.append(("LF_MEMBER", name, index, offset))
            case fieldlist.StaticMember(name, index):
                found.append(("LF_STMEMBER", name, index))
            case fieldlist.Enumerate(name, value):
                found.append(("LF_ENUMERATE", name, value))
            case fieldlist.BaseClass(index, offset, True, slot):
                found.append(("LF_VBCLASS", index, offset, slot))
            case fieldlist.BaseClass(index, offset):
                found.append(("LF_BCLASS", index, offset))
            case fieldlist.VtablePointer(index):
                found.append(("LF_VFUNCTAB", index))
            case fieldlist.Method(name, index, 1, offset):
                found.append(("LF_ONEMETHOD", name, index, -1 if offset is None else offset))
            case fieldlist.Method(name, index, overloads):
                found.append(("LF_METHOD", name, overloads, index))
            case fieldlist.NestedType(name, index):
                found.append(("LF_NESTTYPE", name, index))
            case fieldlist.Continuation(index):
                found.append(("LF_INDEX", index))
    return found


def described(kind: str, name: str, body: str) -> object:
    """The facts of a record as text gives them."""
    if kind in ("LF_CLASS", "LF_STRUCTURE", "LF_UNION"):
        size = _numbers(r"sizeof (\d+)", body)[0][0]
        unique = match[1] if (match := re.search(r"unique name: `(.*)`", body)) else ""
        return name, unique, _numbers(rf"field list: {_I}", body)[0][0], size, "forward ref" in body
    if kind == "LF_ENUM":
        return name, *_numbers(rf"field list: {_I}, underlying type: {_I}", body)[0], "forward ref" in body
    if kind == "LF_POINTER":
        mode = re.search(r"mode = ([a-z ]+),", body)
        return _numbers(rf"referent = {_I}", body)[0][0], mode and mode[1]
    if kind == "LF_MODIFIER":
        modifiers = re.search(r"modifiers = (.*)", body)
        return _numbers(rf"referent = {_I}", body)[0][0], modifiers and modifiers[1].strip()
    if kind == "LF_ARRAY":
        return _numbers(rf"size: (\d+), .*element type: {_I}", body)[0]
    if kind == "LF_BITFIELD":
        return _numbers(rf"type = {_I}.*, bit offset = (\d+), # bits = (\d+)", body)[0]
    if kind == "LF_PROCEDURE":
        return _numbers(rf"return type = {_I}.*, # args = \d+, param list = {_I}", body)[0]
    if kind == "LF_MFUNCTION":
        rest = rf"class type = {_I}.*, this type = {_I}.*, this adjust = (\d+)"
        return *_numbers(rf"return type = {_I}.*, # args = \d+, param list = {_I}", body)[0], *_numbers(rest, body)[0]
    if kind == "LF_ARGLIST":
        return [int(index or "0", 16) for index in re.findall(rf"^ +{_I}(?: \(.*\))?: `", body, re.MULTILINE)]
    if kind == "LF_METHODLIST":
        found = re.findall(rf"- Method \[type = {_I}.*?, vftable offset = (-?\d+)", body)
        return [(int(index, 16), int(offset)) for index, offset in found]
    if kind == "LF_FIELDLIST":
        return entries(body)
    if kind == "LF_FUNC_ID":
        match = re.search(rf"name = (.*), type = {_I}.*, parent scope = {_I}", body)
        return (match[1], int(match[2], 16), int(match[3] or "0", 16)) if match else body
    if kind == "LF_MFUNC_ID":
        match = re.search(rf"name = (.*), type = {_I}.*, class type = {_I}", body)
        return (match[1], int(match[2], 16), int(match[3] or "0", 16)) if match else body
    if kind == "LF_STRING_ID":
        match = re.search(rf"ID: {_I}, String: (.*)", body, re.DOTALL)
        return (int(match[1] or "0", 16), match[2].strip()) if match else body
    if kind == "LF_UDT_SRC_LINE":
        return _numbers(rf"udt = {_I}.*, file = {_I}|line = (\d+)", body)
    if kind == "LF_UDT_MOD_SRC_LINE":
        return _numbers(rf"udt = {_I}.*, mod = (\d+), file = (\d+), line = (\d+)", body)[0]
    return None


def own(leaf: int, body: bytes) -> object:
    if leaf == leaves.LF_FIELDLIST:
        return own_entries(body)
    if leaf >= items.LF_FUNC_ID:
        return _own_item(leaf, body)
    match leaves.parse_leaf(leaf, body):
        case leaves.Udt("enum", name, _, _, fields, base, forward):
            return name, fields, base, forward
        case leaves.Udt(_, name, unique, size, fields, _, forward):
            return name, unique, fields, size, forward
        case leaves.Pointer(target, _, mode):
            return target, _MODES[mode]
        case leaves.Modifier(target, flags):
            return target, " | ".join(text for bit, text in _MODIFIERS.items() if flags & bit) or "None"
        case leaves.Array(element, size):
            return size, element
        case leaves.Bitfield(base, position, length):
            return base, position, length
        case leaves.Procedure(result, arguments, 0):
            return result, arguments
        case leaves.Procedure(result, arguments, owner, this, _, adjust):
            return result, arguments, owner, this, adjust
        case leaves.ArgumentList(types):
            return list(types)
        case leaves.MethodList(overloads):
            return [(one.type_index, -1 if one.vtable_offset is None else one.vtable_offset) for one in overloads]
    return None


def _own_item(leaf: int, body: bytes) -> object:
    match items.parse_item(leaf, body):
        case items.Function(name, index, scope, owner):
            return name, index, scope or owner
        case items.String(text, parts):
            return parts, text.strip()
        case items.Declaration(index, file, line, module) if leaf == items.LF_UDT_MOD_SRC_LINE:
            return index, module, file, line
    return None


# What the text leaves out, so that it is not compared here.
NOT_PRINTED = {
    "LF_BUILDINFO": "the items follow as text of several lines",
    "LF_SUBSTR_LIST": "the same",
    "LF_UDT_SRC_LINE": "the file is printed as text; it occurs in unlinked objects only",
    "LF_VTSHAPE": "nothing is printed",
    "LF_POINTER": "the class of a pointer to a member is printed in the text of its users only",
}


@pytest.mark.parametrize("relative", every_pdb())
@pytest.mark.parametrize("option", ["--types", "--ids"])
def test_every_type_and_item_is_what_llvm_says(relative: str, option: str) -> None:
    path, file = opened(relative)
    skipped = NOT_PRINTED.keys() - {"LF_POINTER"}
    stream = file.types if option == "--types" else file.items
    theirs = {
        index: (kind, size, None if kind in skipped else described(kind, name, body))
        for index, (kind, size, name, body) in llvm.records(path, option).items()
    }
    ours: dict[int, tuple[str, int, object]] = {}
    for index in range(stream.first, stream.end) if stream is not None else ():
        leaf, body = stream.record(index)
        kind = _NAMES.get(leaf, hex(leaf))
        ours[index] = (kind, len(body) + 4, None if kind in skipped else own(leaf, body))
    keys = sorted(ours.keys() | theirs.keys())
    wrong = [(hex(key), ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)]
    assert wrong[:3] == []


def test_a_pointer_to_a_member_names_its_class() -> None:
    _, file = opened("pdb/llvm/DebugInfo-PDB/Inputs/every-pointer.pdb")
    types = file.types
    assert types is not None
    owners = set()
    for index in range(types.first, types.end):
        leaf = types.leaf(index)
        if isinstance(leaf, leaves.Pointer) and leaf.mode in (2, 3):
            owner = types.leaf(leaf.owner)
            assert isinstance(owner, leaves.Udt)
            owners.add(owner.name)
    assert owners == {"Foo"}
