"""Where the value of a variable is at one address: the location records of a PDB, read for that address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.formats.pdb.kinds import (
    DATA,
    S_BPREL32,
    S_DEFRANGE_CONSTVAL_FULL_SCOPE,
    S_DEFRANGE_FRAMEPOINTER_REL,
    S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE,
    S_DEFRANGE_GLOBALSYM_FULL_SCOPE,
    S_DEFRANGE_REGISTER,
    S_DEFRANGE_REGISTER_REL,
    S_DEFRANGE_SUBFIELD_REGISTER,
    S_FILESTATIC,
    S_LOCAL,
    S_REGISTER,
    S_REGREL32,
    THREAD_DATA,
)
from kdive.formats.pdb.registers import frame_base, register_name
from kdive.formats.pdb.scopes import LOCAL_IS_OPTIMISED_OUT, LOCAL_IS_PARAMETER
from kdive.formats.pe.image import MACHINE_AMD64
from kdive.symbols.interface import (
    ConstantPlace,
    PartsPlace,
    RegisterPlace,
    RegisterRelativePlace,
    StaticPlace,
    UnavailablePlace,
)

if TYPE_CHECKING:
    from kdive.formats.pdb.decode import CodeViewRecord
    from kdive.formats.pdb.file import PdbFile
    from kdive.formats.pdb.scopes import Variable
    from kdive.symbols.interface import Place

_PART_MASK = 0xFFF
"""The offset of a part has 12 bits; the rest of its field is padding."""
_SUBFIELD_FLAG = 1
_PARENT_OFFSET_SHIFT = 4

_Simple = RegisterPlace | RegisterRelativePlace | StaticPlace | ConstantPlace


def parameter(file: PdbFile, variable: Variable, frame: CodeViewRecord | None) -> bool:
    """Whether a variable is a parameter of its function.

    Records of unoptimised code do not say so. On x86 and x64 parameters lie above the return address, that is outside
    the frame.
    """
    record = variable.record
    if record.kind == S_LOCAL:
        return bool(record.fields["flags"] & LOCAL_IS_PARAMETER)
    offset = record.fields.get("offset", 0)
    if record.kind == S_BPREL32:
        return offset > 0
    if record.kind == S_REGREL32 and frame is not None and _machine(file) == MACHINE_AMD64:
        return offset >= frame.fields["frame_size"]
    return False


def _machine(file: PdbFile) -> int:
    return file.dbi.machine if file.dbi is not None else 0


def placed(file: PdbFile, variable: Variable, frame: CodeViewRecord | None, section: int, offset: int) -> Place:
    """Return where the value of a variable is when ``section:offset`` runs.

    Args:
        file: The PDB.
        variable: The variable with its locations.
        frame: The ``S_FRAMEPROC`` record of the procedure, if there is one.
        section: 1-based section number.
        offset: Offset in the section.
    """
    record, fields, machine = variable.record, variable.record.fields, _machine(file)
    if record.kind == S_REGREL32:
        return RegisterRelativePlace(register_name(machine, fields["register"]), fields["offset"])
    if record.kind == S_BPREL32:
        base = frame_base(machine, frame.fields["flags"], parameter=False) if frame is not None else ""
        # Before S_FRAMEPROC the record meant what its name says, and only x86 had it.
        return RegisterRelativePlace(base or "ebp", fields["offset"])
    if record.kind == S_REGISTER:
        return RegisterPlace(register_name(machine, fields["register"] & 0xFFFF))
    if record.kind in DATA or record.kind in THREAD_DATA:
        return _static(file, fields, thread=record.kind in THREAD_DATA)
    return _by_locations(file, variable, frame, section, offset)


def _static(file: PdbFile, fields: dict[str, int], *, thread: bool = False) -> StaticPlace | UnavailablePlace:
    if thread:
        return StaticPlace(fields["offset"], thread=True)
    rva = file.addresses.rva(fields["section"], fields["offset"])
    return StaticPlace(rva) if rva is not None else UnavailablePlace("removed by the linker")


def _by_locations(file: PdbFile, variable: Variable, frame: CodeViewRecord | None, section: int, offset: int) -> Place:
    if not variable.places:
        gone = variable.record.kind == S_FILESTATIC or variable.record.fields["flags"] & LOCAL_IS_OPTIMISED_OUT
        return UnavailablePlace("optimised away" if gone else "no location recorded")
    parts: dict[int, _Simple] = {}
    for place in variable.places:
        if place.range is not None and not place.range.covers(section, offset):
            continue
        found = _simple(file, variable, place, frame)
        if found is None:
            continue
        part, simple = found
        if part is None:
            return simple
        parts[part] = simple
    if parts:
        return PartsPlace(tuple(sorted(parts.items(), key=lambda part: part[0])))
    return UnavailablePlace("not available at this address")


def _simple(
    file: PdbFile, variable: Variable, place: CodeViewRecord, frame: CodeViewRecord | None
) -> tuple[int | None, _Simple] | None:
    """The part of the value that a location is about (None: all of it), and where it is."""
    machine, fields, kind = _machine(file), place.fields, place.kind
    if kind == S_DEFRANGE_REGISTER:
        return None, RegisterPlace(register_name(machine, fields["register"]))
    if kind == S_DEFRANGE_SUBFIELD_REGISTER:
        return fields["part"] & _PART_MASK, RegisterPlace(register_name(machine, fields["register"]))
    if kind == S_DEFRANGE_REGISTER_REL:
        where = RegisterRelativePlace(register_name(machine, fields["register"]), fields["offset"])
        part = fields["flags"] >> _PARENT_OFFSET_SHIFT if fields["flags"] & _SUBFIELD_FLAG else None
        return part, where
    if kind in (S_DEFRANGE_FRAMEPOINTER_REL, S_DEFRANGE_FRAMEPOINTER_REL_FULL_SCOPE):
        flags = frame.fields["flags"] if frame is not None else 0
        base = frame_base(machine, flags, parameter=parameter(file, variable, frame))
        return (None, RegisterRelativePlace(base, fields["offset"])) if base else None
    if kind == S_DEFRANGE_CONSTVAL_FULL_SCOPE:
        return None, ConstantPlace(place.rest)
    if kind == S_DEFRANGE_GLOBALSYM_FULL_SCOPE:
        where = _static(file, fields)
        return (None, where) if isinstance(where, StaticPlace) else None
    return None  # locations by programs (S_DEFRANGE, S_DEFRANGE_SUBFIELD), which no compiler is known to write
