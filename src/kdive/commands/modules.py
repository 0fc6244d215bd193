"""Modules: lists, details and headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.addr import USER_SPACE_END
from kdive.commands.results.modules import (
    HeaderSection,
    ImageHeaders,
    ModuleInfo,
    ModuleList,
    ModuleRow,
    UnloadedRow,
)
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, FormatError, KdiveError
from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_ARM64, MACHINE_ARMNT, MACHINE_I386, PeImage
from kdive.symbols.interface import wildcard

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.session import Session
    from kdive.symbols.engine import ModuleState

_MACHINES = {MACHINE_AMD64: "X64", MACHINE_ARM64: "ARM64", MACHINE_I386: "I386", MACHINE_ARMNT: "ARM"}
_DIRECTORIES = (
    "Export",
    "Import",
    "Resource",
    "Exception",
    "Security",
    "Base Relocation",
    "Debug",
    "Description",
    "Special",
    "Thread Storage",
    "Load Configuration",
    "Bound Import",
    "Import Address Table",
    "Delay Import",
    "COR20 Header",
    "Reserved",
)


def _version(state: ModuleState) -> dict[str, str]:
    from kdive.formats.pe.resources import version_info

    for image in (state.image.headers, state.image.file):
        if image is None:
            continue
        try:
            info = version_info(image)
        except FormatError:
            continue
        if info is not None:
            pairs = {"File version": info.file_version, "Product version": info.product_version}
            return pairs | {name: text for name, text in info.strings.items() if text}
    return {}


def module_row(session: Session, state: ModuleState, *, details: bool = False) -> ModuleRow:
    """Describe a module; details load its symbols and read its version resource."""
    if details:
        session.engine.symbols_of(state)
    module = state.module
    advice = session.store.advice(state.wanted) if details and state.wanted is not None else ""
    return ModuleRow(
        module.name,
        module.image_name,
        module.path,
        module.base,
        module.end,
        state.status,
        state.symbols.path if state.symbols is not None else "",
        state.evidence,
        module.timestamp,
        module.checksum,
        list(state.problems),
        advice,
        _version(state) if details else {},
    )


def _parse_lm(context: CommandContext, arguments: str) -> tuple[set[str], str, int | None]:
    """Split ``lm``'s options, pattern and address; options may be glued to the name (``lmvm nt``)."""
    options: set[str] = set()
    pattern, address = "*", None
    glued = re.match(r"[a-zA-Z0-9]+(?=\s|$)", arguments)
    rest = arguments
    if glued and set(glued.group()) <= set("vmtaukn1olf"):
        options |= set(glued.group()) - {"m", "a"}
        rest = arguments[glued.end() :].strip()
        if "m" in glued.group():
            return options, rest.split()[0] if rest else "*", None
        if "a" in glued.group():
            return options, "*", context.evaluate(rest)
    words = rest.split()
    while words:
        word = words.pop(0)
        if word == "m" and words:
            pattern = words.pop(0)
        elif word == "a" and words:
            address = context.evaluate(" ".join(words))
            break
        elif set(word) <= set("vtukn1olf") and len(word) <= 4:
            options |= set(word)
        else:
            pattern = word
    return options, pattern, address


@command(
    "lm",
    syntax="[v] [t] [k | u] [m <pattern>] [a <address>]",
    group=Group.SYMBOLS,
    summary="list modules; v shows details, t timestamps, m and a choose",
    details="Options may be glued: lmvm nt, lmkv. Without a choice the unloaded modules are listed too.",
    examples=("lm", "lmvm nt", "lm t", "lm a rip"),
    glued="vmtaukn1olf",
)
def lm(context: CommandContext, arguments: str) -> ModuleList:
    """List modules."""
    options, pattern, address = _parse_lm(context, arguments)
    return _list(context, options, pattern, address)


@command(
    "lmv",
    syntax="[m <pattern>] [a <address>]",
    group=Group.SYMBOLS,
    summary="list modules with details",
    examples=("lmv m amdppm",),
    glued="vmtaukn1olf",
)
def lmv(context: CommandContext, arguments: str) -> ModuleList:
    """List modules with details."""
    options, pattern, address = _parse_lm(context, arguments)
    return _list(context, options | {"v"}, pattern, address)


def _list(context: CommandContext, options: set[str], pattern: str, address: int | None) -> ModuleList:
    session = context.session
    states = session.engine.states
    if "u" in options and "k" not in options:
        states = [state for state in states if state.module.base < USER_SPACE_END]
    if "k" in options and "u" not in options:
        states = [state for state in states if state.module.base >= USER_SPACE_END]
    if address is not None:
        states = [state for state in states if state.module.contains(address)]
    matcher = wildcard(pattern)
    states = [
        state for state in states if matcher.fullmatch(state.module.name) or matcher.fullmatch(state.module.image_name)
    ]
    verbose = "v" in options
    rows: list[ModuleRow] = []
    for state in states:
        context.cancel.check()
        rows.append(module_row(session, state, details=verbose))
    unloaded: list[UnloadedRow] = []
    if address is None and "u" not in options and ("l" not in options):
        unloaded = [
            UnloadedRow(entry.name, entry.start, entry.end)
            for entry in session.kernel.unloaded_modules
            if matcher.fullmatch(entry.name)
        ]
    return ModuleList(rows, unloaded, verbose, "t" in options, "1" in options)


def find_module(context: CommandContext, text: str) -> ModuleState:
    """Find a module by name or by an address inside it.

    Raises:
        CommandError: There is no such module.
    """
    engine = context.session.engine
    state = engine.state_named(text)
    if state is None and text:
        try:
            state = engine.state_at(context.evaluate(text))
        except KdiveError as error:
            raise CommandError(f"no module {text!r}", hint="lm lists the modules") from error
    if state is None:
        raise CommandError(f"no module {text!r}", hint="lm lists the modules")
    return state


def _headers(state: ModuleState) -> PeImage | None:
    return state.image.headers or state.image.file


@command(
    "!lmi",
    syntax="<module> | <address>",
    group=Group.SYMBOLS,
    summary="show a module's identity and symbol status",
    examples=("!lmi amdppm",),
)
def lmi(context: CommandContext, arguments: str) -> ModuleInfo:
    """Show a module's identity."""
    if not arguments:
        raise context.usage_error("a module is needed")
    state = find_module(context, arguments)
    row = module_row(context.session, state, details=True)
    image = _headers(state)
    machine, characteristics = "", 0
    if image is not None:
        machine = f"{image.machine} ({_MACHINES.get(image.machine, 'unknown')})"
        characteristics = image.characteristics
    identity = state.identity
    pdb = f"CODEVIEW {identity.path} GUID {identity.guid} age {identity.age:x}" if identity is not None else ""
    file = state.image.file
    return ModuleInfo(row, machine, characteristics, pdb, file.buffer.name if file is not None else "")


@command(
    "!dh",
    syntax="[-f | -s | -a] <module> | <address>",
    group=Group.SYMBOLS,
    summary="show the headers of an image: -f file header only, -s sections only",
    examples=("!dh -s amdppm",),
)
def dh(context: CommandContext, arguments: str) -> ImageHeaders:
    """Show image headers."""
    words = arguments.split()
    flags = {word for word in words if word.startswith("-")}
    names = [word for word in words if not word.startswith("-")]
    if not names:
        raise context.usage_error("a module is needed")
    state = find_module(context, " ".join(names))
    image = _headers(state)
    if image is None:
        raise CommandError(
            f"the headers of {state.module.name} are neither in the target nor on the symbol path",
            hint=context.session.store.advice(state.wanted) if state.wanted is not None else None,
        )
    fields: list[tuple[str, str]] = []
    if "-s" not in flags:
        fields = [
            (f"machine ({_MACHINES.get(image.machine, 'unknown')})", f"{image.machine:X}"),
            ("number of sections", f"{len(image.sections):X}"),
            ("time date stamp", f"{image.timestamp:08X}"),
            ("characteristics", f"{image.characteristics:X}"),
            ("magic #", f"{image.magic:X}"),
            ("address of entry point", f"{image.entry_rva:X}"),
            ("image base", f"{image.image_base:016x}"),
            ("section alignment", f"{image.section_alignment:X}"),
            ("file alignment", f"{image.file_alignment:X}"),
            ("size of image", f"{image.image_size:X}"),
            ("size of headers", f"{image.headers_size:X}"),
            ("checksum", f"{image.checksum:X}"),
            ("subsystem", f"{image.subsystem:X}"),
            ("DLL characteristics", f"{image.dll_characteristics:X}"),
        ]
    directories = [(name, *image.directory(index)) for index, name in enumerate(_DIRECTORIES) if "-s" not in flags]
    sections = [
        HeaderSection(
            section.name,
            section.virtual_size,
            section.rva,
            section.raw_size,
            section.raw_offset,
            section.characteristics,
        )
        for section in image.sections
        if "-f" not in flags
    ]
    identity = image.pdb_identity
    pdb = f"{identity.path} {identity.guid} age {identity.age:x}" if identity is not None else ""
    return ImageHeaders(state.module.name, fields, directories, sections, pdb)
