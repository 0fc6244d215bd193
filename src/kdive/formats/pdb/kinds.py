"""The kinds of symbol records (CodeView ``S_*``), each declared once: number, name, layout.

A layout is a list of fixed fields, ``name:code`` with the codes of :mod:`struct`, and what follows them. Kinds that
only managed code, shaders or compilers of the last century use are known by name and skipped by length.

Format facts: ``cvinfo.h`` in Microsoft's published PDB sources, LLVM's ``CodeViewSymbols.def``; for the numbers from
0x1166 on, Microsoft's DIA SDK header ``cvconst.h`` and records of real files (the two full-scope ranges of constants
and of globals, for example, hold the bytes of the value and ``offset, section``).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Literal, NamedTuple

Tail = Literal["", "name", "pascal", "number", "range", "indexes", "strings", "bytes"]
"""What follows the fixed fields: a name (NUL-terminated, or length-prefixed), a numeric leaf and a name, a code range
with gaps, a counted list of item indexes, strings up to an empty one, or bytes."""


class Kind(NamedTuple):
    """A kind of symbol record."""

    name: str
    fields: str = ""
    tail: Tail = ""


S_END = 0x0006
S_FRAMEPROC = 0x1012
S_THUNK32 = 0x1102
S_BLOCK32 = 0x1103
S_LABEL32 = 0x1105
S_REGISTER = 0x1106
S_CONSTANT = 0x1107
S_UDT = 0x1108
S_BPREL32 = 0x110B
S_LDATA32 = 0x110C
S_GDATA32 = 0x110D
S_PUB32 = 0x110E
S_LPROC32 = 0x110F
S_GPROC32 = 0x1110
S_REGREL32 = 0x1111
S_LTHREAD32 = 0x1112
S_GTHREAD32 = 0x1113
S_LMANDATA = 0x111C
S_GMANDATA = 0x111D
S_PROCREF = 0x1125
S_DATAREF = 0x1126
S_LPROCREF = 0x1127
S_TRAMPOLINE = 0x112C
S_SEPCODE = 0x1132
S_LOCAL = 0x113E
S_DEFRANGE = 0x113F
S_DEFRANGE_SUBFIELD = 0x1140
S_DEFRANGE_REGISTER = 0x1141
S_DEFRANGE_FRAMEPOINTER_REL = 0x1142
S_DEFRANGE_SUBFIELD_REGISTER = 0x1143
S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE = 0x1144
S_DEFRANGE_REGISTER_REL = 0x1145
S_LPROC32_ID = 0x1146
S_GPROC32_ID = 0x1147
S_INLINESITE = 0x114D
S_INLINESITE_END = 0x114E
S_PROC_ID_END = 0x114F
S_FILESTATIC = 0x1153
S_LPROC32_DPC = 0x1155
S_LPROC32_DPC_ID = 0x1156
S_INLINESITE2 = 0x115D
S_DEFRANGE_CONSTVAL_FULL_SCOPE = 0x117F
S_DEFRANGE_GLOBALSYM_FULL_SCOPE = 0x1180

_SCOPE = "parent:I end:I "
_PROCEDURE = (
    _SCOPE + "next:I size:I debug_start:I debug_end:I type_index:I offset:I section:H flags:B"  # names as in cvinfo.h
)
_DATA = "type_index:I offset:I section:H"
_REFERENCE = "sum:I offset:I module:H"
_REGISTER_RELATIVE = "offset:i type_index:I register:H"

KINDS: dict[int, Kind] = {
    0x0001: Kind("S_COMPILE", "", "bytes"),
    S_END: Kind("S_END"),
    0x0007: Kind("S_SKIP", "", "bytes"),
    0x0009: Kind("S_OBJNAME_ST", "signature:I", "pascal"),
    0x0206: Kind("S_THUNK32_ST", _SCOPE + "next:I offset:I section:H size:H ordinal:B", "pascal"),
    0x0207: Kind("S_BLOCK32_ST", _SCOPE + "size:I offset:I section:H", "pascal"),
    0x0209: Kind("S_LABEL32_ST", "offset:I section:H flags:B", "pascal"),
    0x0400: Kind("S_PROCREF_ST", _REFERENCE, "pascal"),
    0x0401: Kind("S_DATAREF_ST", _REFERENCE, "pascal"),
    0x0403: Kind("S_LPROCREF_ST", _REFERENCE, "pascal"),
    0x0404: Kind("S_OEM", "", "bytes"),
    0x1001: Kind("S_REGISTER_ST", "type_index:I register:H", "pascal"),
    0x1003: Kind("S_UDT_ST", "type_index:I", "pascal"),
    0x1006: Kind("S_BPREL32_ST", "offset:i type_index:I", "pascal"),
    0x1007: Kind("S_LDATA32_ST", _DATA, "pascal"),
    0x1008: Kind("S_GDATA32_ST", _DATA, "pascal"),
    0x1009: Kind("S_PUB32_ST", "flags:I offset:I section:H", "pascal"),
    0x100A: Kind("S_LPROC32_ST", _PROCEDURE, "pascal"),
    0x100B: Kind("S_GPROC32_ST", _PROCEDURE, "pascal"),
    0x100D: Kind("S_REGREL32_ST", _REGISTER_RELATIVE, "pascal"),
    0x100E: Kind("S_LTHREAD32_ST", _DATA, "pascal"),
    0x100F: Kind("S_GTHREAD32_ST", _DATA, "pascal"),
    S_FRAMEPROC: Kind(
        "S_FRAMEPROC",
        "frame_size:I pad_size:I pad_offset:I saved_registers:I handler_offset:I handler_section:H flags:I",
    ),
    0x1019: Kind("S_ANNOTATION", "offset:I section:H count:H", "strings"),
    0x1101: Kind("S_OBJNAME", "signature:I", "name"),
    S_THUNK32: Kind("S_THUNK32", _SCOPE + "next:I offset:I section:H size:H ordinal:B", "name"),
    S_BLOCK32: Kind("S_BLOCK32", _SCOPE + "size:I offset:I section:H", "name"),
    0x1104: Kind("S_WITH32", _SCOPE + "size:I offset:I section:H", "name"),
    S_LABEL32: Kind("S_LABEL32", "offset:I section:H flags:B", "name"),
    S_REGISTER: Kind("S_REGISTER", "type_index:I register:H", "name"),
    S_CONSTANT: Kind("S_CONSTANT", "type_index:I", "number"),
    S_UDT: Kind("S_UDT", "type_index:I", "name"),
    0x1109: Kind("S_COBOLUDT", "type_index:I", "name"),
    0x110A: Kind("S_MANYREG", "", "bytes"),
    S_BPREL32: Kind("S_BPREL32", "offset:i type_index:I", "name"),
    S_LDATA32: Kind("S_LDATA32", _DATA, "name"),
    S_GDATA32: Kind("S_GDATA32", _DATA, "name"),
    S_PUB32: Kind("S_PUB32", "flags:I offset:I section:H", "name"),
    S_LPROC32: Kind("S_LPROC32", _PROCEDURE, "name"),
    S_GPROC32: Kind("S_GPROC32", _PROCEDURE, "name"),
    S_REGREL32: Kind("S_REGREL32", _REGISTER_RELATIVE, "name"),
    S_LTHREAD32: Kind("S_LTHREAD32", _DATA, "name"),
    S_GTHREAD32: Kind("S_GTHREAD32", _DATA, "name"),
    0x1116: Kind("S_COMPILE2", "", "bytes"),
    0x1117: Kind("S_MANYREG2", "", "bytes"),
    0x111A: Kind("S_LOCALSLOT", "", "bytes"),
    0x111B: Kind("S_PARAMSLOT", "", "bytes"),
    S_LMANDATA: Kind("S_LMANDATA", _DATA, "name"),
    S_GMANDATA: Kind("S_GMANDATA", _DATA, "name"),
    0x1120: Kind("S_MANFRAMEREL", "", "bytes"),
    0x1121: Kind("S_MANREGISTER", "", "bytes"),
    0x1122: Kind("S_MANSLOT", "", "bytes"),
    0x1123: Kind("S_MANMANYREG", "", "bytes"),
    0x1124: Kind("S_UNAMESPACE", "", "name"),
    S_PROCREF: Kind("S_PROCREF", _REFERENCE, "name"),
    S_DATAREF: Kind("S_DATAREF", _REFERENCE, "name"),
    S_LPROCREF: Kind("S_LPROCREF", _REFERENCE, "name"),
    0x1128: Kind("S_ANNOTATIONREF", _REFERENCE, "name"),
    0x1129: Kind("S_TOKENREF", _REFERENCE, "name"),
    0x112A: Kind("S_GMANPROC", "", "bytes"),
    0x112B: Kind("S_LMANPROC", "", "bytes"),
    S_TRAMPOLINE: Kind("S_TRAMPOLINE", "trampoline_type:H size:H offset:I target_offset:I section:H target_section:H"),
    0x112D: Kind("S_MANCONSTANT", "type_index:I", "number"),
    0x112E: Kind("S_ATTR_FRAMEREL", "", "bytes"),
    0x112F: Kind("S_ATTR_REGISTER", "", "bytes"),
    0x1130: Kind("S_ATTR_REGREL", "", "bytes"),
    0x1131: Kind("S_ATTR_MANYREG", "", "bytes"),
    S_SEPCODE: Kind("S_SEPCODE", _SCOPE + "size:I flags:I offset:I parent_offset:I section:H parent_section:H"),
    0x1133: Kind("S_LOCAL_2005", "", "bytes"),
    0x1134: Kind("S_DEFRANGE_2005", "", "bytes"),
    0x1135: Kind("S_DEFRANGE2_2005", "", "bytes"),
    0x1136: Kind("S_SECTION", "section:H alignment:B reserved:B rva:I size:I characteristics:I", "name"),
    0x1137: Kind("S_COFFGROUP", "size:I characteristics:I offset:I section:H", "name"),
    0x1138: Kind("S_EXPORT", "ordinal:H flags:H", "name"),
    0x1139: Kind("S_CALLSITEINFO", "offset:I section:H padding:H type_index:I"),
    0x113A: Kind("S_FRAMECOOKIE", "offset:i register:H cookie:B flags:B"),
    0x113C: Kind(
        "S_COMPILE3",
        "flags:I machine:H front_major:H front_minor:H front_build:H front_fix:H major:H minor:H build:H fix:H",
        "name",
    ),
    0x113D: Kind("S_ENVBLOCK", "flags:B", "strings"),
    S_LOCAL: Kind("S_LOCAL", "type_index:I flags:H", "name"),
    S_DEFRANGE: Kind("S_DEFRANGE", "program:I", "range"),
    S_DEFRANGE_SUBFIELD: Kind("S_DEFRANGE_SUBFIELD", "program:I part:I", "range"),
    S_DEFRANGE_REGISTER: Kind("S_DEFRANGE_REGISTER", "register:H flags:H", "range"),
    S_DEFRANGE_FRAMEPOINTER_REL: Kind("S_DEFRANGE_FRAMEPOINTER_REL", "offset:i", "range"),
    S_DEFRANGE_SUBFIELD_REGISTER: Kind("S_DEFRANGE_SUBFIELD_REGISTER", "register:H flags:H part:I", "range"),
    S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE: Kind("S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE", "offset:i"),
    S_DEFRANGE_REGISTER_REL: Kind("S_DEFRANGE_REGISTER_REL", "register:H flags:H offset:i", "range"),
    S_LPROC32_ID: Kind("S_LPROC32_ID", _PROCEDURE, "name"),
    S_GPROC32_ID: Kind("S_GPROC32_ID", _PROCEDURE, "name"),
    0x114C: Kind("S_BUILDINFO", "item:I"),
    S_INLINESITE: Kind("S_INLINESITE", _SCOPE + "inlinee:I", "bytes"),
    S_INLINESITE_END: Kind("S_INLINESITE_END"),
    S_PROC_ID_END: Kind("S_PROC_ID_END"),
    0x1150: Kind("S_DEFRANGE_HLSL", "", "bytes"),
    0x1151: Kind("S_GDATA_HLSL", "", "bytes"),
    0x1152: Kind("S_LDATA_HLSL", "", "bytes"),
    S_FILESTATIC: Kind("S_FILESTATIC", "type_index:I module_name:I flags:H", "name"),
    0x1154: Kind("S_LOCAL_DPC_GROUPSHARED", "", "bytes"),
    S_LPROC32_DPC: Kind("S_LPROC32_DPC", _PROCEDURE, "name"),
    S_LPROC32_DPC_ID: Kind("S_LPROC32_DPC_ID", _PROCEDURE, "name"),
    0x1157: Kind("S_DEFRANGE_DPC_PTR_TAG", "", "bytes"),
    0x1158: Kind("S_DPC_SYM_TAG_MAP", "", "bytes"),
    0x1159: Kind(
        "S_ARMSWITCHTABLE",
        "base_offset:I base_section:H switch_type:H branch_offset:I table_offset:I branch_section:H table_section:H"
        " entries:I",
    ),
    0x115A: Kind("S_CALLEES", "", "indexes"),
    0x115B: Kind("S_CALLERS", "", "indexes"),
    0x115C: Kind("S_POGODATA", "invocations:I dynamic_count:q static_count:I final_static_count:I"),
    S_INLINESITE2: Kind("S_INLINESITE2", _SCOPE + "inlinee:I invocations:I", "bytes"),
    0x115E: Kind("S_HEAPALLOCSITE", "offset:I section:H size:H type_index:I"),
    0x115F: Kind("S_MOD_TYPEREF", "", "bytes"),
    0x1160: Kind("S_REF_MINIPDB", "type_index:I module:H flags:H", "name"),
    0x1161: Kind("S_PDBMAP", "", "bytes"),
    0x1162: Kind("S_GDATA_HLSL32", "", "bytes"),
    0x1163: Kind("S_LDATA_HLSL32", "", "bytes"),
    0x1164: Kind("S_GDATA_HLSL32_EX", "", "bytes"),
    0x1165: Kind("S_LDATA_HLSL32_EX", "", "bytes"),
    0x1166: Kind("S_FRAMEREG", "register:H flags:H"),
    0x1167: Kind("S_FASTLINK", "type_index:I flags:H", "name"),
    0x1168: Kind("S_INLINEES", "", "indexes"),
    0x1169: Kind("S_HOTPATCHFUNC", "item:I", "name"),
    0x1170: Kind("S_BPREL32_INDIR", "", "bytes"),
    0x1171: Kind("S_REGREL32_INDIR", "", "bytes"),
    0x1172: Kind("S_GPROC32EX", "", "bytes"),
    0x1173: Kind("S_LPROC32EX", "", "bytes"),
    0x1174: Kind("S_GPROC32EX_ID", "", "bytes"),
    0x1175: Kind("S_LPROC32EX_ID", "", "bytes"),
    0x1176: Kind("S_STATICLOCAL", "", "bytes"),
    0x1177: Kind("S_DEFRANGE_REGISTER_REL_INDIR", "", "bytes"),
    0x1178: Kind("S_BPREL32_ENCTMP", "", "bytes"),
    0x1179: Kind("S_REGREL32_ENCTMP", "", "bytes"),
    0x117A: Kind("S_BPREL32_INDIR_ENCTMP", "", "bytes"),
    0x117B: Kind("S_REGREL32_INDIR_ENCTMP", "", "bytes"),
    0x117C: Kind("S_ASSOCIATION", "", "bytes"),
    0x117D: Kind("S_HYBRIDRANGE", "", "bytes"),
    0x117E: Kind("S_SOURCELINK", "", "bytes"),
    S_DEFRANGE_CONSTVAL_FULL_SCOPE: Kind("S_DEFRANGE_CONSTVAL_FULL_SCOPE", "", "bytes"),
    S_DEFRANGE_GLOBALSYM_FULL_SCOPE: Kind("S_DEFRANGE_GLOBALSYM_FULL_SCOPE", "offset:I section:H"),
}

PROCEDURES = frozenset({S_LPROC32, S_GPROC32, S_LPROC32_ID, S_GPROC32_ID, S_LPROC32_DPC, S_LPROC32_DPC_ID})
PROCEDURES_BY_ID = frozenset({S_LPROC32_ID, S_GPROC32_ID, S_LPROC32_DPC_ID})
"""Procedures whose type index is an item of the IPI stream."""
DATA = frozenset({S_LDATA32, S_GDATA32, S_LMANDATA, S_GMANDATA})
THREAD_DATA = frozenset({S_LTHREAD32, S_GTHREAD32})
PROCEDURE_REFERENCES = frozenset({S_PROCREF, S_LPROCREF})
INLINE_SITES = frozenset({S_INLINESITE, S_INLINESITE2})
SCOPES = PROCEDURES | INLINE_SITES | {S_THUNK32, S_BLOCK32, 0x1104, S_SEPCODE}
"""Kinds that open a scope: they name their parent and the record that closes them."""
SCOPE_ENDS = frozenset({S_END, S_INLINESITE_END, S_PROC_ID_END})


@cache
def layout(kind: int) -> tuple[struct.Struct, tuple[str, ...]]:
    """Return the structure of the fixed fields of a kind, and their names.

    Raises:
        KeyError: The kind is not declared.
    """
    pairs = [field.split(":") for field in KINDS[kind].fields.split()]
    return struct.Struct("<" + "".join(code for _, code in pairs)), tuple(name for name, _ in pairs)
