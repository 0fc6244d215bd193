"""Results of control commands."""

from __future__ import annotations

from kdive.record import Record


class AliasList(Record, frozen=True):
    """``al``."""

    aliases: dict[str, str]
