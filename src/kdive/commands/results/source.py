"""Results of ``ls``, ``lsa``, ``.srcpath`` and ``dv``."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class SourceListing(Record, frozen=True):
    """Lines of a source file.

    Attributes:
        path: The file here.
        recorded: Its path on the machine that compiled it; empty if it was listed by place alone.
        first: Number of the first line.
        lines: The lines.
        current: The line that belongs to the address asked for, 0 if there is none.
        checked: Whether the file's checksum agrees with the symbols'.
    """

    path: str
    recorded: str
    first: int
    lines: list[str]
    current: int = 0
    checked: bool = False


class SourceFolders(Record, frozen=True):
    """``.srcpath``."""

    path: str
    roots: list[str]


class VariableRow(Record, frozen=True):
    """A parameter or local variable.

    Attributes:
        name: Its name.
        value: Its value in words, or why there is none.
        number: Its number, None if it has none.
        type: Its type in words.
        where: Where it is: ``@rcx``, ``@rsp+0x48``.
        address: Its address, None if it is not in memory.
        parameter: Whether it is a parameter.
        function: The function that declares it: another than the frame's where calls are inlined.
    """

    name: str
    value: str
    number: Address | None
    type: str
    where: str
    address: Address | None
    parameter: bool
    function: str


class Variables(Record, frozen=True):
    """``dv``.

    Attributes:
        place: Symbol of the code that the variables belong to.
        variables: The variables, parameters first.
        columns: What text shows besides: ``type``, ``where``, ``kind``, ``address``.
        note: Why there are none.
    """

    place: str
    variables: list[VariableRow] = field(default_factory=list[VariableRow])
    columns: tuple[str, ...] = ()
    note: str = ""
