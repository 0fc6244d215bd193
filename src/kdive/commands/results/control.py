"""Results of control commands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AliasList:
    """``al``."""

    aliases: dict[str, str]
