"""Names of NTSTATUS, Win32 and HRESULT codes, and what exceptions mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kdive.nt.tables import table_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ACCESS_VIOLATION = 0xC0000005
_IN_PAGE_ERROR = 0xC0000006
_FAST_FAIL = (0xC0000409, 0xC0000602)
_VERBS = {0: "read from", 1: "write to", 8: "execute"}

FAST_FAIL_CODES: Mapping[int, str] = {
    0: "FAST_FAIL_LEGACY_GS_VIOLATION",
    1: "FAST_FAIL_VTGUARD_CHECK_FAILURE",
    2: "FAST_FAIL_STACK_COOKIE_CHECK_FAILURE",
    3: "FAST_FAIL_CORRUPT_LIST_ENTRY",
    4: "FAST_FAIL_INCORRECT_STACK",
    5: "FAST_FAIL_INVALID_ARG",
    6: "FAST_FAIL_GS_COOKIE_INIT",
    7: "FAST_FAIL_FATAL_APP_EXIT",
    8: "FAST_FAIL_RANGE_CHECK_FAILURE",
    9: "FAST_FAIL_UNSAFE_REGISTRY_ACCESS",
    10: "FAST_FAIL_GUARD_ICALL_CHECK_FAILURE",
    11: "FAST_FAIL_GUARD_WRITE_CHECK_FAILURE",
    12: "FAST_FAIL_INVALID_FIBER_SWITCH",
    13: "FAST_FAIL_INVALID_SET_OF_CONTEXT",
    14: "FAST_FAIL_INVALID_REFERENCE_COUNT",
    18: "FAST_FAIL_INVALID_JUMP_BUFFER",
    19: "FAST_FAIL_MRDATA_MODIFIED",
    20: "FAST_FAIL_CERTIFICATION_FAILURE",
    21: "FAST_FAIL_INVALID_EXCEPTION_CHAIN",
    22: "FAST_FAIL_CRYPTO_LIBRARY",
    23: "FAST_FAIL_INVALID_CALL_IN_DLL_CALLOUT",
    24: "FAST_FAIL_INVALID_IMAGE_BASE",
    25: "FAST_FAIL_DLOAD_PROTECTION_FAILURE",
    26: "FAST_FAIL_UNSAFE_EXTENSION_CALL",
    27: "FAST_FAIL_DEPRECATED_SERVICE_INVOKED",
    28: "FAST_FAIL_INVALID_BUFFER_ACCESS",
    29: "FAST_FAIL_INVALID_BALANCED_TREE",
    30: "FAST_FAIL_INVALID_NEXT_THREAD",
    31: "FAST_FAIL_GUARD_ICALL_CHECK_SUPPRESSED",
    32: "FAST_FAIL_APCS_DISABLED",
    33: "FAST_FAIL_INVALID_IDLE_STATE",
    34: "FAST_FAIL_MRDATA_PROTECTION_FAILURE",
    35: "FAST_FAIL_UNEXPECTED_HEAP_EXCEPTION",
    36: "FAST_FAIL_INVALID_LOCK_STATE",
    37: "FAST_FAIL_GUARD_JUMPTABLE",
    38: "FAST_FAIL_INVALID_LONGJUMP_TARGET",
    39: "FAST_FAIL_INVALID_DISPATCH_CONTEXT",
    40: "FAST_FAIL_INVALID_THREAD",
    41: "FAST_FAIL_INVALID_SYSCALL_NUMBER",
    42: "FAST_FAIL_INVALID_FILE_OPERATION",
    43: "FAST_FAIL_LPAC_ACCESS_DENIED",
    44: "FAST_FAIL_GUARD_SS_FAILURE",
    45: "FAST_FAIL_LOADER_CONTINUITY_FAILURE",
    46: "FAST_FAIL_GUARD_EXPORT_SUPPRESSION_FAILURE",
    47: "FAST_FAIL_INVALID_CONTROL_STACK",
    48: "FAST_FAIL_SET_CONTEXT_DENIED",
    49: "FAST_FAIL_INVALID_IAT",
    50: "FAST_FAIL_HEAP_METADATA_CORRUPTION",
}
"""Subcodes of ``__fastfail`` (``winnt.h``)."""

Table = Literal["ntstatus", "win32", "hresult"]


@lru_cache(maxsize=3)
def names(table: Table) -> Mapping[int, str]:
    """Return one table of names, read when first asked for."""
    text = table_text(f"{table}.tsv")
    pairs = (line.split("\t") for line in text.splitlines())
    return {int(number, 16): name for number, name in pairs}


def status_name(code: int) -> str | None:
    """Return the name of an NTSTATUS code (``STATUS_ACCESS_VIOLATION``), None if it is not known."""
    return names("ntstatus").get(code & 0xFFFFFFFF)


def describe_exception(code: int, parameters: Sequence[int]) -> list[str]:
    """Say in words what an exception's parameters mean."""
    code &= 0xFFFFFFFF
    if code in (_ACCESS_VIOLATION, _IN_PAGE_ERROR) and len(parameters) >= 2:
        verb = _VERBS.get(parameters[0], f"access ({parameters[0]:#x})")
        text = [f"Attempt to {verb} address {parameters[1]:016x}"]
        if code == _IN_PAGE_ERROR and len(parameters) >= 3:
            status = status_name(parameters[2]) or f"{parameters[2]:#x}"
            text.append(f"The page could not be read in: {status}")
        return text
    if code in _FAST_FAIL and parameters:
        return [f"Subcode: {parameters[0]:#x} {FAST_FAIL_CODES.get(parameters[0], '')}".rstrip()]
    return []
