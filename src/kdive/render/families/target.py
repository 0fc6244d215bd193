"""Session and target facts as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import format_address
from kdive.commands.results.target import Capabilities, Status, TargetTime, TargetVersion
from kdive.render.styled import Style, StyledText

if TYPE_CHECKING:
    import datetime


def duration(value: datetime.timedelta | None) -> str:
    """``0 days 0:00:03.747``."""
    if value is None:
        return "not recorded"
    hours, rest = divmod(value.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{value.days} days {hours}:{minutes:02}:{seconds:02}.{value.microseconds // 1000:03}"


def moment(value: datetime.datetime | None) -> str:
    """``Sun Feb 21 01:38:22.987 2021 (UTC)``."""
    if value is None:
        return "not recorded"
    return f"{value:%a %b %d %H:%M:%S}.{value.microsecond // 1000:03} {value:%Y} (UTC)"


def version(result: TargetVersion) -> StyledText:
    """``vertarget``."""
    text = StyledText()
    build = "Free" if result.free else "Checked"
    text.line(f"{result.system} MP ({result.processors} procs) {build} {result.machine}", Style.HEADER)
    if result.product:
        text.line(f"Product: {result.product}")
    if result.build_lab:
        text.line(f"Built by: {result.build_lab}")
    base = "not known" if result.kernel_base is None else f"0x{format_address(result.kernel_base)}"
    head = "not known" if result.module_list is None else f"0x{format_address(result.module_list)}"
    text.line(f"Kernel base = {base} PsLoadedModuleList = {head}")
    text.line(f"Debug session time: {moment(result.time)}")
    text.line(f"System Uptime: {duration(result.uptime)}")
    text.line(f"Target: {result.target}")
    for label, value in result.details:
        text.line(f"  {label + ':':<20} {value}")
    for notice in result.notices:
        text.line(f"warning: {notice}", Style.WARNING)
    return text


def time(result: TargetTime) -> StyledText:
    """``.time``."""
    text = StyledText()
    text.line(f"Debug session time: {moment(result.time)}")
    return text.line(f"System Uptime: {duration(result.uptime)}")


def capabilities(result: Capabilities) -> StyledText:
    """``capabilities``."""
    text = StyledText()
    cells = [("+ " if able else "- ") + name for name, able in result.capabilities.items()]
    rows = (len(cells) + 3) // 4
    for row in range(rows):
        for cell in cells[row::rows]:
            text.add(f"{cell:<28}", Style.GOOD if cell.startswith("+") else Style.NOTE)
        text.line()
    return text


def status(result: Status) -> StyledText:
    """``status``."""
    text = StyledText()
    place = "" if result.rip is None else f" at {format_address(result.rip)}"
    text.add("running" if result.running else f"halted, processor {result.processor}{place}")
    text.line(f" {result.symbol}" if result.symbol else "", Style.SYMBOL)
    if result.reason:
        text.line(f"stopped by: {result.reason}")
    if result.current_thread is not None:
        text.line(f"thread:     {format_address(result.current_thread)}")
    if result.stopped_process:
        text.line(f"process:    {result.stopped_process}")
    if result.attached_process:
        text.line(f"scope:      {result.attached_process}")
    return text


RENDERERS = {TargetVersion: version, TargetTime: time, Capabilities: capabilities, Status: status}
