from __future__ import annotations

import struct

from kdive.formats.pdb.addresses import AddressMap, Omap


def headers(*sections: tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<8sIIIIIIHHI", b".s", size, rva, size, 0, 0, 0, 0, 0, 0) for rva, size in sections)


def test_places_and_rvas_are_inverse() -> None:
    addresses = AddressMap(headers((0x1000, 0x800), (0x3000, 0x100)))
    assert addresses.rva(2, 0x10) == 0x3010
    assert addresses.place(0x3010) == (2, 0x10)
    assert addresses.place(0xFFF) is None


def test_absolute_and_overflowing_addresses_have_no_rva() -> None:
    addresses = AddressMap(headers((0x1000, 0x800), (0xFFFFF000, 0x1000)))
    assert addresses.rva(0, 5) is None
    assert addresses.rva(3, 5) is None
    assert addresses.rva(2, 0x1000) is None
    assert AddressMap(b"").place(0x1000) is None


def test_an_address_between_sections_belongs_to_the_one_below() -> None:
    assert AddressMap(headers((0x1000, 0x800), (0x3000, 0x100))).place(0x2000) == (1, 0x1000)


def test_omap_moves_addresses_and_drops_removed_ones() -> None:
    to_source = struct.pack("<6I", 0x1000, 0x1800, 0x1100, 0, 0x1200, 0x1000)
    from_source = struct.pack("<4I", 0x1000, 0x1200, 0x1800, 0x1000)
    addresses = AddressMap(headers((0x1000, 0x1000)), to_source, from_source)
    assert addresses.rva(1, 0x810) == 0x1010
    assert addresses.place(0x1010) == (1, 0x810)
    assert addresses.rva(1, 0x20) == 0x1220
    assert addresses.place(0x1220) == (1, 0x20)
    assert addresses.place(0x1150) is None
    assert Omap(b"").translate(5) is None
