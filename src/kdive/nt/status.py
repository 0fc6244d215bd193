"""Names of NTSTATUS, Win32 and HRESULT codes, and what exceptions mean."""

from __future__ import annotations

from collections.abc import Sequence

_ACCESS_VIOLATION = 0xC0000005
_IN_PAGE_ERROR = 0xC0000006
_FAST_FAIL = 0xC0000409
_VERBS = {0: "read from", 1: "write to", 8: "execute"}


def status_name(code: int) -> str | None:
    """Return the name of an NTSTATUS code (``STATUS_ACCESS_VIOLATION``), None if it is not known."""
    from kdive.nt.status_table import NTSTATUS

    return NTSTATUS.get(code & 0xFFFFFFFF)


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
    if code == _FAST_FAIL and parameters:
        from kdive.nt.status_table import FAST_FAIL

        return [f"Subcode: {parameters[0]:#x} {FAST_FAIL.get(parameters[0], '')}".rstrip()]
    return []
