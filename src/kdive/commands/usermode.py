"""Structures of user mode: PEB, TEB, loader lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.results.kernel import FactSheet
from kdive.commands.results.modules import ModuleList, ModuleRow
from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.nt.user_modules import user_modules
from kdive.symbols.views import Struct

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.memory.interface import Memory


def user_memory(context: CommandContext) -> Memory:
    """Memory of the process in scope: a dump's default scope shows the address space that was current at the crash."""
    session = context.session
    process = session.process
    if session.scope.memory is None and process is not None:
        return session.process_memory(process)
    return session.memory


def _structure(context: CommandContext, name: str, address: int) -> Struct:
    engine = context.session.engine
    for module in ("nt", "ntdll"):
        found = engine.find_type(f"{module}!{name}")
        if found is not None:
            return Struct(user_memory(context), address, engine.struct_type(f"{module}!{name}"))
    return Struct(user_memory(context), address, context.session.kernel.type(name))


def _facts(view: Struct, members: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    for label, member in members:
        if member in view:
            try:
                facts.append((label, f"{view[member]:016x}"))
            except KdiveError as error:
                facts.append((label, error.what))
    return facts


def _peb_address(context: CommandContext, arguments: str) -> int:
    if arguments:
        return context.evaluate(arguments)
    process = context.session.process
    if process is None:
        context.session.kernel.type("_EPROCESS")
        raise CommandError("the current process is not known")
    if not process.peb:
        raise CommandError(
            f"{process.name} has no PEB: it has no user mode", hint=".process /p <eprocess> chooses another process"
        )
    return process.peb


@command("!peb", syntax="[<address>]", group=Group.KERNEL, summary="show a process environment block")
def peb(context: CommandContext, arguments: str) -> FactSheet:
    """Show a PEB."""
    address = _peb_address(context, arguments)
    view = _structure(context, "_PEB", address)
    view["BeingDebugged"]
    facts = _facts(
        view,
        (
            ("BeingDebugged", "BeingDebugged"),
            ("ImageBaseAddress", "ImageBaseAddress"),
            ("Ldr", "Ldr"),
            ("ProcessHeap", "ProcessHeap"),
            ("ProcessParameters", "ProcessParameters"),
            ("NtGlobalFlag", "NtGlobalFlag"),
            ("SessionId", "SessionId"),
        ),
    )
    try:
        parameters = _structure(context, "_RTL_USER_PROCESS_PARAMETERS", view["ProcessParameters"])
        for label, member in (
            ("CurrentDirectory", "CurrentDirectory.DosPath"),
            ("WindowTitle", "WindowTitle"),
            ("ImageFile", "ImagePathName"),
            ("CommandLine", "CommandLine"),
            ("DllPath", "DllPath"),
        ):
            if member in parameters:
                facts.append((label, f"'{parameters.unicode_string(member)}'"))
    except KdiveError as error:
        facts.append(("ProcessParameters", f"not readable: {error.what}"))
    return FactSheet("PEB", address, facts)


@command("!teb", syntax="[<address>]", group=Group.KERNEL, summary="show a thread environment block")
def teb(context: CommandContext, arguments: str) -> FactSheet:
    """Show a TEB."""
    if arguments:
        address = context.evaluate(arguments)
    else:
        thread = context.session.thread
        if thread is None:
            context.session.kernel.type("_ETHREAD")
            raise CommandError("the current thread is not known")
        address = thread.teb
        if not address:
            raise CommandError("the current thread is a system thread: it has no TEB")
    view = _structure(context, "_TEB", address)
    view["NtTib.Self"]
    facts = _facts(
        view,
        (
            ("ExceptionList", "NtTib.ExceptionList"),
            ("StackBase", "NtTib.StackBase"),
            ("StackLimit", "NtTib.StackLimit"),
            ("SubSystemTib", "NtTib.SubSystemTib"),
            ("FiberData", "NtTib.FiberData"),
            ("ArbitraryUserPointer", "NtTib.ArbitraryUserPointer"),
            ("Self", "NtTib.Self"),
            ("EnvironmentPointer", "EnvironmentPointer"),
            ("ClientId.UniqueProcess", "ClientId.UniqueProcess"),
            ("ClientId.UniqueThread", "ClientId.UniqueThread"),
            ("RpcHandle", "ActiveRpcHandle"),
            ("Tls Storage", "ThreadLocalStoragePointer"),
            ("PEB Address", "ProcessEnvironmentBlock"),
            ("LastErrorValue", "LastErrorValue"),
            ("LastStatusValue", "LastStatusValue"),
        ),
    )
    return FactSheet("TEB", address, facts)


@command("!dlls", syntax="[-c <address>]", group=Group.KERNEL, summary="list the images that a process has loaded")
def dlls(context: CommandContext, arguments: str) -> ModuleList:
    """List loaded images."""
    only: int | None = None
    if arguments.startswith("-c"):
        only = context.evaluate(arguments[2:])
    elif arguments:
        raise context.usage_error(f"unknown argument {arguments!r}")
    peb_view = _structure(context, "_PEB", _peb_address(context, ""))
    loader = _structure(context, "_PEB_LDR_DATA", peb_view["Ldr"])
    memory = user_memory(context)
    entry = _structure(context, "_LDR_DATA_TABLE_ENTRY", 0).type
    rows: list[ModuleRow] = []
    for module in user_modules(memory, loader, entry):
        context.cancel.check()
        if only is None or module.contains(only):
            rows.append(ModuleRow(module.name, module.image_name, module.path, module.base, module.end, module.path))
    return ModuleList(rows)
