"""The symbol engine: modules of a target, and the symbols of each.

Symbols are looked for when they are first needed, module by module, on disk only: PDB by the identity in the image's
debug directory, ISF by the same identity, then whatever evidence the NT layer offers for the kernel, then the image's
exports. Each module remembers what was found and why.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kdive.errors import AmbiguousSymbolError, FormatError, KdiveError, SymbolNotFoundError
from kdive.record import Record, field
from kdive.symbols.images import Module, ModuleImage, open_image_file
from kdive.symbols.interface import wildcard
from kdive.symbols.isf import open_isf
from kdive.symbols.types import StructType, resolved
from kdive.symbols.wanted import WantedFile, image_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from kdive.formats.pe.image import PdbIdentity, PeImage
    from kdive.memory.interface import Memory
    from kdive.symbols.catalogue import IsfCatalogue
    from kdive.symbols.interface import ModuleSymbols, Symbol
    from kdive.symbols.store import SymbolStore
    from kdive.symbols.types import Type


class ModuleState(Record):
    """What the engine knows of a module.

    Attributes:
        module: The module.
        image: Its bytes.
        symbols: Its symbols, None if there are none or they were not looked for yet.
        loaded: Whether symbols have been looked for.
        identity: Which PDB belongs to it, if known.
        evidence: How the symbols were matched, for the user.
        problems: Why better symbols were not used.
        wanted: The file to get, if symbols are missing.
    """

    module: Module
    image: ModuleImage
    symbols: ModuleSymbols | None = None
    loaded: bool = False
    identity: PdbIdentity | None = None
    evidence: str = ""
    problems: list[str] = field(default_factory=list[str])
    wanted: WantedFile | None = None

    @property
    def status(self) -> str:
        """One word as ``lm`` shows it: deferred, pdb, isf, export or no symbols."""
        if not self.loaded:
            return "deferred"
        if self.symbols is None:
            return "no symbols"
        return {"pdb": "pdb symbols", "isf": "isf symbols", "exports": "export symbols"}[self.symbols.kind]


class Nearest(Record, frozen=True):
    """The symbol at or below an address."""

    module: Module
    symbol: Symbol | None
    displacement: int

    @property
    def name(self) -> str:
        """The symbol's qualified name as shown: ``nt!KeBugCheckEx``; the module's alone without a symbol.

        ISF files keep decorated C++ names; they are undecorated here, for the eye only.
        """
        if self.symbol is None:
            return self.module.name
        name = self.symbol.name
        if name.startswith("?"):
            from kdive.symbols.demangle import undecorate

            name = undecorate(name)
        return f"{self.module.name}!{name}"

    def text(self, *, displacement: bool = True) -> str:
        """Write as WinDbg does: ``nt!KeBugCheckEx+0x5``, or ``amdppm+0x334c`` without a symbol."""
        name = self.name
        if self.displacement and displacement:
            return f"{name}+{self.displacement:#x}"
        return name


class SymbolEngine:
    """Modules and their symbols.

    Args:
        memory: The target's memory (image headers are read from it).
        store: The symbol path.
        catalogue: The ISF files at hand.
        index_cache: Folder for symbol indexes; None keeps them in memory.
    """

    def __init__(
        self, memory: Memory, store: SymbolStore, catalogue: IsfCatalogue, index_cache: Path | None = None
    ) -> None:
        self.memory = memory
        self.store = store
        self.catalogue = catalogue
        self._index_cache = index_cache
        self._states: list[ModuleState] = []
        self._bases: list[int] = []
        self._by_name: dict[str, ModuleState] = {}
        self._arrived = 0
        self._listed: list[Module] = []
        self._added: list[Module] = []
        self.accept_mismatched = False
        """Take a PDB of the right name and the wrong identity (``.reload /i``)."""
        self.trace: Callable[[str], None] | None = None
        """Told of each file that is looked at (``!sym noisy``)."""
        self.kernel_matcher: Callable[[Module], tuple[ModuleSymbols, str] | None] | None = None
        """Finds the kernel's symbols by evidence when its identity is unknown; set by the NT layer."""

    def set_modules(self, modules: Iterable[Module]) -> None:
        """Replace the target's own module list; what stays keeps its symbols, and so do modules that were added."""
        self._listed = list(modules)
        self._arrange()

    def add_modules(self, modules: Iterable[Module]) -> None:
        """Add modules that the target's own list does not have: of user space, or named by the user.

        One that overlaps an added one replaces it; the target's own stay.
        """
        for module in modules:
            self._added = [other for other in self._added if other.end <= module.base or module.end <= other.base]
            self._added.append(module)
        self._arrange()

    def drop_added(self) -> None:
        """Forget the modules that were added."""
        self._added.clear()
        self._arrange()

    def _arrange(self) -> None:
        taken = [(module.base, module.end) for module in self._listed]
        added = [
            module for module in self._added if not any(base < module.end and module.base < end for base, end in taken)
        ]
        modules = [*self._listed, *added]
        known = {(state.module.base, state.module.timestamp, state.module.size): state for state in self._states}
        states: list[ModuleState] = []
        for module in modules:
            state = known.get((module.base, module.timestamp, module.size))
            states.append(state or self._new_state(module))
        self._states = sorted(states, key=lambda state: state.module.base)
        self._bases = [state.module.base for state in self._states]
        self._by_name = {}
        # The target's own modules come first: a name of user space never hides one of the kernel's.
        for module in modules:
            self._by_name.setdefault(module.name.lower(), self._states[bisect_right(self._bases, module.base) - 1])

    def _new_state(self, module: Module) -> ModuleState:
        return ModuleState(module, ModuleImage(module, self.memory, lambda: self._image_file(module)))

    @property
    def modules(self) -> list[Module]:
        """All modules by ascending base."""
        return [state.module for state in self._states]

    @property
    def states(self) -> list[ModuleState]:
        """All modules with what is known of their symbols."""
        return self._states

    def module_at(self, address: int) -> Module | None:
        """The module that contains an address."""
        state = self.state_at(address)
        return None if state is None else state.module

    def state_at(self, address: int) -> ModuleState | None:
        """The state of the module that contains an address."""
        index = bisect_right(self._bases, address) - 1
        if index < 0:
            return None
        state = self._states[index]
        return state if state.module.contains(address) else None

    def image_at(self, address: int) -> ModuleImage | None:
        """The image bytes of the module that contains an address."""
        state = self.state_at(address)
        return None if state is None else state.image

    def state_named(self, name: str) -> ModuleState | None:
        """The module of a name (``nt``, ``amdppm``, also with its extension), in any case."""
        lower = name.lower()
        found = self._by_name.get(lower)
        if found is None:
            found = next((state for state in self._states if state.module.image_name.lower() == lower), None)
        return found

    def _image_file(self, module: Module) -> PeImage | None:
        if not module.timestamp:
            return None
        wanted = WantedFile(module.image_name, image_key(module.timestamp, module.size))
        for path in self.store.find(wanted):
            try:
                image = open_image_file(path)
            except FormatError:
                continue
            if image.timestamp == module.timestamp and image.image_size == module.size:
                return image
        return None

    def symbols_of(self, state: ModuleState) -> ModuleSymbols | None:
        """Return the module's symbols, looking for them the first time."""
        if self.store.fetcher is not None and self.store.fetcher.arrived != self._arrived:
            self._arrived = self.store.fetcher.arrived
            for other in self._states:
                if other.wanted is not None:
                    other.loaded = False
        if not state.loaded:
            state.loaded = True
            self._load(state)
        return state.symbols

    def reload(self, state: ModuleState) -> None:
        """Forget the module's symbols, so that they are looked for again."""
        fresh = self._new_state(state.module)
        state.image, state.symbols, state.loaded = fresh.image, None, False
        state.identity, state.evidence, state.wanted = None, "", None
        state.problems.clear()

    def _load(self, state: ModuleState) -> None:
        state.problems.clear()
        state.symbols = None
        state.wanted = None
        headers = state.image.headers
        state.identity = headers.pdb_identity if headers is not None else None
        finders = (self._by_pdb, self._by_isf, self._by_evidence, self._by_exports)
        for finder in finders:
            try:
                found = finder(state)
            except KdiveError as error:
                state.problems.append(str(error))
                continue
            if found is not None:
                state.symbols = found
                break
        self._tell(state)
        if state.symbols is None or state.symbols.kind == "exports":
            self._want(state)

    def _tell(self, state: ModuleState) -> None:
        if self.trace is None:
            return
        for problem in state.problems:
            self.trace(f"{state.module.name}: {problem}")
        found = f"{state.symbols.path} - {state.status}" if state.symbols is not None else state.status
        self.trace(f"{state.module.name}: {found}")

    def _want(self, state: ModuleState) -> None:
        module = state.module
        if state.identity is not None:
            state.wanted = WantedFile(state.identity.file_name, state.identity.key)
        elif module.timestamp:
            state.wanted = WantedFile(module.image_name, image_key(module.timestamp, module.size))
        if state.wanted is not None:
            self.store.request(state.wanted)

    def _by_pdb(self, state: ModuleState) -> ModuleSymbols | None:
        identity = state.identity
        if identity is None:
            return self._by_pdb_name(state) if self.accept_mismatched else None
        from kdive.symbols.pdb import PdbSymbols

        for path in self.store.find(WantedFile(identity.file_name, identity.key), state.problems):
            try:
                symbols = PdbSymbols.open(path)
            except KdiveError as error:
                state.problems.append(str(error))
                continue
            if symbols.guid == identity.guid and symbols.age >= identity.age:
                state.evidence = f"PDB identity {identity.guid} age {identity.age:x}"
                return symbols
            mismatch = (
                f"{path}: mismatched, the image wants {identity.guid} age {identity.age:x}, "
                f"the file is {symbols.guid} age {symbols.age:x}"
            )
            if self.accept_mismatched:
                state.evidence = f"mismatched, taken because you asked for it: {mismatch}"
                return symbols
            state.problems.append(mismatch)
        return None

    def _by_pdb_name(self, state: ModuleState) -> ModuleSymbols | None:
        """Take a PDB that is called like the image: its identity cannot be known, and the user wants it."""
        from kdive.symbols.pdb import PdbSymbols

        name = f"{state.module.image_name.rsplit('.', 1)[0]}.pdb"
        for path in self.store.find(WantedFile(name, "")):
            symbols = PdbSymbols.open(path)
            state.evidence = "the file's name only, because you asked for it"
            return symbols
        return None

    def _by_isf(self, state: ModuleState) -> ModuleSymbols | None:
        identity = state.identity
        if identity is None:
            return None
        path = self.catalogue.by_identity(identity.guid, identity.age)
        if path is None:
            return None
        state.evidence = f"PDB identity {identity.guid} age {identity.age:x}"
        return open_isf(path, self._index_cache)

    def _by_evidence(self, state: ModuleState) -> ModuleSymbols | None:
        if self.kernel_matcher is None or state.module.name != "nt":
            return None
        found = self.kernel_matcher(state.module)
        if found is None:
            return None
        state.evidence = found[1]
        return found[0]

    def _by_exports(self, state: ModuleState) -> ModuleSymbols | None:
        image = state.image.file or state.image.headers
        if image is None:
            return None
        from kdive.symbols.exports import ExportSymbols

        symbols = ExportSymbols(image)
        if symbols.nearest(state.module.size) is None:
            return None
        state.evidence = "the image's export directory"
        return symbols

    def nearest(self, address: int) -> Nearest | None:
        """Return the symbol at or below an address; None outside every module."""
        state = self.state_at(address)
        if state is None:
            return None
        rva = address - state.module.base
        symbols = self.symbols_of(state)
        symbol = symbols.nearest(rva) if symbols is not None else None
        if symbol is None:
            return Nearest(state.module, None, rva)
        return Nearest(state.module, symbol, rva - symbol.rva)

    def name_of(self, address: int) -> str | None:
        """Return ``mod!name+0x…`` for an address, or None outside every module."""
        found = self.nearest(address)
        return None if found is None else found.text()

    def find(self, name: str) -> list[tuple[Module, Symbol]]:
        """Return every symbol of a name, qualified (``nt!KeBugCheckEx``) or not.

        An unqualified name is looked for in the kernel first, then in modules whose symbols are loaded already: looking
        into every module would load all their symbols.
        """
        module_name, bang, symbol_name = name.partition("!")
        if bang:
            state = self.state_named(module_name)
            states = [] if state is None else [state]
        else:
            symbol_name = name
            kernel = self._by_name.get("nt")
            states = [kernel] if kernel is not None else []
            states += [state for state in self._states if state is not kernel and state.symbols is not None]
        found: list[tuple[Module, Symbol]] = []
        for state in states:
            symbols = self.symbols_of(state)
            symbol = symbols.lookup(symbol_name) if symbols is not None else None
            if symbol is not None:
                found.append((state.module, symbol))
        return found

    def address_of(self, name: str) -> int:
        """Return the address of a symbol.

        Raises:
            SymbolNotFoundError: There is none.
            AmbiguousSymbolError: Several modules have one and the name is not qualified.
        """
        found = self.find(name)
        if not found:
            raise SymbolNotFoundError(f"no symbol {name}")
        if len(found) > 1 and found[0][0].name != "nt":
            places = ", ".join(f"{module.name}!{symbol.name}" for module, symbol in found)
            raise AmbiguousSymbolError(f"{name} is ambiguous: {places}")
        module, symbol = found[0]
        return module.base + symbol.rva

    def search(self, pattern: str) -> Iterator[tuple[Module, Symbol]]:
        """Yield symbols that match ``modpattern!namepattern`` (WinDbg wildcards)."""
        module_pattern, bang, name_pattern = pattern.partition("!")
        if not bang:
            module_pattern, name_pattern = "*", pattern
        matcher = wildcard(module_pattern)
        for state in self._states:
            if not matcher.fullmatch(state.module.name):
                continue
            symbols = self.symbols_of(state)
            if symbols is not None:
                for symbol in symbols.search(name_pattern):
                    yield state.module, symbol

    def _states_for(self, module_name: str) -> list[ModuleState]:
        if module_name:
            state = self.state_named(module_name)
            return [] if state is None else [state]
        kernel = self._by_name.get("nt")
        rest = [state for state in self._states if state is not kernel and state.symbols is not None]
        return rest if kernel is None else [kernel, *rest]

    def find_type(self, name: str) -> tuple[Module, Type] | None:
        """Return a type by name (``nt!_EPROCESS`` or ``_EPROCESS``), from the kernel first."""
        module_name, bang, type_name = name.partition("!")
        if not bang:
            module_name, type_name = "", name
        for state in self._states_for(module_name):
            symbols = self.symbols_of(state)
            found = symbols.find_type(type_name) if symbols is not None else None
            if found is not None:
                return state.module, found
        return None

    def struct_type(self, name: str) -> StructType:
        """Return the layout of a structure.

        Raises:
            SymbolNotFoundError: No module's symbols have it.
        """
        found = self.find_type(name)
        layout = resolved(found[1]) if found is not None else None
        if not isinstance(layout, StructType):
            raise SymbolNotFoundError(
                f"no layout of {name}", hint="kernel types need the kernel's PDB or ISF file: --sympath or --isf"
            )
        return layout
