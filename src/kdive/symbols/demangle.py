"""Undecorated names for display.

Public symbols carry the linker's names: ``_KeWait@8`` on x86, ``?Open@Device@@QEAAJXZ`` for C++, ``_ZN4core…E`` or
``_RNv…`` for Rust. People look for ``KeWait``, ``Device::Open`` and ``core::…``. Only the qualified name is given, as
WinDbg shows it in a stack; parameters are left out.

Format facts: the calling-convention pages of Microsoft's C++ documentation.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from kdive.formats.pe.image import MACHINE_I386
from kdive.symbols import demangle_msvc, demangle_rust, demangle_tables

# The number is that of the argument bytes. More digits are no such number: ``__real@40000000`` is a constant.
_STDCALL = re.compile(r"[_@]([^@?]+)@\d{1,3}")
_VECTORCALL = re.compile(r"([^@?]+)@@\d{1,3}")
_RUST_V0 = re.compile(r"_R[CMXYNIB][A-Za-z0-9_]")


@cache
def _generated() -> frozenset[str]:
    """The words that an undecorated name may have without its decorated form having them."""
    texts = [demangle_tables.OTHER_WORDS, demangle_rust.OTHER_WORDS, *demangle_rust.BASIC_TYPES.values()]
    texts += [text for table in demangle_tables.TABLES for text in table.values()]
    return frozenset(re.findall(r"[a-z0-9_]+", " ".join(texts).lower()))


def may_be_generated(word: str) -> bool:
    """Whether a lower-case word of an undecorated name may come from a code rather than from the decorated name.

    Numbers are written in other ways too, so a word of digits may.
    """
    return word.isdigit() or any(word in known for known in _generated())


@lru_cache(maxsize=4096)
def undecorate(name: str, machine: int = 0) -> str:
    """Return the qualified name behind a decorated one, or the name itself if it is not decorated.

    Args:
        name: The name as the linker has it.
        machine: ``IMAGE_FILE_MACHINE_*``; only x86 decorates the names of C functions.
    """
    if not name:
        return name
    if name[0] == "?":
        return demangle_msvc.microsoft(name) or name
    plain = name[1:] if machine == MACHINE_I386 and name.startswith("__") else name
    if plain.startswith("_ZN"):
        return demangle_rust.legacy(plain[3:]) or name
    if _RUST_V0.match(plain):
        found = demangle_rust.v0(plain[2:])
        if found is not None:
            return found
    if machine == MACHINE_I386:
        match = _STDCALL.fullmatch(name) or _VECTORCALL.fullmatch(name)
        if match:
            return match[1]
        if name[0] == "_" and len(name) > 1:
            return name[1:]
    return name
