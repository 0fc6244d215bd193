"""Thunks of incremental linking: the jumps that calls go through, so that a function can move.

Format facts: ``TRAMPOLINESYM`` in ``cvinfo.h`` of Microsoft's published PDB sources. The linker's own module has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.decode import records
from kdive.formats.pdb.kinds import S_TRAMPOLINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.formats.pdb.file import PdbFile

_LINKER = "* Linker *"


def trampolines(file: PdbFile) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield ``(section, offset, size, section of the target, offset of the target)`` of every thunk."""
    for number, module in enumerate(file.dbi.modules if file.dbi is not None else ()):
        if module.name != _LINKER:
            continue
        try:
            data, end = file.module_symbols(number)
        except FormatError:
            continue
        for record in records(data, end):
            if record.kind == S_TRAMPOLINE:
                fields = record.fields
                yield (
                    fields["section"],
                    fields["offset"],
                    fields["size"],
                    fields["target_section"],
                    fields["target_offset"],
                )
