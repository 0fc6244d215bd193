"""``dv``: parameters and local variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.commands.results.source import VariableRow, Variables
from kdive.commands.spec import Group, command
from kdive.expr.typed import describe, is_aggregate
from kdive.session.frames import frame_place
from kdive.session.variables import frame_variables, variables_at
from kdive.symbols.interface import wildcard
from kdive.symbols.types import resolved

if TYPE_CHECKING:
    from kdive.commands.context import CommandContext
    from kdive.session.variables import FrameVariable

_LETTERS = {"t": "type", "v": "where", "i": "kind", "V": "address"}


def _row(context: CommandContext, variable: FrameVariable) -> VariableRow:
    local, value = variable.local, variable.value
    text, number, address = variable.problem, None, None
    if value is not None:
        from kdive.commands.type_words import value_text

        layout = resolved(value.type) if value.type is not None else None
        address = value.address
        if layout is None:
            text, number = f"{value.number:#x}", value.number
        elif is_aggregate(layout) and value.address is not None:
            data = context.session.memory.read_prefix(value.address, layout.size)
            text = value_text(context, layout, data)[0]
        else:
            text, number = value_text(context, layout, value.number.to_bytes(8, "little")[: layout.size])
    type_ = describe(local.type) if local.type is not None else ""
    return VariableRow(local.name, text, number, type_, variable.where, address, local.parameter, local.function)


@command(
    "dv",
    syntax="[/t] [/v] [/i] [/V] [<pattern> | <address>]",
    group=Group.STACK,
    summary="show the parameters and local variables of the selected frame",
    details=(
        "/t shows types, /v where each is, /V its address, /i whether it is a parameter. With an address: what is in "
        "scope there, and where it would be. Expressions know the variables by name, $!name only as variables."
    ),
    examples=("dv", "dv /t /v", ".frame 2; dv p*", "dv mydriver!Dispatch+20"),
)
def dv(context: CommandContext, arguments: str) -> Variables:
    """Show variables."""
    columns: list[str] = []
    rest = arguments.strip()
    while match := re.match(r"/(\w+)\s*", rest):
        rest = rest[match.end() :]
        for letter in match[1]:
            if letter not in _LETTERS and letter not in "fna":
                raise context.usage_error(f"unknown switch '/{letter}'")
            columns += [_LETTERS[letter]] if letter in _LETTERS else []
    session = context.session
    pattern = ""
    if rest and not re.fullmatch(r"[\w*?\[\]]+", rest):
        address = context.evaluate(rest)
        found = variables_at(session, address)
        place = session.engine.name_of(address) or f"{address:#x}"
        columns += ["type", "where"]
    else:
        found = frame_variables(session)
        frames = session.stack(session.scope.frame + 1)
        place = frame_place(session, frames[session.scope.frame]).symbol if frames else ""
        pattern = rest
        if pattern:
            matcher = wildcard(pattern)
            found = [variable for variable in found if matcher.fullmatch(variable.local.name)]
    note = ""
    if not found:
        note = f"no variable matches {pattern!r}" if pattern else f"the symbols record no variables at {place}"
    return Variables(place, [_row(context, variable) for variable in found], tuple(dict.fromkeys(columns)), note)
