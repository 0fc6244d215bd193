"""Where functions begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import FormatError

if TYPE_CHECKING:
    from kdive.session.session import Session
    from kdive.symbols.images import ModuleImage

_MAX_TABLE = 16 << 20


def function_extents(session: Session, address: int) -> list[tuple[int, int]]:
    """Return the ``(begin, end)`` ranges of the function around an address, the one with its entry first.

    The image's unwind data says; on AMD64 a function may consist of several chained parts. Where there is no unwind
    data, a procedure symbol with a size does. Empty if neither is known.
    """
    image = session.engine.image_at(address)
    if image is None:
        return []
    rva, size = image.exception_directory()
    table = image.read_image(rva, min(size, _MAX_TABLE)) if rva and size else b""
    if table:
        finder = _arm64 if session.target.machine == "arm64" else _amd64
        try:
            found = finder(image, table, address - image.base)
        except FormatError:
            found = []
        if found:
            return [(image.base + begin, image.base + end) for begin, end in found]
    nearest = session.engine.nearest(address)
    if nearest is not None and nearest.symbol is not None and nearest.displacement < nearest.symbol.size:
        begin = address - nearest.displacement
        return [(begin, begin + nearest.symbol.size)]
    return []


def _amd64(image: ModuleImage, table: bytes, rva: int) -> list[tuple[int, int]]:
    from kdive.arch.amd64.unwind import MAX_CHAIN, RuntimeFunction, find_function, parse_unwind_info

    found = find_function(table, rva)
    if found is None:
        return []
    primary = found
    for _ in range(MAX_CHAIN):
        chained = parse_unwind_info(image.read_image, primary.unwind).chained
        if chained is None:
            break
        primary = chained
    parts = [(primary.begin, primary.end)]
    # Other parts chain to the primary entry. They lie after it in the table for the same function, or far away.
    words = memoryview(table[: len(table) // 12 * 12]).cast("I")
    place = next((index for index in range(0, len(words), 3) if words[index] == primary.begin), 0)
    for index in range(place + 3, min(place + 3 * 64, len(words)), 3):
        entry = RuntimeFunction(words[index], words[index + 1], words[index + 2])
        try:
            parent = parse_unwind_info(image.read_image, entry.unwind).chained
        except FormatError:
            break
        if parent is None or parent.begin != primary.begin:
            break
        parts.append((entry.begin, entry.end))
    if (found.begin, found.end) not in parts:
        parts.append((found.begin, found.end))
    return parts


def _arm64(image: ModuleImage, table: bytes, rva: int) -> list[tuple[int, int]]:
    from kdive.arch.arm64.unwind import find_function, parse_unwind_data

    found = find_function(table, rva)
    if found is None:
        return []
    length = parse_unwind_data(image.read_image, found).length
    return [(found.begin, found.begin + length)] if rva < found.begin + length else []
