"""Running commands for each module, process, thread or list element."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.spec import Group, command
from kdive.errors import CommandError, KdiveError
from kdive.expr.values import Value
from kdive.nt.processes import processes, threads
from kdive.symbols.types import StructType, resolved
from kdive.symbols.views import find_member

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_MAX_ELEMENTS = 65536


def _commands(arguments: str) -> str:
    text = arguments.strip()
    if len(text) > 1 and text[0] == '"' == text[-1]:
        return text[1:-1].replace('\\"', '"')
    return text


def _replace(text: str, values: dict[str, str]) -> str:
    """Replace ``${@#Name}`` and ``@#Name``."""
    for name, value in values.items():
        text = text.replace("${@#" + name + "}", value)
        text = re.sub(rf"@#{name}\b", lambda _, word=value: word, text)
    return text


@command(
    "!for_each_module",
    syntax='["<commands>"]',
    group=Group.CONTROL,
    summary="run commands for each module, with @#ModuleName @#ImageName @#Base @#Size @#SymbolType …",
    examples=('!for_each_module ".echo @#ModuleName"',),
)
def for_each_module(context: CommandContext, arguments: str) -> None:
    """Run for each module."""
    commands = _commands(arguments) or ".echo @#ModuleIndex : @#Base @#End @#ModuleName @#ImageName @#LoadedImageName"
    for index, state in enumerate(list(context.session.engine.states)):
        context.cancel.check()
        module = state.module
        context.dispatcher.run_nested(
            _replace(
                commands,
                {
                    "ModuleName": module.name,
                    "ModuleIndex": f"{index:02x}",
                    "ImageName": module.image_name,
                    "LoadedImageName": module.path,
                    "SymbolFileName": state.symbols.path if state.symbols is not None else "",
                    "SymbolType": state.status,
                    "TimeDateStamp": f"{module.timestamp:08x}",
                    "Checksum": f"{module.checksum:08x}",
                    "Base": f"0x{module.base:x}",
                    "End": f"0x{module.end:x}",
                    "Size": f"0x{module.size:x}",
                },
            )
        )


@command(
    "!for_each_process",
    syntax='["<commands>"]',
    group=Group.CONTROL,
    summary="run commands for each process, with @#Process",
    examples=('!for_each_process "dt nt!_EPROCESS ImageFileName @#Process"',),
)
def for_each_process(context: CommandContext, arguments: str) -> None:
    """Run for each process."""
    commands = _commands(arguments) or "!process @#Process 0"
    for process in processes(context.session.kernel):
        context.cancel.check()
        context.dispatcher.run_nested(
            _replace(commands, {"Process": f"0x{process.address:x}", "ProcessId": f"0x{process.pid:x}"})
        )


@command(
    "!for_each_thread",
    syntax='["<commands>"]',
    group=Group.CONTROL,
    summary="run commands for each thread, with @#Thread and @#Process",
)
def for_each_thread(context: CommandContext, arguments: str) -> None:
    """Run for each thread."""
    commands = _commands(arguments) or "!thread @#Thread 0"
    kernel = context.session.kernel
    for process in processes(kernel):
        for thread in threads(kernel, process):
            context.cancel.check()
            values = {"Thread": f"0x{thread.address:x}", "Process": f"0x{process.address:x}"}
            context.dispatcher.run_nested(_replace(commands, values))


@command(
    "!list",
    syntax='-t [<module>!]<type>.<field> [-x "<commands>"] <address>',
    group=Group.CONTROL,
    summary="walk a list and run commands with @$extret at each element",
    examples=('!list -t nt!_LIST_ENTRY.Flink -x "dq @$extret L2" nt!PsLoadedModuleList',),
)
def list_(context: CommandContext, arguments: str) -> None:
    """Walk a list."""
    match = re.match(r'\s*-t\s+(\S+)\s+(?:-e\s+)?(?:-x\s+"((?:\\.|[^"])*)"\s+)?(?:-e\s+)?(.+)$', arguments)
    if not match:
        raise context.usage_error("a type with its link field and an address are needed")
    path, commands, expression = match.groups()
    type_name, _, field = path.partition(".")
    found = context.session.engine.find_type(type_name)
    layout = resolved(found[1]) if found is not None else None
    if not isinstance(layout, StructType):
        raise CommandError(f"no structure {type_name!r}")
    if not field:
        raise context.usage_error("name the link: -t nt!_LIST_ENTRY.Flink")
    offset, link_type = find_member(layout, field)
    back = 0
    if isinstance(resolved(link_type), StructType):
        # A LIST_ENTRY inside the structure links to the one inside the next.
        back = offset
    address = context.evaluate(expression)
    session = context.session
    first = address
    seen: set[int] = set()
    outer = session.variables.get("extret")
    try:
        while address and address not in seen and len(seen) < _MAX_ELEMENTS:
            context.cancel.check()
            seen.add(address)
            session.variables["extret"] = Value(address)
            context.dispatcher.run_nested(commands or "dp @$extret L4")
            try:
                address = session.memory.u64(address + offset) - back
            except KdiveError as error:
                raise CommandError(f"the list that began at {first:#x} cannot be followed: {error.what}") from error
    finally:
        if outer is None:
            session.variables.pop("extret", None)
        else:
            session.variables["extret"] = outer
