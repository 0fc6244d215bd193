"""Bugcheck codes: names, meanings and parameters."""

from __future__ import annotations


def bugcheck_name(code: int) -> str:
    """Return the name of a bugcheck code."""
    return f"{code:#x}"
