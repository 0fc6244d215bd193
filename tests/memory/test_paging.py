"""Page walks against a plain reference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.arch.amd64.paging import Amd64PageTables
from kdive.arch.arm64.paging import Arm64PageTables
from kdive.memory.fragments import FragmentMemory
from kdive.memory.interface import Memory
from kdive.memory.paging import TranslatedMemory
from kdive.samples.memory import AddressSpaceBuilder, PhysicalBuilder

FRAME = 0x000F_FFFF_FFFF_F000


class Physical(Memory):
    """The builder's pages as memory."""

    def __init__(self, builder: PhysicalBuilder) -> None:
        self._pages = builder.pages

    def read_available(self, address: int, size: int) -> list[tuple[int, bytes]]:
        out: list[tuple[int, bytes]] = []
        end = address + size
        while address < end:
            length = min(0x1000 - (address & 0xFFF), end - address)
            page = self._pages.get(address >> 12)
            if page is not None:
                data = bytes(page[address & 0xFFF : (address & 0xFFF) + length])
                if out and out[-1][0] + len(out[-1][1]) == address:
                    out[-1] = (out[-1][0], out[-1][1] + data)
                else:
                    out.append((address, data))
            address += length
        return out

    def reason(self, address: int) -> str:
        return f"{address:#x} is absent"


def plain_walk(memory: Memory, root: int, address: int, levels: int) -> int | None:
    """The manual's procedure, one step a level."""
    top = address >> (11 + 9 * levels)
    if top not in (0, (1 << (53 - 9 * levels)) - 1):
        return None
    table = root
    for level in reversed(range(levels)):
        entry_at = table + 8 * (address >> (12 + 9 * level) & 511)
        entry = int.from_bytes(memory.read(entry_at, 8), "little") if memory.is_readable(entry_at, 8) else 0
        if not entry & 1:
            if entry & 1 << 10 or not entry & 1 << 11:
                return None
            if level == 0:
                return entry & 0x0000_FFFF_FFFF_F000 | address & 0xFFF
        elif level in (1, 2) and entry & 0x80:
            mask = (1 << (12 + 9 * level)) - 1
            return entry & FRAME & ~mask | address & mask
        table = entry & FRAME
    return table | address & 0xFFF


place = st.tuples(
    st.sampled_from((0, 1, 0xFF, 0x100, 0x1FF)), st.integers(0, 3), st.integers(0, 3), st.integers(0, 511)
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from((4, 5)),
    st.lists(
        st.tuples(place, st.sampled_from(("page", "large", "huge", "transition", "prototype", "paged", "demand"))),
        min_size=1,
        max_size=12,
    ),
    st.lists(place, max_size=12),
    st.integers(0, 0xFFF),
)
def test_every_walk_equals_the_plain_one(
    levels: int, mapped: list[tuple[tuple[int, ...], str]], probes: list[tuple[int, ...]], offset: int
) -> None:
    physical = PhysicalBuilder()
    space = AddressSpaceBuilder(physical, levels)

    def virtual(parts: tuple[int, ...]) -> int:
        value = parts[0] << 39 | parts[1] << 30 | parts[2] << 21 | parts[3] << 12
        if parts[0] >= 0x100:
            value |= ~((1 << 48) - 1) & ((1 << 64) - 1)
        return value

    taken: set[tuple[int, ...]] = set()
    present: set[int] = set()
    for parts, kind in mapped:
        if any(parts[:depth] in taken for depth in range(2, 5)):
            continue
        address = virtual(parts)
        if kind == "large":
            if any(other[:3] == parts[:3] for other in taken):
                continue
            space.set_entry(address, 0x4000_0000 | 0xE3, 1)
            taken.add(parts[:3])
        elif kind == "huge":
            if any(other[:2] == parts[:2] for other in taken):
                continue
            space.set_entry(address, 0x1_0000_0000 | 0xE3, 2)
            taken.add(parts[:2])
        else:
            value = {
                "page": physical.allocate() << 12 | 0x63,
                "transition": physical.allocate() << 12 | 0x800,
                "prototype": 0x1234_5678_0000_0400,
                "paged": 0x0000_1234_0000_0080,
                "demand": 0x80,
            }[kind]
            space.set_entry(address, value)
            taken.add(parts)
            if kind in ("page", "transition"):
                present.add(address)
    memory = Physical(physical)
    tables = Amd64PageTables(space.root | 0x2, levels)
    for parts in [parts for parts, _ in mapped] + probes:
        address = virtual(parts) | offset
        found = tables.walk(memory, address)
        assert found.physical == plain_walk(memory, space.root, address, levels)
        assert bool(found.reason) == (found.physical is None)
    listed = {virtual for virtual, _, _ in tables.mappings(memory, 0, 1 << 64)}
    if levels == 4:
        assert present <= listed


def test_states_of_absent_pages_are_named() -> None:
    physical = PhysicalBuilder()
    space = AddressSpaceBuilder(physical)
    base = 0xFFFF_8000_0000_0000
    wanted = {
        0x1234_5678_0000_0400: ("prototype", "prototype PTE: the page is reached through its section"),
        0x0000_1234_0000_0080: ("paged out", "page is in the page file"),
        0x80: ("demand zero", "demand-zero page: never touched"),
        0: ("zero", "page not mapped"),
    }
    for index, value in enumerate(wanted):
        space.set_entry(base + 0x1000 * index, value)
    tables = Amd64PageTables(space.root)
    for index, (state, reason) in enumerate(wanted.values()):
        found = tables.walk(Physical(physical), base + 0x1000 * index)
        assert (found.entries[-1].state, found.reason) == (state, reason)
    assert tables.walk(Physical(physical), 1 << 60).reason == "address is not canonical"


def test_reads_cross_pages_and_stop_at_holes() -> None:
    physical = PhysicalBuilder(gap=0)
    space = AddressSpaceBuilder(physical)
    base = 0xFFFF_9000_0000_0000
    text = bytes(range(256)) * 48
    space.write(base, text)
    space.set_entry(base + 0x2000, 0)
    memory = TranslatedMemory(Physical(physical), Amd64PageTables(space.root))
    assert memory.read(base + 0xFF0, 0x20) == text[0xFF0:0x1010]
    assert memory.read_available(base, len(text)) == [(base, text[:0x2000])]
    assert not memory.is_readable(base + 0x1FF0, 0x20)
    assert "not mapped" in memory.reason(base + 0x2000)


def test_arm64_tables_walk_both_halves() -> None:
    pages = {number: bytearray(0x1000) for number in range(0x10, 0x20)}

    def entry(table: int, index: int, value: int) -> None:
        pages[table][8 * index : 8 * index + 8] = value.to_bytes(8, "little")

    # Upper half: 4 KiB page, 2 MiB block and 1 GiB block; lower half: 4 KiB page.
    for root, next_table in ((0x10, 0x11), (0x18, 0x19)):
        entry(root, 0, next_table << 12 | 3)
        entry(next_table, 0, (next_table + 1) << 12 | 3)
        entry(next_table + 1, 0, (next_table + 2) << 12 | 3)
        entry(next_table + 2, 5, 0x77000 | 3)
    entry(0x12, 1, 0x4000_0000 | 1)
    entry(0x11, 1, 0x8000_0000 | 1)
    memory = FragmentMemory([(number << 12, memoryview(page)) for number, page in pages.items()])
    tables = Arm64PageTables(0x18 << 12, 0x10 << 12)
    top = 0xFFFF << 48
    assert tables.walk(memory, top | 0x5123).physical == 0x77123
    assert tables.walk(memory, 0x5123).physical == 0x77123
    assert tables.walk(memory, top | 0x20_1234).physical == 0x4000_1234
    assert tables.walk(memory, top | 0x4000_5678).physical == 0x8000_5678
    assert tables.walk(memory, top | 0x6000).physical is None
    assert tables.walk(memory, 1 << 50).reason == "address is not canonical"
