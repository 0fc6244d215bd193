"""The link to a live target as text."""

from __future__ import annotations

from kdive.commands.results.link import FileMap, LinkReport, PrintedLines
from kdive.render.styled import Style, StyledText


def link(result: LinkReport) -> StyledText:
    """``!kdstats``."""
    text = StyledText().line(result.target, Style.HEADER)
    rows = (
        ("requests", f"{result.requests}"),
        ("packets", f"{result.sent} sent, {result.received} received"),
        ("bytes", f"{result.bytes_out} sent, {result.bytes_in} received"),
        ("sent again", f"{result.resent}"),
        ("damaged", f"{result.damaged}"),
        ("duplicates", f"{result.duplicates}"),
        ("resets", f"{result.resets}"),
        ("other bytes", f"{result.junk}"),
        ("read size", f"{result.transfer_size:#x}"),
        ("memory reads", f"{result.cache_hits} from the cache, {result.cache_misses} over the link"),
    )
    for name, value in rows:
        text.line(f"  {name:13} {value}")
    if result.prints_lost:
        text.line(f"  {result.prints_lost} prints came too fast to be kept", Style.WARNING)
    if result.recording:
        text.line(f"  {'recorded in':13} {result.recording}")
    if result.recording_failure:
        text.line(f"  the recording ended early: {result.recording_failure}", Style.WARNING)
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
