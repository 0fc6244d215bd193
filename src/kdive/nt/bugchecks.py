"""Bugcheck codes: names, meanings, parameters, and which parameters lead to the crash's data.

Facts: Microsoft, "Bug Check Code Reference"; the words are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MINIDUMP_FORM = 0x10000000

FAULT_ADDRESS: Mapping[int, int] = {
    **dict.fromkeys((0x1E, 0x3B, 0x7E, 0x8E), 2),
    **dict.fromkeys((0x50, 0xCC, 0xCD, 0xCE, 0xCF, 0xD5, 0xD6, 0x1E7), 3),
    **dict.fromkeys((0xA, 0x2E, 0xC5, 0xD0, 0xD1, 0xD3, 0xD4, 0x1EA, 0x24), 4),
    0x151: 1,
    0x116: 2,
    0x117: 2,
}
"""Number (1 to 4) of the parameter that holds the faulting instruction's address."""

TOUCHED_ADDRESS: Mapping[int, int] = dict.fromkeys((0xA, 0x50, 0xBE, 0xC5, 0xCE, 0xD1, 0xD5, 0xD6, 0xFC, 0x1E7), 1)
"""Number of the parameter that holds the address that was touched."""

EXCEPTION_CODE: Mapping[int, int] = dict.fromkeys((0x1E, 0x3B, 0x7E, 0x8E), 1)
"""Number of the parameter that holds an exception code."""

CONTEXT: Mapping[int, int] = {0x3B: 3, 0x7E: 4, 0x24: 3, 0x23: 3, 0x22: 3, 0x3D: 2, 0x149: 3}
"""Number of the parameter that holds the address of a ``CONTEXT``."""

EXCEPTION_RECORD: Mapping[int, int] = {0x7E: 3, 0x24: 2, 0x23: 2, 0x139: 3, 0x3D: 1, 0x149: 2}
"""Number of the parameter that holds the address of an ``EXCEPTION_RECORD``."""

TRAP_FRAME: Mapping[int, int] = {0x8E: 3, 0x139: 2, 0x151: 2, 0x30: 3, 0xBE: 3, 0xFC: 3, 0x2B: 1, 0x1E7: 4}
"""Number of the parameter that holds the address of a trap frame."""

IRQL: Mapping[int, int] = dict.fromkeys((0xA, 0xC5, 0xD1), 2)
"""Number of the parameter that holds an IRQL."""


@dataclass(frozen=True, slots=True)
class Bugcheck:
    """A bugcheck code.

    Attributes:
        code: The code as recorded.
        name: Its symbolic name.
        meaning: What it means, one sentence.
        parameters: What each of the four parameters means; empty where not documented.
    """

    code: int
    name: str
    meaning: str
    parameters: tuple[str, str, str, str]


def base_code(code: int) -> int:
    """Strip the bit by which a minidump marks some codes (0x1000007E is 0x7E)."""
    return code & ~_MINIDUMP_FORM if code & 0xFFFF0000 == _MINIDUMP_FORM else code


@lru_cache(maxsize=1)
def _table() -> Mapping[int, tuple[str, str, str]]:
    text = resources.files("kdive.nt").joinpath("data", "bugchecks.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {int(code, 16): (name, meaning, parameters) for code, name, meaning, parameters in rows}


def codes() -> list[int]:
    """Every code in the table, ascending."""
    return sorted(_table())


def bugcheck(code: int) -> Bugcheck:
    """Look a code up; one that is not known gets a name that says so."""
    found = _table().get(code) or _table().get(base_code(code))
    if found is None:
        return Bugcheck(
            code, f"BUGCHECK_{code:X}", "This code is not in the table of known bugchecks.", ("", "", "", "")
        )
    name, meaning, parameters = found
    first, second, third, fourth = parameters.split("|")
    suffix = "_M" if code != base_code(code) and code not in _table() else ""
    return Bugcheck(code, name + suffix, meaning, (first, second, third, fourth))


def bugcheck_name(code: int) -> str:
    """Return the name of a code."""
    return bugcheck(code).name


def parameter(numbers: Mapping[int, int], code: int, parameters: tuple[int, ...]) -> int | None:
    """Return the parameter that a table points at for a code, None if it points at none."""
    number = numbers.get(base_code(code))
    return None if number is None else parameters[number - 1]
