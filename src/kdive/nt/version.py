"""Windows versions, products and suites by their numbers."""

from __future__ import annotations

from bisect import bisect_right

# Build numbers and marketing names (Microsoft, "Windows 10 release information" and its like).
_CLIENT = (
    (2600, "Windows XP"),
    (3790, "Windows XP x64"),
    (6000, "Windows Vista"),
    (7600, "Windows 7"),
    (9200, "Windows 8"),
    (9600, "Windows 8.1"),
    (10240, "Windows 10"),
    (22000, "Windows 11"),
)
_SERVER = (
    (3790, "Windows Server 2003"),
    (6001, "Windows Server 2008"),
    (7600, "Windows Server 2008 R2"),
    (9200, "Windows Server 2012"),
    (9600, "Windows Server 2012 R2"),
    (14393, "Windows Server 2016"),
    (17763, "Windows Server 2019"),
    (20348, "Windows Server 2022"),
    (26100, "Windows Server 2025"),
)
_PRODUCTS = {1: "WinNt", 2: "LanManNt", 3: "Server"}
_SUITES = (
    (0x1, "SmallBusiness"),
    (0x2, "Enterprise"),
    (0x10, "TerminalServer"),
    (0x80, "DataCenter"),
    (0x100, "SingleUserTS"),
    (0x200, "Personal"),
    (0x400, "Blade"),
    (0x4000, "ComputeCluster"),
)


def system_name(build: int | None, product_type: int | None) -> str:
    """``Windows 10 Kernel Version 19041``."""
    if build is None:
        return "Windows"
    table = _SERVER if product_type in (2, 3) else _CLIENT
    index = bisect_right([start for start, _ in table], build) - 1
    return f"{table[index][1] if index >= 0 else 'Windows NT'} Kernel Version {build}"


def product_text(product_type: int | None, suite_mask: int | None) -> str:
    """``WinNt, suite: TerminalServer SingleUserTS``."""
    product = _PRODUCTS.get(product_type or 0, "")
    suites = " ".join(name for bit, name in _SUITES if suite_mask and suite_mask & bit)
    return f"{product}, suite: {suites}" if product and suites else product
