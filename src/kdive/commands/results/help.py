"""Results of help."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandHelp:
    """One command explained."""

    names: list[str]
    usage: str
    group: str
    summary: str
    details: str
    examples: list[str]
    needs: list[str]


@dataclass(frozen=True)
class HelpIndex:
    """All commands by chapter."""

    groups: dict[str, list[CommandHelp]]
