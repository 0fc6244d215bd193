"""Written dumps as text."""

from __future__ import annotations

from kdive.commands.results.dump_file import DumpWritten
from kdive.render.styled import Style, StyledText


def dump_written(result: DumpWritten) -> StyledText:
    """``.dump``."""
    text = StyledText().line("Dump successfully written", Style.GOOD)
    text.line(f"{result.path}: {result.kind}, {result.size:#x} bytes, {result.pages} pages in {result.runs} runs")
    if result.note:
        text.line(f"the physical memory was {result.note}", Style.NOTE)
    if result.missing:
        text.line(f"{result.missing} pages could not be read; zeros stand for them", Style.WARNING)
    return text


RENDERERS = {DumpWritten: dump_written}
