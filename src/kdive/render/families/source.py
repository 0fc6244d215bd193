"""Source code and variables as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.source import SourceFolders, SourceListing, VariableRow, Variables
from kdive.render.styled import Style, StyledText


def listing(result: SourceListing) -> StyledText:
    """``ls``, ``lsa``."""
    text = StyledText()
    text.line(result.path, Style.NOTE)
    for number, line in enumerate(result.lines, result.first):
        here = number == result.current
        text.add(">" if here else " ", Style.GOOD).add(f"{number:5}: ", Style.ADDRESS)
        text.line(line.expandtabs(4), Style.HEADER if here else Style.PLAIN)
    return text


def folders(result: SourceFolders) -> StyledText:
    """``.srcpath``."""
    text = StyledText().line(f"Source search path is: {result.path or '(empty)'}")
    for root in result.roots:
        text.line(f"  {root}", Style.NOTE)
    return text


def variables(result: Variables) -> StyledText:
    """``dv``."""
    text = StyledText()
    if result.note:
        return text.line(result.note, Style.NOTE)
    for row in result.variables:
        _variable(text, row, result.columns)
    return text


def _variable(text: StyledText, row: VariableRow, columns: tuple[str, ...]) -> None:
    if "kind" in columns:
        text.add("prv param  " if row.parameter else "prv local  ", Style.NOTE)
    if "address" in columns:
        text.add(" " * 17 if row.address is None else format_address(row.address), Style.ADDRESS).add(" ")
    if "where" in columns:
        text.add(f"{row.where:<20} ", Style.REGISTER)
    if "type" in columns:
        text.add(f"{row.type} ")
    text.add(row.name if columns else f"{row.name:>20}", Style.SYMBOL)
    text.line(f" = {row.value}" if row.value else "")


RENDERERS = {SourceListing: listing, SourceFolders: folders, Variables: variables}
