"""Results of paging commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdive.commands.results import address_field


@dataclass(frozen=True)
class PteLevel:
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
    physical: int = address_field()
    virtual: int | None = address_field(default=None)
    value: int | None = address_field(default=None)
    pfn: int | None = address_field(default=None)
    flags: str = ""
    state: str = ""


@dataclass(frozen=True)
class PageWalk:
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

    address: int = address_field()
    root: int = address_field(default=0)
    levels: list[PteLevel] = field(default_factory=list[PteLevel])
    physical: int | None = address_field(default=None)
    page_size: int = 0
    reason: str = ""
    style: str = "pte"


@dataclass(frozen=True)
class VirtualAddresses:
    """``!ptov``: virtual addresses of a physical one."""

    physical: int = address_field()
    virtual: list[int] = address_field(default_factory=list)
    truncated: bool = False


@dataclass(frozen=True)
class AddressUsage:
    """``!address``: what an address belongs to.

    Attributes:
        address: The address.
        usage: In words: image, stack, pool …
        start: Start of the region.
        end: End of the region.
        details: Label and text.
    """

    address: int = address_field()
    usage: str = ""
    start: int | None = address_field(default=None)
    end: int | None = address_field(default=None)
    details: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
