"""``command``, the whole debugger in one tool, and ``output``, which reads on in long results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kdive.frontends.mcp.refusal import refuse_line
from kdive.frontends.mcp.tool import LOOKS, Call, Hints, Tool, ToolResult, choice, integer, text

if TYPE_CHECKING:
    from kdive.frontends.mcp.desk import Desk, Ran

_MAX_LINE = 65_536


async def command(call: Call) -> ToolResult:
    """``command``: run a line."""
    box = call.box
    line = call.arguments["line"]
    structured = call.arguments["format"] == "json"

    def work(desk: Desk) -> tuple[Ran, str]:
        refuse_line(line, desk.shell.dispatcher)
        ran = desk.run(line, structured=structured)
        if structured:
            # Indented, so that a long result has lines to page and search.
            return ran, json.dumps(box.cleaner.data(ran.data), ensure_ascii=False, indent=1)
        return ran, "\n".join((*ran.before, *filter(None, (box.cleaner.body(ran.text),)), *ran.after))

    ran, text_ = await box.slot.run(work, _short(line), call.progress)
    shown = box.outputs.first_page(text_)
    if structured:
        return ToolResult(shown, ran.failed)
    return ToolResult(f"{shown}\n{ran.trailer}" if shown else ran.trailer, ran.failed)


def _short(line: str) -> str:
    """A line for messages."""
    line = " ".join(line.split())
    return f"`{line if len(line) <= 60 else line[:57] + '…'}`"


async def output(call: Call) -> ToolResult:
    """``output``: read on in a kept result; needs no session."""
    wanted = call.arguments
    text_ = call.box.outputs.page(wanted["id"], wanted["offset"], wanted.get("limit"), wanted.get("filter") or "")
    return ToolResult(text_)


CONSOLE_TOOLS = (
    Tool(
        "command",
        "Run a debugger command",
        "Run one line of WinDbg commands (several parted by `;`) and return the text. This is the whole debugger: "
        "`help` lists the commands, `help k` explains one. Common: `!analyze -v`, `k`, `r`, `.ecxr`, `lm`, "
        "`lmvm nt`, `!process 0 0`, `.process /r /p <eprocess>`, `!thread`, `dt nt!_EPROCESS <address>`, "
        "`dq <address> L8`, `u <address>`, `x nt!Ke*`, `ln <address>`, `!pte <address>`. Numbers are hexadecimal; "
        "0n10 is decimal. The state (aliases, radix, scope, variables) persists. A command that fails ends the line. "
        "Commands that run the target (g p t… .reboot .crash) are refused, except t: use resume, wait_for_stop. "
        "Long results come in pages; output reads on.",
        command,
        {
            "line": text("the command line, for example `!analyze -v; k`", _MAX_LINE),
            "format": choice("text, or json: every command's result as data", ("text", "json"), "text"),
        },
        ("line",),
        Hints(destructive=True),
    ),
    Tool(
        "output",
        "Read on in a long result",
        "Read a long result further, by the id in its footer `[output <id>: …]`; or only the lines that contain "
        "`filter`, each after its offset.",
        output,
        {
            "id": integer("from the footer", 0, 1 << 53),
            "offset": integer("first line", 0, 1 << 53, 0),
            "limit": integer("most lines; default: a page", 1, 1 << 53),
            "filter": text("only lines with this text, in any case"),
        },
        ("id",),
        LOOKS,
    ),
)
