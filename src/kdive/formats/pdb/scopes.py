"""A procedure from the inside: its variables, blocks and inlined calls, out of one module's records.

Only the records of the one procedure are decoded. Code that the linker was told to place apart ("separated code") is a
scope of its own behind the procedure; it names the procedure it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.annotations import inline_lines
from kdive.formats.pdb.decode import FIRST_RECORD, decode, records
from kdive.formats.pdb.kinds import (
    DATA,
    INLINE_SITES,
    PROCEDURES,
    S_BLOCK32,
    S_BPREL32,
    S_DEFRANGE_CONSTVAL_FULL_SCOPE,
    S_DEFRANGE_GLOBALSYM_FULL_SCOPE,
    S_FILESTATIC,
    S_FRAMEPROC,
    S_LOCAL,
    S_REGISTER,
    S_REGREL32,
    S_SEPCODE,
    SCOPE_ENDS,
    SCOPES,
    THREAD_DATA,
)
from kdive.record import Record, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.formats.pdb.annotations import InlineLine
    from kdive.formats.pdb.decode import CodeViewRecord

LOCAL_IS_PARAMETER = 0x0001
LOCAL_IS_OPTIMISED_OUT = 0x0100
_MAX_DEPTH = 256
_PLACED_VARIABLES = frozenset({S_BPREL32, S_REGREL32, S_REGISTER}) | DATA | THREAD_DATA
_OPEN_VARIABLES = frozenset({S_LOCAL, S_FILESTATIC})
"""Variables whose locations follow as records of their own."""
_PLACES = frozenset(range(0x113F, 0x1146)) | {S_DEFRANGE_CONSTVAL_FULL_SCOPE, S_DEFRANGE_GLOBALSYM_FULL_SCOPE}


class Variable(Record):
    """A variable: the record that names it, and the records that say where it is and when."""

    record: CodeViewRecord
    places: list[CodeViewRecord] = field(default_factory=list["CodeViewRecord"])


class Scope(Record):
    """A procedure, a block, an inlined call or separated code.

    Attributes:
        record: The record that opens it.
        variables: Its variables, in the order of the file.
        children: The scopes inside.
        frame: The ``S_FRAMEPROC`` record of a procedure.
        code: Where the code of an inlined call is.
    """

    record: CodeViewRecord
    variables: list[Variable] = field(default_factory=list[Variable])
    children: list[Scope] = field(default_factory=list["Scope"])
    frame: CodeViewRecord | None = None
    code: list[InlineLine] = field(default_factory=list["InlineLine"])

    @property
    def section(self) -> int:
        """1-based section number (0 for inlined calls)."""
        return self.record.fields.get("section", 0)

    @property
    def offset(self) -> int:
        """Offset of the code in its section."""
        return self.record.fields.get("offset", 0)

    @property
    def size(self) -> int:
        """Size of the code in bytes."""
        return self.record.fields.get("size", 0)

    def covers(self, section: int, offset: int) -> bool:
        """Whether ``section:offset`` lies in the procedure, block or separated code."""
        return section == self.section and 0 <= offset - self.offset < self.size


def _opened(record: CodeViewRecord) -> Scope:
    scope = Scope(record)
    if record.kind in INLINE_SITES:
        try:
            scope.code = inline_lines(record.rest)
        except FormatError:
            scope.code = []
    return scope


def parse_scope(data: bytes, at: int, end: int) -> Scope:
    """Decode the scope whose opening record lies at a byte offset.

    Args:
        data: The module's stream.
        at: Offset of the opening record.
        end: Where the module's records end.

    Raises:
        FormatError: There is no scope at this place, or scopes are nested beyond reason.
    """
    first = decode(data, at)
    if first.kind not in SCOPES:
        raise FormatError(f"symbol record {first.kind_name} opens no scope", offset=at)
    whole = _opened(first)
    stack = [whole]
    variable: Variable | None = None
    for record in records(data, end, first.end):
        kind = record.kind
        if kind in _PLACES:
            if variable is not None:
                variable.places.append(record)
            continue
        variable = None
        current = stack[-1]
        if kind in SCOPE_ENDS:
            stack.pop()
            if not stack:
                break
        elif kind in SCOPES:
            if len(stack) >= _MAX_DEPTH:
                raise FormatError("the scopes of a procedure are nested too deeply", offset=record.at)
            inner = _opened(record)
            current.children.append(inner)
            stack.append(inner)
        elif kind in _OPEN_VARIABLES:
            variable = Variable(record)
            current.variables.append(variable)
        elif kind in _PLACED_VARIABLES:
            current.variables.append(Variable(record))
        elif kind == S_FRAMEPROC:
            current.frame = record
    return whole


def outermost(data: bytes, end: int) -> Iterator[CodeViewRecord]:
    """Yield the records of a module that lie in no scope, and those that open one (whose insides are skipped)."""
    at = FIRST_RECORD
    end = min(end, len(data))
    while at + 4 <= end:
        length: int = data[at] | data[at + 1] << 8
        following = at + 2 + length
        if length < 2 or following > end:
            return
        try:
            record = decode(data, at)
        except FormatError:
            at = following
            continue
        yield record
        close = record.fields.get("end", 0) if record.kind in SCOPES else 0
        at = close if following <= close <= end else following


class Enclosing(Record):
    """The scopes around a place in the code.

    Attributes:
        procedure: The procedure.
        separated: The block of separated code that the place lies in, None if it lies in the procedure itself.
        chunk: 0 for the procedure, n for its n-th block of separated code.
        start: Offset in the section at which the chunk starts.
    """

    procedure: Scope
    separated: Scope | None
    chunk: int
    start: int

    @property
    def root(self) -> Scope:
        """The scope that holds the blocks and inlined calls at the place."""
        return self.separated or self.procedure


def enclosing(data: bytes, end: int, section: int, offset: int) -> Enclosing | None:
    """Find the procedure of a module whose code, its separated code included, covers a place; None if there is none.

    Args:
        data: The module's stream.
        end: Where its records end.
        section: 1-based section number.
        offset: Offset in the section.

    Raises:
        FormatError: The procedure is broken.
    """
    chunks: dict[int, int] = {}
    best: CodeViewRecord | None = None
    for record in outermost(data, end):
        if record.kind in PROCEDURES:
            # Where the linker folded equal procedures into one, the last by name counts, as for names by address.
            if Scope(record).covers(section, offset) and (best is None or _rank(record) > _rank(best)):
                best = record
        elif record.kind == S_SEPCODE:
            parent = record.fields["parent"]
            chunks[parent] = chunks.get(parent, 0) + 1
            if Scope(record).covers(section, offset):
                owner = parse_scope(data, parent, end)
                if owner.record.kind not in PROCEDURES:
                    return None
                return Enclosing(owner, parse_scope(data, record.at, end), chunks[parent], record.fields["offset"])
    return None if best is None else Enclosing(parse_scope(data, best.at, end), None, 0, best.fields["offset"])


def _rank(procedure: CodeViewRecord) -> tuple[int, str]:
    return procedure.fields["offset"], procedure.name


def covering_code(scope: Scope, chunk: int, delta: int, size: int) -> InlineLine | None:
    """Return the entry of an inlined call that covers a place, or None.

    Args:
        scope: The inlined call.
        chunk: The procedure (0) or its n-th block of separated code.
        delta: Offset in the chunk.
        size: Size of the chunk, at which an entry without end ends.
    """
    for entry in scope.code:
        stop = size if entry.end is None else entry.end
        if entry.chunk == chunk and entry.start <= delta < stop:
            return entry
    return None


def path_to(around: Enclosing, section: int, offset: int) -> list[tuple[Scope, InlineLine | None]]:
    """Return the scopes that cover a place, outermost first, with the line entry of each inlined call."""
    size = around.root.size
    delta = offset - around.start
    path: list[tuple[Scope, InlineLine | None]] = [(around.procedure, None)]
    if around.separated is not None:
        path.append((around.separated, None))
    children = around.root.children
    while children:
        for child in children:
            if child.record.kind in INLINE_SITES:
                entry = covering_code(child, around.chunk, delta, size)
                if entry is not None:
                    path.append((child, entry))
                    children = child.children
                    break
            elif child.record.kind == S_BLOCK32 and child.covers(section, offset):
                path.append((child, None))
                children = child.children
                break
        else:
            break
    return path
