"""Results of paging commands."""

from __future__ import annotations

from kdive.commands.results import Address
from kdive.record import Record, field


class PteLevel(Record, frozen=True):
    """One level of a page walk.

    Attributes:
        level: ``PXE``, ``PPE``, ``PDE`` or ``PTE``.
        physical: Physical address of the entry.
        virtual: Virtual address of the entry in the kernel's map of its own tables, None if not known.
        value: The raw entry, None if it cannot be read.
        pfn: Page frame number in it.
        flags: Its flags as letters.
        state: ``valid``, ``large``, ``transition`` …
    """

    level: str
    physical: Address
    virtual: Address | None = None
    value: Address | None = None
    pfn: Address | None = None
    flags: str = ""
    state: str = ""


class PageWalk(Record, frozen=True):
    """``!pte`` and ``!vtop``.

    Attributes:
        address: The virtual address.
        root: The root page table.
        levels: Every entry looked at.
        physical: Where it leads, None if nowhere.
        page_size: Size of the page.
        reason: Why it leads nowhere.
        style: ``pte`` or ``vtop``.
    """

    address: Address
    root: Address = 0
    levels: list[PteLevel] = field(default_factory=list[PteLevel])
    physical: Address | None = None
    page_size: int = 0
    reason: str = ""
    style: str = "pte"


class VirtualAddresses(Record, frozen=True):
    """``!ptov``: virtual addresses of a physical one."""

    physical: Address
    virtual: list[Address] = field(default_factory=list[int])
    truncated: bool = False


class AddressUsage(Record, frozen=True):
    """``!address``: what an address belongs to.

    Attributes:
        address: The address.
        usage: In words: image, stack, pool …
        start: Start of the region.
        end: End of the region.
        details: Label and text.
    """

    address: Address
    usage: str = ""
    start: Address | None = None
    end: Address | None = None
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
