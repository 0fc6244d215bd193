"""Loading symbols, and saying how well they match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kdive.commands.results.reload import Reloaded, SymbolCheck
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.symbols.images import Module
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.symbols.engine import ModuleState
    from kdive.symbols.interface import ModuleSymbols

_DOWNLOAD_WAIT = 120.0
_MAX_MODULE = 1 << 31


def _load(context: CommandContext, states: list[ModuleState], *, wait: bool) -> Reloaded:
    session = context.session
    for state in states:
        context.cancel.check()
        session.engine.symbols_of(state)
    messages: list[str] = []
    pending = 0
    if session.fetcher is not None and wait:
        seen = len(session.fetcher.messages)
        session.fetcher.wait(_DOWNLOAD_WAIT, context.cancel)
        messages = session.fetcher.messages[seen:]
        for state in states:
            session.engine.symbols_of(state)
    if session.fetcher is not None:
        pending = session.fetcher.pending
    outcome: list[tuple[str, str]] = []
    for state in states:
        text = state.status if not state.evidence else f"{state.status} ({state.evidence})"
        if state.wanted is not None:
            text += f"; {session.store.advice(state.wanted)}"
        outcome.append((state.module.name, text))
    return Reloaded(outcome, messages, pending)


def _matching(context: CommandContext, pattern: str) -> list[ModuleState]:
    matcher = wildcard(pattern)
    states = [
        state
        for state in context.session.engine.states
        if matcher.fullmatch(state.module.name) or matcher.fullmatch(state.module.image_name)
    ]
    if not states:
        raise CommandError(f"no module matches {pattern!r}", hint="lm lists the modules")
    return states


def _named_module(context: CommandContext, argument: str) -> Module:
    """Read ``name=base,size``, a module that the target does not list."""
    name, _, place = argument.partition("=")
    base_text, comma, size_text = place.partition(",")
    if not name or not base_text:
        raise context.usage_error("a module is given as name=base,size")
    base = context.evaluate(base_text)
    size = context.evaluate(size_text) if comma else 0
    timestamp = 0
    try:
        from kdive.symbols.images import MemoryImage

        headers = MemoryImage(lambda rva, length: context.session.memory.read_prefix(base + rva, length), name)
        size, timestamp = size or headers.image_size, headers.timestamp
    except KdiveError:
        if not size:
            raise CommandError(
                f"no image headers at {base:#x}, so the size is needed", hint=f".reload {name}={base:x},<size>"
            ) from None
    if not 0 < size < _MAX_MODULE:
        raise CommandError(f"a module of {size:#x} bytes")
    stem = name.rsplit(".", 1)[0] if "." in name else name
    return Module(stem, name, name, base, size, timestamp)


def _load_user_modules(context: CommandContext) -> list[Module]:
    from kdive.nt.user_modules import user_modules
    from kdive.symbols.views import Struct

    session = context.session
    process = session.process
    if process is None or not process.peb:
        raise CommandError("the process in scope has no user space", hint=".process <address or id> chooses another")
    kernel = session.kernel
    memory = session.process_memory(process)
    peb = Struct(memory, process.peb, kernel.type("_PEB"))
    loader = Struct(memory, peb["Ldr"], kernel.type("_PEB_LDR_DATA"))
    modules = list(user_modules(memory, loader, kernel.type("_LDR_DATA_TABLE_ENTRY")))
    session.engine.drop_added()
    session.engine.add_modules(modules)
    return modules


@command(
    ".reload",
    syntax="[/f] [/v] [/i] [/u] [/user] [<module> | <module>=<base>[,<size>]]",
    group=Group.SYMBOLS,
    summary="look for symbols again; /f loads them now and waits for downloads",
    details=(
        "/v shows the outcome for each module, /i takes a PDB of the right name even if its identity differs, /user "
        "adds the images of the process in scope, /u forgets symbols and added modules. name=base,size adds a module "
        "that the target does not list."
    ),
    examples=(".reload /f nt", ".reload /user", ".reload hidden.sys=fffff80012340000,9000"),
)
def reload(context: CommandContext, arguments: str) -> Reloaded:
    """Reload symbols."""
    session, engine = context.session, context.session.engine
    words = arguments.split()
    flags = {word.lower() for word in words if word.startswith("/")}
    names = [word for word in words if not word.startswith("/")]
    unknown = flags - {"/f", "/v", "/i", "/n", "/u", "/user", "/s"}
    if unknown:
        raise context.usage_error(f"unknown switch {min(unknown)!r}")
    if len(names) > 1:
        raise context.usage_error("one module is taken at a time")
    if session.fetcher is not None:
        session.fetcher.retry()
    if "/u" in flags:
        engine.drop_added()
    added: list[Module] = []
    if "/user" in flags:
        added = _load_user_modules(context)
    elif names and "=" in names[0]:
        added = [_named_module(context, names[0])]
        engine.add_modules(added)
    states = engine.states
    if added:
        bases = {module.base for module in added}
        states = [state for state in engine.states if state.module.base in bases]
    elif names:
        states = _matching(context, names[0])
    elif "/f" not in flags:
        session.kernel.refresh_modules()
        states = engine.states
    for state in states:
        engine.reload(state)
    session.scope.drop_stack()
    if not flags & {"/f", "/v"} and not names and not added:
        return Reloaded([])
    engine.accept_mismatched = "/i" in flags
    try:
        return _load(context, states, wait="/f" in flags)
    finally:
        engine.accept_mismatched = False


@command("ld", syntax="<module>", group=Group.SYMBOLS, summary="load a module's symbols now")
def ld(context: CommandContext, arguments: str) -> Reloaded:
    """Load symbols."""
    if not arguments:
        raise context.usage_error("a module is needed")
    return _load(context, _matching(context, arguments.split()[0]), wait=False)


@command(
    "!chksym",
    syntax="<module or address> [<symbol file>]",
    group=Group.SYMBOLS,
    summary="check whether symbols belong to an image",
    examples=("!chksym nt", "!chksym mydriver /build/mydriver.pdb"),
)
def chksym(context: CommandContext, arguments: str) -> SymbolCheck:
    """Compare identities."""
    words = arguments.split(maxsplit=1)
    if not words:
        raise context.usage_error("a module is needed")
    engine = context.session.engine
    state = engine.state_named(words[0]) or engine.state_at(context.evaluate(words[0]))
    if state is None:
        raise CommandError(f"no module {words[0]!r}", hint="lm lists the modules")
    symbols: ModuleSymbols | None = engine.symbols_of(state)
    notes = list(state.problems)
    if len(words) > 1:
        from kdive.symbols.pdb import PdbSymbols

        symbols, notes = PdbSymbols.open(Path(words[1].strip('"')).expanduser()), []
    module, wanted = state.module, state.identity
    found = symbols.identity if symbols is not None else None
    matches = None
    if wanted is not None and found is not None:
        matches = found[0] == wanted.guid and found[1] >= wanted.age
    if state.evidence and len(words) == 1:
        notes.append(f"matched by: {state.evidence}")
    if state.wanted is not None and matches is not True:
        notes.append(context.session.store.advice(state.wanted))
    return SymbolCheck(
        module.name,
        module.image_name,
        module.base,
        module.timestamp,
        module.size,
        module.checksum,
        (wanted.file_name, wanted.guid, wanted.age) if wanted is not None else None,
        symbols.path if symbols is not None else "",
        found,
        matches,
        notes,
    )


@command(
    "!sym",
    syntax="[noisy | quiet]",
    group=Group.SYMBOLS,
    summary="show or set whether looking for symbols is told of",
)
def sym(context: CommandContext, arguments: str) -> str:
    """Set noisiness."""
    engine = context.session.engine
    wanted = arguments.strip().lower()
    if wanted not in ("", "noisy", "quiet"):
        raise context.usage_error("noisy or quiet")
    if wanted:
        engine.trace = context.dispatcher.write if wanted == "noisy" else None
    return f"{'noisy' if engine.trace is not None else 'quiet'} mode"
