"""Results about the link to a live target."""

from __future__ import annotations

from kdive.record import Record, field


class LinkReport(Record, frozen=True):
    """``!kdstats``.

    Attributes:
        target: Where the target is.
        requests: Requests that were made.
        sent: Data packets that were sent.
        received: Data packets that arrived, in order and for the first time.
        bytes_out: Bytes that were sent.
        bytes_in: Bytes that arrived.
        resent: Packets that were sent again.
        damaged: Packets that arrived with a bad checksum or cut short.
        duplicates: Packets that arrived again.
        resets: How often numbers began anew.
        junk: Bytes that belong to no packet.
        transfer_size: Bytes that one read asks for at most at present.
        cache_hits: Reads of memory that needed no request.
        cache_misses: Reads of memory that needed requests.
        prints_lost: Prints of the target that came too fast to be kept.
        recording: File that the session is recorded in, if it is.
        recording_failure: Why the recording ended early.
    """

    target: str
    requests: int
    sent: int
    received: int
    bytes_out: int
    bytes_in: int
    resent: int
    damaged: int
    duplicates: int
    resets: int
    junk: int
    transfer_size: int
    cache_hits: int
    cache_misses: int
    prints_lost: int = 0
    recording: str = ""
    recording_failure: str = ""


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
