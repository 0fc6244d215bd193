"""Crash analysis as text, with WinDbg's section names."""

from __future__ import annotations

from kdive.commands.results.analysis import BugcheckInfo, CodeName, LastEvent, TagList, Verdict
from kdive.render.families.stack import exception, stack
from kdive.render.families.target import duration, moment
from kdive.render.styled import Style, StyledText

_RULE = "*" * 79


def bugcheck(result: BugcheckInfo) -> StyledText:
    """``.bugcheck``, and the head of ``!analyze``."""
    text = StyledText()
    if not result.explained:
        text.line(f"Bugcheck code {result.code:08X} ({result.name})")
        text.line("Arguments " + " ".join(f"{entry.value:016x}" for entry in result.parameters))
        return text
    text.line(f"{result.name} ({result.code:x})", Style.HEADER)
    if result.meaning:
        text.line(result.meaning)
    text.line("Arguments:")
    for number, entry in enumerate(result.parameters, 1):
        text.add(f"Arg{number}: ").add(f"{entry.value:016x}", Style.NUMBER)
        text.add(f", {entry.meaning}" if entry.meaning else "")
        text.line(f" -> {entry.symbol}" if entry.symbol else "", Style.SYMBOL)
    return text


def _verbose(text: StyledText, result: Verdict) -> None:
    if result.bugcheck is not None:
        text.line(f"BUGCHECK_CODE:  {result.bugcheck.code:x}")
        for number, entry in enumerate(result.bugcheck.parameters, 1):
            text.line(f"BUGCHECK_P{number}: {entry.value:x}")
        text.line()
    for command in result.blackboxes:
        text.line(f"{command.removeprefix('!').upper()}: 1 ({command})")
    if result.blackboxes:
        text.line()
    if result.context:
        text.line(f"CONTEXT:  {result.context}")
        text.line()


def verdict(result: Verdict) -> StyledText:
    """``!analyze``."""
    text = StyledText()
    text.line(_RULE).line("*" + "Bugcheck Analysis".center(77) + "*", Style.HEADER).line(_RULE).line()
    if result.bugcheck is not None:
        text.extend(bugcheck(result.bugcheck)).line()
    else:
        text.line("The target did not crash: no bugcheck is recorded.").line()
    if result.verbose:
        _verbose(text, result)
    if result.exception is not None:
        text.add("EXCEPTION_RECORD:  ").line()
        text.extend(exception(result.exception)).line()
    if result.fault_address is not None:
        text.line("FAULTING_IP:")
        text.line(result.fault_symbol, Style.SYMBOL)
        text.line(result.fault_instruction).line()
    if result.touched is not None:
        text.line(f"MEMORY_ADDRESS:  {result.touched:016x}").line()
    process = f"{result.process_name} ({result.pid})" if result.pid is not None else "not known"
    text.line(f"PROCESS_NAME:  {process}")
    if result.thread is not None:
        text.line(f"THREAD:  {result.thread:016x}")
    text.line()
    if result.stack is not None:
        text.line("STACK_TEXT:")
        text.extend(stack(result.stack)).line()
    text.add("SYMBOL_NAME:  ").line(result.symbol_name or "not known", Style.SYMBOL)
    text.add("MODULE_NAME:  ").line(result.module_name or "not known", Style.MODULE)
    text.add("IMAGE_NAME:  ").line(result.image_name or "not known", Style.MODULE)
    if result.verbose and result.context.startswith("."):
        text.line(f"STACK_COMMAND:  {result.context.split(' (')[0]} ; kb")
    text.line(f"FAILURE_BUCKET_ID:  {result.bucket}")
    if result.verbose:
        text.line(f"SIGNATURE:  {result.signature}")
    text.line(f"CONFIDENCE:  {result.confidence}")
    text.line("EVIDENCE:")
    for entry in result.evidence:
        text.add(f"  {entry.confidence:<6} ").add(entry.image, Style.MODULE).line(f"  {entry.reason}")
    if not result.evidence:
        text.line("  none", Style.NOTE)
    if result.findings:
        text.line("FINDINGS:")
        for finding in result.findings:
            text.line(f"  {finding}")
    if result.verbose:
        text.line()
        text.line(f"OS_VERSION:  {result.system}")
        text.line(f"CRASH_TIME:  {moment(result.time)}")
        text.line(f"SYSTEM_UPTIME:  {duration(result.uptime)}")
    return text


def code_name(result: CodeName) -> StyledText:
    """``!error``."""
    text = StyledText()
    for table, name in result.names.items():
        text.line(f"{table} 0x{result.code:x} ({name})")
    if not result.names:
        text.line(f"0x{result.code:x} is in no table")
    if result.severity:
        owner = "customer" if result.customer else "Microsoft"
        text.line(f"severity {result.severity}, facility {result.facility:#x}, defined by {owner}", Style.NOTE)
    return text


def last_event(result: LastEvent) -> StyledText:
    """``.lastevent``."""
    text = StyledText().line(f"Last event: {result.text}")
    if result.time is not None:
        text.line(f"  debugger time: {moment(result.time)}")
    return text


def _hex(text: StyledText, data: bytes) -> None:
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        text.line(f"  {at:04x}  {' '.join(f'{byte:02x}' for byte in row):<47}  {shown}")


def tag_list(result: TagList) -> StyledText:
    """``.enumtag``."""
    text = StyledText()
    if not result.blocks:
        return text.line("no tagged data in this dump", Style.NOTE)
    for block in result.blocks:
        writer = f"  {block.writer}" if block.writer else ""
        cut = " (cut short)" if block.truncated else ""
        text.line(f"{{{block.guid}}} - {block.size:#x} bytes{cut}{writer}", Style.HEADER)
        _hex(text, block.preview)
        if len(block.preview) < block.size:
            rest = block.size - len(block.preview)
            text.line(f"  ... {rest:#x} more bytes; .enumtag {{{block.guid}}} shows them all", Style.NOTE)
    return text


RENDERERS = {
    BugcheckInfo: bugcheck,
    Verdict: verdict,
    CodeName: code_name,
    LastEvent: last_event,
    TagList: tag_list,
}
