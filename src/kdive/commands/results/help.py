"""Results of help."""

from __future__ import annotations

from kdive.record import Record


class CommandHelp(Record, frozen=True):
    """One command explained."""

    names: list[str]
    usage: str
    group: str
    summary: str
    details: str
    examples: list[str]
    needs: list[str]


class HelpIndex(Record, frozen=True):
    """All commands by chapter."""

    groups: dict[str, list[CommandHelp]]
