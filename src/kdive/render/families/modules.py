"""Module lists and headers as text."""

from __future__ import annotations

import datetime

from kdive.addr import format_address
from kdive.commands.results.modules import ImageHeaders, ModuleInfo, ModuleList, ModuleRow
from kdive.render.styled import Style, StyledText

_SECTION_FLAGS = (
    (0x20, "Code"),
    (0x40, "Initialized Data"),
    (0x80, "Uninitialized Data"),
    (0x02000000, "Discardable"),
    (0x08000000, "Not Paged"),
    (0x10000000, "Shared"),
    (0x20000000, "Execute"),
    (0x40000000, "Read"),
    (0x80000000, "Write"),
)


def timestamp_text(value: int) -> str:
    """A ``TimeDateStamp`` as a date; reproducible builds store a hash there, which gives an odd date."""
    try:
        when = datetime.datetime.fromtimestamp(value, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return f"({value:08X})"
    return f"{when:%a %b %d %H:%M:%S %Y} ({value:08X})"


def _details(text: StyledText, row: ModuleRow) -> None:
    pairs = [
        ("Image path", row.path),
        ("Image name", row.image_name),
        ("Timestamp", timestamp_text(row.timestamp)),
        ("CheckSum", f"{row.checksum:08X}"),
        ("ImageSize", f"{row.end - row.start:08X}"),
    ]
    if row.symbol_file:
        pairs.append(("Symbol file", row.symbol_file))
    if row.evidence:
        pairs.append(("Matched by", row.evidence))
    pairs += row.version.items()
    for label, value in pairs:
        text.line(f"    {label + ':':<17} {value}")
    for problem in row.problems:
        text.add("    problem:          ").line(problem, Style.WARNING)
    if row.advice:
        text.add("    to get symbols:   ").line(row.advice, Style.NOTE)


def module_list(result: ModuleList) -> StyledText:
    """``lm``."""
    text = StyledText()
    if result.names_only:
        for row in result.modules:
            text.line(row.name, Style.MODULE)
        return text
    text.line(f"{'start':<17} {'end':<17}   {'module name'}", Style.HEADER)
    for row in result.modules:
        text.add(f"{format_address(row.start)} {format_address(row.end)}", Style.ADDRESS)
        text.add(f"   {row.name:<10}", Style.MODULE)
        if result.times:
            text.line(f" {timestamp_text(row.timestamp)}")
        else:
            place = f"  {row.symbol_file}" if row.symbol_file and not result.verbose else ""
            text.line(f" ({row.symbols}){place}")
        if result.verbose:
            _details(text, row)
    if not result.modules and not result.unloaded:
        text.line("no modules match", Style.NOTE)
    if result.unloaded:
        text.line()
        text.line("Unloaded modules:", Style.HEADER)
        for row in result.unloaded:
            text.add(f"{format_address(row.start)} {format_address(row.end)}", Style.ADDRESS)
            text.line(f"   {row.name}", Style.MODULE)
    return text


def module_info(result: ModuleInfo) -> StyledText:
    """``!lmi``."""
    row = result.module
    text = StyledText()
    pairs = [
        ("Loaded Module Info", row.name),
        ("Module", row.name),
        ("Base Address", format_address(row.start)),
        ("Image Name", row.image_name),
        ("Machine Type", result.machine or "headers are not in the target"),
        ("Time Stamp", timestamp_text(row.timestamp)),
        ("Size", f"{row.end - row.start:x}"),
        ("CheckSum", f"{row.checksum:x}"),
    ]
    if result.machine:
        pairs.append(("Characteristics", f"{result.characteristics:x}"))
    pairs.append(("Debug Data Dirs", result.pdb or "not known"))
    if result.image_file:
        pairs.append(("Image File", result.image_file))
    pairs.append(("Symbol Type", f"{row.symbols}{' - ' + row.evidence if row.evidence else ''}"))
    if row.symbol_file:
        pairs.append(("Symbol File", row.symbol_file))
    for label, value in pairs:
        text.add(f"{label:>18}: ", Style.HEADER).line(value)
    for problem in row.problems:
        text.add(f"{'Problem':>18}: ").line(problem, Style.WARNING)
    if row.advice:
        text.add(f"{'To Get Symbols':>18}: ").line(row.advice, Style.NOTE)
    return text


def headers(result: ImageHeaders) -> StyledText:
    """``!dh``."""
    text = StyledText()
    text.line(f"FILE HEADER VALUES of {result.name}", Style.HEADER)
    for label, value in result.fields:
        text.line(f"{value:>18} {label}")
    for label, rva, size in result.directories:
        text.line(f"{rva:>8x} [{size:>8x}] address [size] of {label} Directory")
    for index, section in enumerate(result.sections, 1):
        text.line()
        text.line(f"SECTION HEADER #{index}", Style.HEADER)
        text.line(f"{section.name:>8} name")
        text.line(f"{section.virtual_size:>8x} virtual size")
        text.line(f"{section.rva:>8x} virtual address")
        text.line(f"{section.raw_size:>8x} size of raw data")
        text.line(f"{section.raw_offset:>8x} file pointer to raw data")
        flags = ", ".join(name for bit, name in _SECTION_FLAGS if section.characteristics & bit)
        text.line(f"{section.characteristics:08x} flags ({flags})")
    if result.pdb:
        text.line()
        text.line(f"Debug directory: {result.pdb}")
    return text


RENDERERS = {ModuleList: module_list, ModuleInfo: module_info, ImageHeaders: headers}
