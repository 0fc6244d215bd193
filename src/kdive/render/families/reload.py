"""Loading of symbols as text."""

from __future__ import annotations

from kdive.addr import format_address
from kdive.commands.results.reload import Reloaded, SymbolCheck
from kdive.render.styled import Style, StyledText


def reloaded(result: Reloaded) -> StyledText:
    """``.reload``."""
    text = StyledText()
    for name, status in result.modules:
        text.add(f"{name:<20}", Style.MODULE).line(f" {status}")
    for message in result.messages:
        text.line(message, Style.NOTE)
    if result.pending:
        text.line(f"{result.pending} downloads are still running", Style.NOTE)
    return text


def check(result: SymbolCheck) -> StyledText:
    """``!chksym``."""
    text = StyledText()
    text.line(result.image, Style.MODULE)
    text.line(f"    Timestamp: {result.timestamp:08X}")
    text.line(f"  SizeOfImage: {result.size:X}")
    text.line(f"     CheckSum: {result.checksum:X}")
    text.line(f"         Base: {format_address(result.base)}")
    if result.wanted is not None:
        name, guid, age = result.wanted
        text.line(f"          pdb: {name}").line(f"      pdb sig: {_guid(guid)}").line(f"          age: {age:x}")
    else:
        text.line("          pdb: the image names none, or its headers are not in the target")
    text.line()
    text.line(f"Symbol file: {result.file or 'none'}")
    if result.found is not None:
        text.line(f"    pdb sig: {_guid(result.found[0])}").line(f"        age: {result.found[1]:x}")
    text.line()
    if result.matches is None:
        text.add("UNKNOWN", Style.WARNING).line(": there is nothing to compare")
    elif result.matches:
        text.add("MATCH", Style.GOOD).line(": the symbols belong to the image")
    else:
        text.add("MISMATCH", Style.ERROR).line(": the symbols do not belong to the image")
    for note in result.notes:
        text.line(f"  {note}", Style.NOTE)
    return text


def _guid(guid: str) -> str:
    return "-".join((guid[:8], guid[8:12], guid[12:16], guid[16:20], guid[20:]))


RENDERERS = {Reloaded: reloaded, SymbolCheck: check}
