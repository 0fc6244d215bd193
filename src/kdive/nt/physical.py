"""Which physical pages a system has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError, SymbolNotFoundError
from kdive.formats.kernel_dump.header import PAGE_SIZE, PhysicalRun
from kdive.symbols.views import find_member

if TYPE_CHECKING:
    from kdive.cancel import CancelToken
    from kdive.memory.interface import Memory
    from kdive.nt.kernel import Kernel

_MAX_RUNS = 0x4000
_PROBE_STEP = 1 << 20
_PROBE_END = 1 << 40


def recorded_runs(kernel: Kernel) -> tuple[PhysicalRun, ...]:
    """Read the kernel's own list of physical memory, ``nt!MmPhysicalMemoryBlock``.

    Raises:
        SymbolNotFoundError: The kernel's symbols lack it.
        KdiveError: What is there cannot be such a list.
    """
    memory = kernel.memory
    address = memory.u64(kernel.symbol("MmPhysicalMemoryBlock"))
    if not address:
        raise KdiveError("the kernel has not set nt!MmPhysicalMemoryBlock yet")
    block = kernel.type("_PHYSICAL_MEMORY_DESCRIPTOR")
    count_at, count_type = find_member(block, "NumberOfRuns")
    first = find_member(block, "Run")[0]
    run = kernel.type("_PHYSICAL_MEMORY_RUN")
    base_at, pages_at = find_member(run, "BasePage")[0], find_member(run, "PageCount")[0]
    count = int.from_bytes(memory.read(address + count_at, count_type.size), "little")
    if not 0 < count <= _MAX_RUNS:
        raise KdiveError(f"the kernel's list of physical memory claims {count} runs", where=f"{address:#x}")
    data = memory.read(address + first, count * run.size)
    words = memoryview(data)
    return tuple(
        PhysicalRun(
            int.from_bytes(words[at + base_at : at + base_at + 8], "little"),
            int.from_bytes(words[at + pages_at : at + pages_at + 8], "little"),
        )
        for at in range(0, len(data), run.size)
    )


def probed_run(physical: Memory, cancel: CancelToken) -> PhysicalRun:
    """Find the memory at the bottom of the physical address space by reading at its addresses, up to the first hole.

    Raises:
        KdiveError: There is none.
        CancelledError: The token was cancelled.
    """
    if not physical.read_prefix(0, 1):
        raise KdiveError("no physical memory is readable at address 0")
    low, high = 0, _PROBE_STEP
    while high < _PROBE_END and physical.read_prefix(high - 1, 1):
        cancel.check()
        low, high = high, high + _PROBE_STEP
    while high - low > PAGE_SIZE:
        cancel.check()
        middle = (low + high) // 2 & ~(PAGE_SIZE - 1)
        if physical.read_prefix(middle, 1):
            low = middle
        else:
            high = middle
    return PhysicalRun(0, (low // PAGE_SIZE) + (1 if low < high and physical.read_prefix(low, 1) else 0))


def physical_runs(kernel: Kernel, cancel: CancelToken) -> tuple[tuple[PhysicalRun, ...], str]:
    """Find a live system's physical memory.

    Returns:
        The runs, and how they were found out if not from the kernel's own list.

    Raises:
        KdiveError: They cannot be found.
    """
    try:
        return recorded_runs(kernel), ""
    except SymbolNotFoundError as error:
        physical = kernel.target.physical
        if physical is None:
            raise
        return (probed_run(physical, cancel),), f"found by reading, since there is {error.what}"
