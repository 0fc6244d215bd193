"""Bugcheck codes: names, meanings, parameters, and which parameters lead to the crash's data.

The tables are text next to this module, read when first asked for:

* ``bugchecks.tsv``: code, name, meaning, the four parameters' meanings separated by ``|``, and roles such as ``ip=4``.
* ``bugcheck_subcodes.tsv``: code, number of the parameter that selects, its value, what that value means, and the
  parameters' meanings in that case (empty: as in the first table).

Facts: Microsoft, "Bug Check Code Reference", and the public ``bugcodes.h``; the words are ours.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from kdive.nt.tables import table_text
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MINIDUMP_FORM = 0x10000000
_NONE = ("", "", "", "")
LARGEST_SUBCODE = 0xFFFFF
"""The subcodes of all documented cases are smaller; a parameter above is an address (0x7A)."""


class Role(StrEnum):
    """What a parameter leads to."""

    IP = "ip"
    """Address of the faulting instruction."""
    TOUCHED = "touched"
    """Address that was touched."""
    IRQL = "irql"
    """IRQL at the time."""
    CODE = "code"
    """Exception code."""
    RECORD = "record"
    """Address of an ``EXCEPTION_RECORD``."""
    CONTEXT = "context"
    """Address of a ``CONTEXT``."""
    TRAP = "trap"
    """Address of a trap frame."""


class Bugcheck(Record, frozen=True):
    """A bugcheck code.

    Attributes:
        code: The code as recorded.
        name: Its symbolic name.
        meaning: What it means, one sentence.
        parameters: What each of the four parameters means; empty where not documented.
        known: The code is in the table.
    """

    code: int
    name: str
    meaning: str
    parameters: tuple[str, str, str, str]
    known: bool = True


class _Entry(Record, frozen=True):
    name: str
    meaning: str
    parameters: tuple[str, str, str, str]
    roles: Mapping[str, int]


def base_code(code: int) -> int:
    """Strip the bit by which a minidump marks some codes (0x1000007E is 0x7E)."""
    return code & ~_MINIDUMP_FORM if code & 0xFFFF0000 == _MINIDUMP_FORM else code


def _four(text: str) -> tuple[str, str, str, str]:
    first, second, third, fourth = text.split("|")
    return first, second, third, fourth


def _lines(name: str) -> list[list[str]]:
    text = table_text(name)
    return [line.split("\t") for line in text.splitlines()]


@lru_cache(maxsize=1)
def _table() -> Mapping[int, _Entry]:
    found: dict[int, _Entry] = {}
    for code, name, meaning, parameters, roles in _lines("bugchecks.tsv"):
        pairs = (role.split("=") for role in roles.split())
        found[int(code, 16)] = _Entry(name, meaning, _four(parameters), {role: int(place) for role, place in pairs})
    return found


@lru_cache(maxsize=1)
def _subcodes() -> Mapping[int, Mapping[tuple[int, int], tuple[str, tuple[str, str, str, str]]]]:
    found: dict[int, dict[tuple[int, int], tuple[str, tuple[str, str, str, str]]]] = {}
    for code, selector, value, meaning, parameters in _lines("bugcheck_subcodes.tsv"):
        place = (int(selector), int(value, 16))
        found.setdefault(int(code, 16), {})[place] = (meaning, _four(parameters))
    return found


def codes() -> list[int]:
    """Every code in the table, ascending."""
    return sorted(_table())


def _subcode(code: int, values: Sequence[int]) -> tuple[int, str, tuple[str, str, str, str]]:
    """The selecting parameter, the meaning of its value and the parameters' meanings; 0 if nothing is known."""
    for (selector, value), (meaning, parameters) in _subcodes().get(base_code(code), {}).items():
        if selector <= len(values) and values[selector - 1] == value:
            return selector, meaning, parameters
    return 0, "", _NONE


def bugcheck(code: int, values: Sequence[int] = ()) -> Bugcheck:
    """Look a code up.

    Args:
        code: The code, with or without the mark of a minidump.
        values: The parameters; where one of them selects a case, the meanings are those of that case.

    Returns:
        The bugcheck; a code that is not known gets a name that says so.
    """
    table = _table()
    base = base_code(code)
    entry = table.get(code) or table.get(base)
    if entry is None:
        meaning = "unknown bugcheck: this code is not in the table of documented codes"
        return Bugcheck(code, f"BUGCHECK_{code:X}", meaning, _NONE, known=False)
    name = entry.name + ("_M" if code not in table else "")
    selector, meaning, special = _subcode(code, values) if values else (0, "", _NONE)
    first, second, third, fourth = (
        special[place] or (meaning if place + 1 == selector else entry.parameters[place]) for place in range(4)
    )
    return Bugcheck(code, name, entry.meaning, (first, second, third, fourth))


def bugcheck_name(code: int) -> str:
    """Return the name of a code."""
    return bugcheck(code).name


def subcode_meaning(code: int, values: Sequence[int]) -> str:
    """Say what the case is that the parameters select (0x9F with parameter 1 = 3); empty if that is not known."""
    return _subcode(code, values)[1]


def has_subcodes(code: int) -> bool:
    """Whether the first parameter of a bugcheck selects a case."""
    return any(selector == 1 for selector, _ in _subcodes().get(base_code(code), {}))


def parameter(role: Role, code: int, values: Sequence[int]) -> int | None:
    """Return the parameter that plays a role in a bugcheck, None if none does."""
    number = parameter_number(role, code)
    return values[number - 1] if number is not None and number <= len(values) else None


def parameter_number(role: Role, code: int) -> int | None:
    """Return the number (1 to 4) of the parameter that plays a role in a bugcheck."""
    entry = _table().get(base_code(code))
    return None if entry is None else entry.roles.get(role)
