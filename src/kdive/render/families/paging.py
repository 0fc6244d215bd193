"""Page walks as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.paging import AddressUsage, PageWalk, VirtualAddresses
from kdive.render.styled import Style, StyledText


def page_walk(result: PageWalk) -> StyledText:
    """``!pte``: one column a level; ``!vtop``: one line a level."""
    text = StyledText()
    if result.style == "vtop":
        text.line(f"Virt {format_address(result.address)}, pagedir {result.root:x}", Style.HEADER)
        for level in result.levels:
            value = "????????" if level.value is None else f"{level.value:x}"
            text.line(f"{level.level} {level.physical:x} - {value} ({level.state})")
        if result.physical is not None:
            text.line(f"Mapped phys {result.physical:x}")
            text.line(f"Virtual address {result.address:x} translates to physical address {result.physical:x}.")
        else:
            text.line(f"Virtual address {result.address:x} does not translate: {result.reason}.", Style.WARNING)
        return text
    text.line(f"{'':43}VA {result.address:016x}", Style.HEADER)
    width = 26
    row = "".join(
        f"{level.level} at {(level.virtual if level.virtual is not None else level.physical):016X}".ljust(width + 2)
        for level in result.levels
    )
    text.line(row)
    text.line(
        "".join(
            ("contains " + ("????????????????" if level.value is None else f"{level.value:016X}")).ljust(width + 2)
            for level in result.levels
        )
    )
    cells: list[str] = []
    for level in result.levels:
        if level.pfn is not None:
            cells.append(f"pfn {level.pfn:<8x} {level.flags}".ljust(width + 2))
        else:
            cells.append(f"{level.state}".ljust(width + 2))
    text.line("".join(cells))
    if result.physical is None:
        text.line(result.reason, Style.WARNING)
    elif any(level.state == "large" for level in result.levels):
        text.line(f"LARGE PAGE pfn {result.physical >> 12:x}", Style.NOTE)
    return text


def virtual_addresses(result: VirtualAddresses) -> StyledText:
    """``!ptov``."""
    text = StyledText().line(f"Virtual addresses of physical {result.physical:x}:", Style.HEADER)
    for address in result.virtual:
        text.line(f"  {format_address(address)}", Style.ADDRESS)
    if not result.virtual:
        text.line("  none in this address space", Style.NOTE)
    if result.truncated:
        text.line("  (stopped; more may follow)", Style.NOTE)
    return text


def address_usage(result: AddressUsage) -> StyledText:
    """``!address``."""
    text = StyledText()
    text.line(f"Usage:                  {result.usage}", Style.HEADER)
    if result.start is not None:
        text.line(f"Base Address:           {format_address(result.start)}")
    if result.end is not None:
        text.line(f"End Address:            {format_address(result.end)}")
    for label, value in result.details:
        text.line(f"{label + ':':<23} {value}")
    return text


RENDERERS = {PageWalk: page_walk, VirtualAddresses: virtual_addresses, AddressUsage: address_usage}
