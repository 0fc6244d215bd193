"""Results of module commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class ModuleRow:
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
    start: int = address_field()
    end: int = address_field()
    symbols: str = ""
    symbol_file: str = ""
    evidence: str = ""
    timestamp: int = 0
    checksum: int = 0
    problems: list[str] = field(default_factory=list[str])
    advice: str = ""
    version: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class UnloadedRow:
    """One unloaded module."""

    name: str
    start: int = address_field()
    end: int = address_field()


@dataclass(frozen=True)
class ModuleList:
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


@dataclass(frozen=True)
class ModuleInfo:
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
    characteristics: int = address_field(default=0)
    pdb: str = ""
    image_file: str = ""


@dataclass(frozen=True)
class HeaderSection:
    """A section header."""

    name: str
    virtual_size: int = address_field()
    rva: int = address_field()
    raw_size: int = address_field()
    raw_offset: int = address_field()
    characteristics: int = address_field()


@dataclass(frozen=True)
class ImageHeaders:
    """``!dh``: the headers of an image."""

    name: str
    fields: list[tuple[str, str]]
    directories: list[tuple[str, int, int]]
    sections: list[HeaderSection]
    pdb: str = ""
