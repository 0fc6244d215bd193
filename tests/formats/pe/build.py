"""Small PE images made by hand."""

from __future__ import annotations

import struct

SECTION_RVA = 0x1000
RAW_OFFSET = 0x400


def image(content: bytes, directories: dict[int, tuple[int, int]], *, machine: int = 0x8664) -> bytes:
    """A 64-bit image of one executable section with this content."""
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<Q", optional, 24, 0x140000000)
    struct.pack_into("<II", optional, 32, 0x1000, 0x200)
    struct.pack_into("<II", optional, 56, 0x1000 + (len(content) + 0xFFF & ~0xFFF), RAW_OFFSET)
    struct.pack_into("<I", optional, 108, 16)
    for index, (rva, size) in directories.items():
        struct.pack_into("<II", optional, 112 + 8 * index, rva, size)
    head = bytearray(b"MZ".ljust(0x40, b"\0"))
    struct.pack_into("<I", head, 0x3C, 0x40)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x22) + optional
    head += struct.pack(
        "<8sIIIIIIHHI", b".text", len(content), SECTION_RVA, len(content), RAW_OFFSET, 0, 0, 0, 0, 0x60000020
    )
    return bytes(head.ljust(RAW_OFFSET, b"\0")) + content


def exports(
    names: list[tuple[str, int]], functions: list[int], *, base: int = 1, strings: dict[int, str] | None = None
) -> bytes:
    """A section content that starts with an export directory.

    Args:
        names: Names and the 0-based indexes of their functions.
        functions: RVAs by index; where ``strings`` has the index, the function is a forwarder with that text.
        base: The ordinal base.
        strings: Forwarders by index.
    """
    at = SECTION_RVA + 40
    functions_rva, names_rva = at, at + 4 * len(functions)
    ordinals_rva = names_rva + 4 * len(names)
    text_rva = ordinals_rva + 2 * len(names)
    text = bytearray()

    def put(word: str) -> int:
        where = text_rva + len(text)
        text.extend(word.encode() + b"\0")
        return where

    module = put("made.dll")
    name_rvas = [put(name) for name, _ in names]
    addresses = [put(strings[i]) if strings and i in strings else rva for i, rva in enumerate(functions)]
    head = struct.pack(
        "<IIHHIIIIIII",
        *(0, 0, 0, 0, module, base),
        *(len(functions), len(names), functions_rva, names_rva, ordinals_rva),
    )
    words = struct.pack(f"<{len(addresses)}I{len(names)}I", *addresses, *name_rvas)
    return head + words + struct.pack(f"<{len(names)}H", *(index for _, index in names)) + bytes(text)
