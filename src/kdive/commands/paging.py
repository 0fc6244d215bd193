"""Page tables, and what an address belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64, USER_SPACE_END
from kdive.commands.results.paging import AddressUsage, PageWalk, PteLevel, VirtualAddresses
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.memory.paging import TranslatedMemory
from kdive.targets.base import Capability
from kdive.targets.live import LiveTarget

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.memory.paging import PageTables, Translation
    from kdive.session.session import Session

_MAX_VIRTUAL = 256
_FRAME = 0x000F_FFFF_FFFF_F000
_ORDER = {"PTE": 0, "PDE": 1, "PPE": 2, "PXE": 3, "P5E": 4}


def _pte_base(session: Session) -> int | None:
    """Where the kernel maps its own page tables (``nt!MmPteBase``); None if it does not say."""
    try:
        return session.memory.u64(session.kernel.symbol("MmPteBase"))
    except KdiveError:
        return None


def _entry_address(base: int, level: str, address: int) -> int:
    """Virtual address of an entry in the self-map: every level up applies the map once more."""
    result = address
    for _ in range(_ORDER[level] + 1):
        result = base + ((result & 0x0000_FFFF_FFFF_FFFF) >> 9 & 0x7F_FFFF_FFF8)
    return result & MASK64


def describe_walk(session: Session, tables: PageTables, translation: Translation, address: int, style: str) -> PageWalk:
    """Describe a page walk."""
    if session.target.machine == "arm64":
        flags = None
    else:
        from kdive.arch.amd64.paging import flag_text as flags
    base = _pte_base(session)
    levels: list[PteLevel] = []
    for entry in translation.entries:
        present = entry.state in ("valid", "large", "transition") and entry.value is not None
        value = entry.value or 0
        text = flags(value) if flags is not None and present else ""
        if entry.state == "transition":
            text = "not valid, Transition"
        levels.append(
            PteLevel(
                entry.level,
                entry.address,
                _entry_address(base, entry.level, address) if base is not None else None,
                entry.value,
                (value & _FRAME) >> 12 if present else None,
                text,
                entry.state,
            )
        )
    return PageWalk(
        address, tables.root, levels, translation.physical, translation.page_size, translation.reason, style
    )


def _translated(context: CommandContext) -> TranslatedMemory:
    session = context.session
    memory, target = session.memory, session.target
    if isinstance(memory, TranslatedMemory):
        return memory
    if isinstance(target, LiveTarget) and target.physical is not None:
        return TranslatedMemory(target.physical, target.page_tables(session.special_register("cr3") or 0))
    raise CommandError("this target has no page tables")


@command(
    "!pte",
    syntax="<address>",
    group=Group.MM,
    summary="show every level of the page tables for an address",
    examples=("!pte rip",),
    needs=(Capability.PHYSICAL_MEMORY,),
)
def pte(context: CommandContext, arguments: str) -> PageWalk:
    """Walk the tables."""
    if not arguments:
        raise context.usage_error("an address is needed")
    address = context.evaluate(arguments)
    memory = _translated(context)
    return describe_walk(context.session, memory.tables, memory.translate(address), address, "pte")


@command(
    "!vtop",
    syntax="<directory-base> <address>",
    group=Group.MM,
    summary="translate a virtual address under a page directory; 0 means the present one",
    examples=("!vtop 0 rip",),
    needs=(Capability.PHYSICAL_MEMORY,),
)
def vtop(context: CommandContext, arguments: str) -> PageWalk:
    """Translate an address."""
    root, rest = context.take(arguments)
    memory = _translated(context)
    if rest:
        address = context.evaluate(rest)
    else:
        root, address = 0, root
    tables = memory.tables
    dump = context.session.dump
    if root and dump is not None:
        tables = dump.page_tables(root if root & 0xFFF == 0 or root > 0xFFFFF else root << 12)
    return describe_walk(context.session, tables, tables.walk(memory.physical, address), address, "vtop")


@command(
    "!ptov",
    syntax="<physical-address>",
    group=Group.MM,
    summary="find virtual addresses that map a physical one in the present address space",
    needs=(Capability.PHYSICAL_MEMORY,),
)
def ptov(context: CommandContext, arguments: str) -> VirtualAddresses:
    """Find virtual addresses."""
    physical = context.evaluate(arguments)
    memory = _translated(context)
    found: list[int] = []
    for virtual, start, size in memory.tables.mappings(memory.physical, 0, 1 << 64):
        context.cancel.check()
        if start <= physical < start + size:
            found.append(virtual + physical - start)
            if len(found) >= _MAX_VIRTUAL:
                return VirtualAddresses(physical, found, truncated=True)
    context.session.results = found
    return VirtualAddresses(physical, found)


@command(
    "!address",
    syntax="<address>",
    group=Group.MM,
    summary="say what an address belongs to",
    examples=("!address rsp",),
)
def address_(context: CommandContext, arguments: str) -> AddressUsage:
    """Say what an address is."""
    if not arguments:
        raise context.usage_error("an address is needed")
    session = context.session
    address = context.evaluate(arguments)
    details: list[tuple[str, str]] = []
    readable = session.memory.is_readable(address)
    details.append(("Readable", "yes" if readable else f"no: {session.memory.reason(address)}"))
    state = session.engine.state_at(address)
    if state is not None:
        module = state.module
        details += [("Image Path", module.path), ("Module Name", module.name)]
        headers = state.image.headers
        if headers is not None:
            section = next(
                (
                    entry
                    for entry in headers.sections
                    if entry.rva <= address - module.base < entry.rva + max(entry.virtual_size, 1)
                ),
                None,
            )
            if section is not None:
                details.append(("Section", section.name))
        return AddressUsage(address, "Image", module.base, module.end, details)
    thread = session.thread
    if thread is not None:
        try:
            low, high = thread.stack_bounds
        except KdiveError:
            low = high = 0
        if low <= address < high:
            details.append(("Thread", f"{thread.address:016x}"))
            return AddressUsage(address, "Kernel stack of the current thread", low, high, details)
    unloaded = next((entry for entry in session.kernel.unloaded_modules if entry.start <= address < entry.end), None)
    if unloaded is not None:
        details.append(("Module Name", unloaded.name))
        return AddressUsage(address, "Unloaded image", unloaded.start, unloaded.end, details)
    if address < USER_SPACE_END:
        return AddressUsage(address, "User space", details=details)
    if address < 0xFFFF << 48:
        return AddressUsage(address, "Not canonical: no such address", details=details)
    return AddressUsage(address, "Kernel space", details=details)
