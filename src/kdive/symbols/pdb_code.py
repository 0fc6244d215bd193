"""What a PDB says about code: source lines, inlined calls, parameters and local variables.

Everything comes from the stream of the one module that an address belongs to, read when first asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.formats.pdb.items import Function, item
from kdive.formats.pdb.kinds import INLINE_SITES, S_REGREL32
from kdive.formats.pdb.lines import LINE_MASK, ModuleLines
from kdive.formats.pdb.scopes import enclosing, path_to
from kdive.formats.pdb.tpi import FIRST_INDEX
from kdive.symbols.interface import InlineFrame, LocalVariable, SourceFile, SourceLine, UnavailablePlace
from kdive.symbols.pdb_places import parameter, placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.formats.pdb.annotations import InlineLine
    from kdive.formats.pdb.file import PdbFile
    from kdive.formats.pdb.scopes import Enclosing, Scope
    from kdive.symbols.pdb_types import TypeBuilder


def _folded(path: str) -> str:
    return path.replace("/", "\\").lower()


class PdbCode:
    """Lines, inlined calls and variables of a PDB.

    Args:
        file: The PDB.
        builder: Builds the types of variables; None if the file has no types.
    """

    def __init__(self, file: PdbFile, builder: TypeBuilder | None) -> None:
        self._file = file
        self._builder = builder
        self._lines: dict[int, ModuleLines | None] = {}
        self._sources: dict[tuple[ModuleLines, int], SourceFile | None] = {}
        self._around: dict[tuple[int, int], Enclosing | None] = {}

    # -- lines ---------------------------------------------------------------------------------------------------

    def lines_of(self, module: int) -> ModuleLines | None:
        """Return the lines of a module by its 0-based number, None if it has none or they are broken."""
        if module not in self._lines:
            try:
                self._lines[module] = ModuleLines(self._file.module_lines(module))
            except FormatError:
                self._lines[module] = None
        return self._lines[module]

    def _source(self, lines: ModuleLines, file: int) -> SourceFile | None:
        key = (lines, file)
        if key not in self._sources:
            entry = lines.files.get(file)
            self._sources[key] = (
                SourceFile(self._file.strings.get(entry.name), entry.checksum_kind, entry.checksum) if entry else None
            )
        return self._sources[key]

    def _module_at(self, rva: int) -> tuple[int, int, int] | None:
        """``(module, section, offset)`` of an address."""
        place = self._file.addresses.place(rva)
        dbi = self._file.dbi
        if place is None or dbi is None:
            return None
        module = dbi.module_at(*place)
        return None if module is None else (module, *place)

    def line(self, rva: int) -> SourceLine | None:
        """Return the source line of ``rva``, or None where the file records none."""
        try:
            return self._line(rva)
        except FormatError:
            return None

    def _line(self, rva: int) -> SourceLine | None:
        where = self._module_at(rva)
        lines = self.lines_of(where[0]) if where is not None else None
        if where is None or lines is None:
            return None
        span = lines.find(*where[1:])
        source = self._source(lines, span.file) if span is not None else None
        if span is None or source is None:
            return None
        start = self._file.addresses.rva(span.section, span.start)
        return SourceLine(source.path, span.line, span.last_line, start, span.end - span.start, source)

    def source_files(self) -> Iterator[SourceFile]:
        """Yield the source files of all modules, each once."""
        seen: set[SourceFile] = set()
        for module in range(len(self._file.dbi.modules) if self._file.dbi is not None else 0):
            lines = self.lines_of(module)
            try:
                files = list(lines.files) if lines is not None else []
                sources = [self._source(lines, file) for file in files] if lines is not None else []
            except FormatError:
                continue
            for source in sources:
                if source is not None and source not in seen:
                    seen.add(source)
                    yield source

    def all_lines(self) -> Iterator[tuple[SourceFile, list[int], list[int]]]:
        """Yield all lines of all modules in columns: a file, the RVAs of its entries, and their line numbers.

        Raises:
            FormatError: A line table is cut short.
        """
        rva_of = self._file.addresses.rva
        moved = self._file.addresses.rearranged
        bases = [rva_of(section, 0) for section in range(len(self._file.addresses.sections) + 1)]
        for module in range(len(self._file.dbi.modules) if self._file.dbi is not None else 0):
            lines = self.lines_of(module)
            if lines is None:
                continue
            sources: dict[int, SourceFile | None] = {}
            for section, start, _, file, offsets, packed in lines.blocks:
                if file not in sources:
                    sources[file] = self._source(lines, file)
                source = sources[file]
                base = bases[section] if section < len(bases) else None
                if source is None or (base is None and not moved):
                    continue
                if moved or base is None:
                    places = [rva_of(section, start + offset) or 0 for offset in offsets]
                else:
                    base += start
                    places = [base + offset for offset in offsets.tolist()]
                yield source, places, [value & LINE_MASK for value in packed.tolist()]

    @cached_property
    def _modules_by_file(self) -> dict[str, tuple[int, ...]]:
        """The modules that have lines of a source file, by its folded path."""
        dbi = self._file.dbi
        found: dict[str, list[int]] = {}
        for module, names in enumerate(dbi.source_files() if dbi is not None else ()):
            for name in names:
                found.setdefault(_folded(name), []).append(module)
        return {name: tuple(modules) for name, modules in found.items()}

    def addresses(self, file: str, line: int) -> tuple[int, ...]:
        """Return the RVAs at which code of a source line starts, ascending; inlined code too."""
        wanted = _folded(file)
        tail = "\\" + wanted.lstrip("\\")
        modules = {
            module
            for name, numbers in self._modules_by_file.items()
            if name == wanted or name.endswith(tail)
            for module in numbers
        }
        found: set[int] = set()
        for module in sorted(modules):
            try:
                found.update(self._addresses_in(module, wanted, tail, line))
            except FormatError:
                continue
        return tuple(sorted(found))

    def _addresses_in(self, module: int, wanted: str, tail: str, line: int) -> Iterator[int]:
        lines = self.lines_of(module)
        for number, entry in lines.files.items() if lines is not None else ():
            name = _folded(self._file.strings.get(entry.name))
            if lines is None or (name != wanted and not name.endswith(tail)):
                continue
            for span in lines.spans(number, line):
                rva = self._file.addresses.rva(span.section, span.start)
                if rva is not None:
                    yield rva

    # -- scopes --------------------------------------------------------------------------------------------------

    def _enclosing(self, module: int, section: int, offset: int) -> Enclosing | None:
        key = (section, offset)
        if key not in self._around:
            data, end = self._file.module_symbols(module)
            if len(self._around) > 64:
                self._around.clear()
            self._around[key] = enclosing(data, end, section, offset)
        return self._around[key]

    def _path(self, rva: int) -> tuple[int, Enclosing, list[tuple[Scope, InlineLine | None]], tuple[int, int]] | None:
        where = self._module_at(rva)
        if where is None:
            return None
        module, section, offset = where
        around = self._enclosing(module, section, offset)
        if around is None:
            return None
        return module, around, path_to(around, section, offset), (section, offset)

    def _own_index(self, index: int, module: int) -> int:
        """The index in the IPI stream of an item that a module may have imported from another."""
        lines = self.lines_of(module)
        origin = lines.imported(index) if lines is not None else None
        if origin is None:
            return index
        name, number = self._file.strings.get(origin[0]), origin[1]
        for other, info in enumerate(self._file.dbi.modules if self._file.dbi is not None else ()):
            if _folded(info.name) == _folded(name):
                exporter = self.lines_of(other)
                return exporter.exports.get(number, 0) if exporter is not None else 0
        return 0

    def function_name(self, index: int, module: int) -> str:
        """Return the qualified name of an inlined function.

        Args:
            index: Its item index.
            module: The module that has the inlined call.

        Raises:
            FormatError: The item is missing or broken.
        """
        items = self._file.items
        index = self._own_index(index, module)
        if items is None or index < FIRST_INDEX:
            return f"<function {index:#x}>"
        found = item(items, index)
        if not isinstance(found, Function):
            return f"<function {index:#x}>"
        scope = ""
        if found.scope:
            from kdive.formats.pdb.items import text_of

            scope = text_of(items, found.scope)
        elif found.owner and self._builder is not None:
            scope = getattr(self._builder.type(found.owner), "name", "")
        return f"{scope}::{found.name}" if scope else found.name

    def inline_frames(self, rva: int) -> tuple[InlineFrame, ...]:
        """Return the inlined calls around ``rva``, the innermost first.

        Raises:
            FormatError: The records of the procedure are broken.
        """
        found = self._path(rva)
        if found is None:
            return ()
        module, around, path, _ = found
        frames: list[InlineFrame] = []
        call_line = self.line(rva)
        for scope, entry in path:
            if entry is None:
                continue
            line = self._inline_line(module, around, scope, entry)
            frames.append(InlineFrame(self.function_name(scope.record.fields["inlinee"], module), line, call_line))
            call_line = line
        frames.reverse()
        return tuple(frames)

    def _inline_line(self, module: int, around: Enclosing, scope: Scope, entry: InlineLine) -> SourceLine | None:
        lines = self.lines_of(module)
        known = lines.inlinees.get(scope.record.fields["inlinee"], ()) if lines is not None else ()
        if lines is None or len(known) != 1:  # several: nothing tells which of them this call is of
            return None
        inlinee = known[0]
        source = self._source(lines, inlinee.file if entry.file is None else entry.file)
        if source is None:
            return None
        start = self._file.addresses.rva(around.root.section, around.start + entry.start)
        size = 0 if entry.end is None else entry.end - entry.start
        return SourceLine(source.path, inlinee.line + entry.line, 0, start, size, source)

    def locals(self, rva: int) -> tuple[LocalVariable, ...]:
        """Return the parameters and variables in scope at ``rva``.

        Raises:
            FormatError: The records of the procedure are broken.
        """
        found = self._path(rva)
        if found is None:
            return ()
        module, around, path, place = found
        name = around.procedure.record.name
        variables: list[LocalVariable] = []
        for scope, _ in path:
            if scope.record.kind in INLINE_SITES:
                name = self.function_name(scope.record.fields["inlinee"], module)
            for variable in scope.variables:
                record = variable.record
                if not record.name:  # data of the compiler's own
                    continue
                try:
                    index = self._own_index(record.fields["type_index"], module)
                    type_ = self._builder.type(index) if self._builder is not None and index else None
                except FormatError:
                    type_ = None
                where = placed(self._file, variable, around.procedure.frame, *place)
                is_parameter = parameter(self._file, variable, around.procedure.frame)
                found_variable = LocalVariable(record.name, type_, where, is_parameter, name)
                if record.kind == S_REGREL32 and _has_home(variables, found_variable):
                    continue
                variables.append(found_variable)
        return tuple(variables)


def _has_home(variables: list[LocalVariable], home: LocalVariable) -> bool:
    """Whether a variable is there already, to which this record only adds the place on the stack where it is kept.

    MSVC writes both records for parameters of optimised code. The place on the stack holds for the whole function, so
    it stands in where the other record names none.
    """
    for index, known in enumerate(variables):
        if (known.name, known.function, known.parameter) == (home.name, home.function, home.parameter):
            if isinstance(known.place, UnavailablePlace):
                variables[index] = home
            return True
    return False
