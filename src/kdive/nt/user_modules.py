"""The images that a process's loader has listed in its PEB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import KdiveError
from kdive.symbols.images import Module
from kdive.symbols.views import Struct, walk_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdive.memory.interface import Memory
    from kdive.symbols.types import StructType

_MAX_MODULES = 1000


def user_modules(memory: Memory, loader: Struct, entry: StructType) -> Iterator[Module]:
    """Yield the images in load order.

    Args:
        memory: The process's address space.
        loader: ``_PEB_LDR_DATA`` of the process.
        entry: The layout of ``_LDR_DATA_TABLE_ENTRY``.

    Raises:
        MemoryAccessError: The list's head is not in the target.
    """
    link = Struct(memory, 0, entry).offset_of("InLoadOrderLinks")
    for address in walk_list(memory, loader.address_of("InLoadOrderModuleList"), _MAX_MODULES):
        view = Struct(memory, address - link, entry)
        try:
            base, size = view["DllBase"], view["SizeOfImage"]
        except KdiveError:
            return
        if base:
            name = view.unicode_string("BaseDllName") or f"{base:x}"
            path = view.unicode_string("FullDllName") or name
            # Symbols cut down to what a dump needs may lack the member.
            stamp = view["TimeDateStamp"] if "TimeDateStamp" in view else 0  # noqa: SIM401
            yield Module(name.rsplit(".", 1)[0], name, path, base, size, stamp)
