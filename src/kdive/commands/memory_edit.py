"""Writing memory of a live target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.spec import Group, command
from kdive.targets.base import Capability

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext

_SIZES = {"eb": 1, "ew": 2, "ed": 4, "eq": 8}
_MAX_VALUES = 4096


@command(
    "eb",
    "ew",
    "ed",
    "eq",
    syntax="<address> <value> [<value>…]",
    group=Group.MEMORY,
    summary="write bytes, words, double words or quad words",
    examples=("eb @rsp+10 90 90", "eq poi(nt!PsInitialSystemProcess)+8 0"),
    needs=(Capability.MEMORY_WRITE,),
)
def edit(context: CommandContext, arguments: str) -> str:
    """Write memory."""
    from kdive.expr.evaluator import evaluate_prefix

    size = _SIZES[context.name.lower()]
    if not arguments:
        raise context.usage_error("an address and values are needed")
    value, rest = evaluate_prefix(arguments, context.scope)
    numbers: list[int] = []
    while rest and len(numbers) < _MAX_VALUES:
        number, rest = evaluate_prefix(rest, context.scope)
        numbers.append(number.number)
    if not numbers:
        raise context.usage_error("values are needed")
    data = b"".join((number & ((1 << 8 * size) - 1)).to_bytes(size, "little") for number in numbers)
    context.session.memory.write(value.number, data)
    context.session.scope.drop_stack()
    return ""
