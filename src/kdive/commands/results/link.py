"""Results about the link to a live target."""

from __future__ import annotations

from kdive.record import Record, field
from kdive.targets.live import LinkStatistics  # noqa: TC001 (schemas resolve it)


class LinkReport(Record, frozen=True):
    """``!kdstats``.

    Attributes:
        target: Where the target is.
        counts: What crossed the link.
    """

    target: str
    counts: LinkStatistics


class PrintedLines(Record, frozen=True):
    """``!dbgprint``.

    Attributes:
        lines: The lines.
        earlier: How many more are kept.
        dropped: How many are no longer kept.
    """

    lines: list[str]
    earlier: int = 0
    dropped: int = 0


class FileRow(Record, frozen=True):
    """A file that stands in for one of the target's.

    Attributes:
        name: What the target asks for.
        path: The file.
        served: How often it was opened.
    """

    name: str
    path: str
    served: int = 0


class FileMap(Record, frozen=True):
    """``.kdfiles``.

    Attributes:
        files: The map.
        refused: Names that the target asked for and did not get, with how often.
    """

    files: list[FileRow] = field(default_factory=list[FileRow])
    refused: dict[str, int] = field(default_factory=dict[str, int])
