"""The link to a live target as text."""

from __future__ import annotations

from kdive.commands.results.link import FileMap, LinkReport, PrintedLines
from kdive.render.styled import Style, StyledText


def link(result: LinkReport) -> StyledText:
    """``!kdstats``."""
    text = StyledText().line(result.target, Style.HEADER)
    counts = result.counts
    rows = (
        ("requests", f"{counts.requests}"),
        ("packets", f"{counts.sent} sent, {counts.received} received"),
        ("bytes", f"{counts.bytes_out} sent, {counts.bytes_in} received"),
        ("sent again", f"{counts.resent}"),
        ("damaged", f"{counts.damaged}"),
        ("duplicates", f"{counts.duplicates}"),
        ("resets", f"{counts.resets}"),
        ("other bytes", f"{counts.junk}"),
        ("read size", f"{counts.transfer_size:#x}"),
        ("memory reads", f"{counts.cache_hits} from the cache, {counts.cache_misses} over the link"),
    )
    for name, value in rows:
        text.line(f"  {name:13} {value}")
    if counts.prints_lost:
        text.line(f"  {counts.prints_lost} prints came too fast to be kept", Style.WARNING)
    if counts.recording:
        text.line(f"  {'recorded in':13} {counts.recording}")
    if counts.recording_failure:
        text.line(f"  the recording ended early: {counts.recording_failure}", Style.WARNING)
    return text


def printed(result: PrintedLines) -> StyledText:
    """``!dbgprint``."""
    text = StyledText()
    if result.dropped:
        text.line(f"{result.dropped} earlier lines are no longer kept", Style.NOTE)
    if result.earlier:
        text.line(f"{result.earlier} earlier lines are not shown; !dbgprint -a shows them", Style.NOTE)
    for line in result.lines:
        text.line(line)
    if not result.lines:
        text.line("the target has printed nothing", Style.NOTE)
    return text


def file_map(result: FileMap) -> StyledText:
    """``.kdfiles``."""
    text = StyledText()
    if not result.files:
        text.line("no files stand in for the target's", Style.NOTE)
    for row in result.files:
        text.line(f"{row.name} -> {row.path}" + (f" (opened {row.served} times)" if row.served else ""))
    for name, count in result.refused.items():
        text.line(f"asked for and not given: {name} ({count} times)", Style.NOTE)
    return text


RENDERERS = {LinkReport: link, PrintedLines: printed, FileMap: file_map}
