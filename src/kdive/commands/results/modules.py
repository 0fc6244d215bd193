"""Results of module commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class ModuleRow(Record, frozen=True):
    """One module.

    Attributes:
        name: Module name.
        image_name: File name.
        path: Path as the loader recorded it.
        start: Load address.
        end: First address behind it.
        symbols: Symbol status in words.
        symbol_file: Where symbols came from.
        evidence: How they were matched.
        timestamp: ``TimeDateStamp``.
        checksum: Image checksum.
        problems: Why better symbols were not used.
        advice: How to get missing symbols.
        version: Version resource strings, for verbose displays.
    """

    name: str
    image_name: str
    path: str
    start: Address
    end: Address
    symbols: str = ""
    symbol_file: str = ""
    evidence: str = ""
    timestamp: int = 0
    checksum: int = 0
    problems: list[str] = field(default_factory=list[str])
    advice: str = ""
    version: dict[str, str] = field(default_factory=dict[str, str])


class UnloadedRow(Record, frozen=True):
    """One unloaded module."""

    name: str
    start: Address
    end: Address


class ModuleList(Record, frozen=True):
    """``lm``.

    Attributes:
        modules: The modules.
        unloaded: Unloaded modules, if asked for.
        verbose: Show every detail.
        times: Show timestamps instead of symbol status.
        names_only: Show names only.
    """

    modules: list[ModuleRow]
    unloaded: list[UnloadedRow] = field(default_factory=list[UnloadedRow])
    verbose: bool = False
    times: bool = False
    names_only: bool = False


class ModuleInfo(Record, frozen=True):
    """``!lmi``: one module with its headers.

    Attributes:
        module: The module.
        machine: COFF machine and its name; empty if the headers cannot be read.
        characteristics: COFF characteristics.
        pdb: PDB path, GUID and age that the image names.
        image_file: The copy of the image on disk, if there is one.
    """

    module: ModuleRow
    machine: str = ""
    characteristics: Address = 0
    pdb: str = ""
    image_file: str = ""


class HeaderSection(Record, frozen=True):
    """A section header."""

    name: str
    virtual_size: Address
    rva: Address
    raw_size: Address
    raw_offset: Address
    characteristics: Address


class ImageHeaders(Record, frozen=True):
    """``!dh``: the headers of an image."""

    name: str
    fields: list[tuple[str, str]]
    directories: list[tuple[str, int, int]]
    sections: list[HeaderSection]
    pdb: str = ""
