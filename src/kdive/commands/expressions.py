"""Expressions, number formats and variables."""

from __future__ import annotations

import datetime
import re
import struct
from typing import TYPE_CHECKING

from kdive.addr import sign_extend
from kdive.commands.results.expressions import Evaluated, Formats, VariableList
from kdive.commands.spec import Group, command
from kdive.errors import CommandError
from kdive.expr.evaluator import evaluate_cpp
from kdive.expr.typed import describe as type_text
from kdive.formats.kernel_dump.header import filetime
from kdive.symbols.types import EnumType, PointerType, StructType, resolved

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.expr.values import Value


def describe(context: CommandContext, value: Value) -> Evaluated:
    """Describe a value with its type and the symbol that it points at."""
    type_ = resolved(value.type) if value.type is not None else None
    text = type_text(type_).replace("*", " *", 1) if type_ is not None else ""
    enumerator = type_.name_of(value.number) if isinstance(type_, EnumType) else None
    compound = isinstance(type_, StructType)
    pointer = isinstance(type_, PointerType)
    symbol = context.name_of(value.number) or ""
    return Evaluated(value.number, sign_extend(value.number, 64), text, enumerator or "", symbol, compound, pointer)


@command(
    "?",
    syntax="<expression>",
    group=Group.EXPRESSIONS,
    summary="evaluate a MASM expression",
    details="@@c++( ) switches to C++ inside. Numbers are hexadecimal unless n says otherwise.",
    examples=("? rsp + 8", "? poi(rsp)", "? nt!KeBugCheckEx - nt", "? @@c++(sizeof(nt!_EPROCESS))"),
)
def question(context: CommandContext, arguments: str) -> Evaluated:
    """Evaluate."""
    if not arguments:
        raise context.usage_error("an expression is needed")
    return describe(context, context.value(arguments))


@command(
    "??",
    syntax="<C++ expression>",
    group=Group.EXPRESSIONS,
    summary="evaluate a C++ expression; numbers are decimal, pointers add by element",
    examples=("?? @$proc->UniqueProcessId", "?? sizeof(nt!_ETHREAD)"),
)
def question_cpp(context: CommandContext, arguments: str) -> object:
    """Evaluate C++."""
    if not arguments:
        raise context.usage_error("an expression is needed")
    value = evaluate_cpp(arguments, context.scope)
    layout = resolved(value.type) if value.type is not None else None
    if isinstance(layout, StructType) and value.address is not None:
        from kdive.commands.types import show_struct

        return show_struct(context, layout, value.address)
    return describe(context, value)


@command(
    ".formats",
    syntax="<expression>",
    group=Group.EXPRESSIONS,
    summary="show a number in every format",
    examples=(".formats 0n1000",),
)
def formats(context: CommandContext, arguments: str) -> Formats:
    """Show formats."""
    number = context.evaluate(arguments)
    raw = number.to_bytes(8, "little")
    characters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in reversed(raw))
    unix = None
    if number < 1 << 40:
        unix = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        try:
            unix += datetime.timedelta(seconds=number)
        except OverflowError:
            unix = None
    return Formats(
        number,
        sign_extend(number, 64),
        f"{number:o}",
        f"{number:064b}",
        characters,
        filetime(number) if number >> 56 == 1 else unix,
        struct.unpack("<f", raw[:4])[0],
        struct.unpack("<d", raw)[0],
    )


@command(
    "n",
    syntax="[8 | 10 | 16]",
    group=Group.EXPRESSIONS,
    summary="show or set the default radix of numbers",
)
def n(context: CommandContext, arguments: str) -> str:
    """Set the radix."""
    session = context.session
    if arguments:
        if arguments.strip() not in ("8", "10", "16"):
            raise context.usage_error("the radix is 8, 10 or 16")
        session.radix = int(arguments)
    return f"base is {session.radix}"


@command(
    "set",
    syntax="<$name> <expression>",
    group=Group.EXPRESSIONS,
    summary="set a variable",
    examples=("set $here rip",),
)
def set_(context: CommandContext, arguments: str) -> None:
    """Set a variable."""
    match = re.match(r"@?\$([A-Za-z_]\w*)\s*=?\s+?(.+)$", arguments) or re.match(
        r"@?\$([A-Za-z_]\w*)\s*=\s*(.+)$", arguments
    )
    if not match:
        raise context.usage_error("a variable and an expression are needed")
    name, expression = match.groups()
    if name not in context.session.variables and name.lower() in context.scope.pseudo_names() and name[0] != "t":
        raise CommandError(f"${name} is built in")
    context.session.variables[name] = context.value(expression)


@command("unset", syntax="<$name>", group=Group.EXPRESSIONS, summary="remove a variable")
def unset(context: CommandContext, arguments: str) -> None:
    """Remove a variable."""
    name = arguments.strip().lstrip("@$")
    if context.session.variables.pop(name, None) is None:
        raise CommandError(f"no variable ${name}", hint="vars lists them")


@command("vars", group=Group.EXPRESSIONS, summary="list variables, result slots and built-in names")
def variables(context: CommandContext, arguments: str) -> VariableList:
    """List variables."""
    del arguments
    session = context.session
    return VariableList(
        {f"${name}": value.number for name, value in sorted(session.variables.items())},
        {f"${index}": number for index, number in enumerate(session.results[:64])},
        len(session.results),
        [f"${name}" for name in context.scope.pseudo_names()],
    )
