"""The MCP server's tools, without MCP: what each takes, does and gives.

One session slot with three states (vacant, opening, active) stands behind all tools. Handlers are coroutines; whatever
touches the session is a job on its owner thread, with a deadline, so that no call can hang a client.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kdive.addr import json_address
from kdive.errors import CommandError, DeadlineError, KdiveError, UnsupportedError, UsageError
from kdive.frontends.opening import OpenRequest, SymbolRequest, open_session
from kdive.frontends.shell import Shell
from kdive.render.console import error_text
from kdive.render.text import TextRenderer
from kdive.session.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.commands.dispatch import Outcome
    from kdive.session.owner import Job

COMMAND_DEADLINE = 60.0
CLOSE_DEADLINE = 5.0
RUN_CONTROL = frozenset(
    ("g", "gh", "gn", "gu", "p", "pa", "pc", "pt", "ph", "ta", "tc", "tt", "th", "wt", ".reboot", ".crash")
)
NO_SESSION = "no debugger session is active; call open to attach"
OPENING = "a debugger session is still opening; retry shortly"
BUSY = "a debugger session is already active or opening"

INSTRUCTIONS = " ".join(
    (
        "kdive is a Windows kernel debugger that speaks WinDbg's command language.",
        "`open` opens a crash dump; `command` runs any debugger command line and is the whole debugger:",
        "`help` lists the commands, `help k` explains one, several commands may be parted by `;`.",
        "Start with `!analyze -v`: it names the bugcheck, the faulting instruction and the driver to blame,",
        "with the evidence. Then `k` (stack; frames marked [scan] are guesses), `.ecxr` (registers at the exception),",
        "`lm`, `lmvm <module>` (symbols: what was used and what is missing), `!process -1 7`,",
        "`dt nt!_TYPE <address>`. `status` is cheap and tells where the target stands.",
        "A dump is always halted: commands that run the target are refused.",
        "Addresses in JSON are hex strings. Numbers in commands are hexadecimal unless written 0n10.",
        "A command that fails ends its line; the result says what was not run.",
        "Before calling open, ask the user which dump file to open instead of guessing.",
        "`close` frees the session slot.",
    )
)


class ArgumentError(Exception):
    """The arguments of a call are wrong; becomes the protocol's *invalid params*."""


@dataclass(frozen=True)
class ToolResult:
    """What a call gives: text for a person or a model, data for a program, and whether it failed."""

    text: str
    is_error: bool = False
    data: dict[str, Any] | None = None


@dataclass(frozen=True)
class Tool:
    """A tool's declaration.

    Attributes:
        name: Its name.
        title: For people.
        description: For models.
        properties: JSON schema of the arguments.
        required: Arguments that must be given.
        read_only: It changes nothing.
        output: JSON schema of the data, if it gives data.
    """

    name: str
    title: str
    description: str
    properties: dict[str, Any] = field(default_factory=dict[str, Any])
    required: tuple[str, ...] = ()
    read_only: bool = False
    output: dict[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the whole argument object."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


_ADDRESS = {"type": ["string", "null"]}
TOOLS = (
    Tool(
        "command",
        "Run a debugger command",
        "Run one line of WinDbg commands (parted by `;`) and return its text. The state (aliases, radix, scope, "
        "variables) persists between calls. Commands that run the target are refused on a dump.",
        {"line": {"type": "string", "description": "the command line, for example `!analyze -v; k`"}},
        ("line",),
    ),
    Tool(
        "status",
        "Show the session's state",
        "Where the target stands: whether it runs, the current instruction, thread and process, the kernel's base.",
        read_only=True,
        output={
            "type": "object",
            "properties": {
                "running": {"type": "boolean"},
                "current_thread": _ADDRESS,
                "rip": _ADDRESS,
                "symbol": {"type": ["string", "null"]},
                "attached_process": {"type": ["object", "null"]},
                "stopped_process": {"type": ["object", "null"]},
                "stopped_thread": {"type": ["object", "null"]},
                "coherent": {"type": "boolean"},
                "kernel_base": _ADDRESS,
            },
            "required": ["running", "coherent"],
        },
    ),
    Tool(
        "open",
        "Open a target",
        "Open a target; this release opens crash dumps (backend `dump`, connect = the file's path). Fails while "
        "another session is active.",
        {
            "backend": {"type": "string", "enum": ["kd", "kdnet", "gdb", "memory", "dump"]},
            "connect": {"type": "string", "description": "the path of the dump file"},
            "key": {"type": "string", "description": "KDNET key"},
        },
        ("backend",),
    ),
    Tool("close", "Close the session", "Close the session and free its slot; a live guest would run on."),
)


class Toolbox:
    """The session slot and the tools on it.

    Args:
        symbols: Where symbols come from, for every session opened.
        deadline: Seconds that a command may take.
    """

    def __init__(self, symbols: SymbolRequest | None = None, deadline: float = COMMAND_DEADLINE) -> None:
        self._symbols = symbols or SymbolRequest()
        self._deadline = deadline
        self._owner: Owner | None = None
        self._shell: Shell | None = None
        self._opening = False
        self._generation = 0
        self._output: list[str] = []

    # --- calls -----------------------------------------------------------------------------------------------------

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ArgumentError: The arguments do not fit, or there is no such tool.
        """
        tool = next((entry for entry in TOOLS if entry.name == name), None)
        if tool is None:
            raise ArgumentError(f"no tool {name!r}; tools: {', '.join(entry.name for entry in TOOLS)}")
        _check(tool, arguments)
        handler: Callable[..., Any] = getattr(self, f"_{name}")
        return await handler(**arguments)

    async def _job(self, work: Callable[[], Any], deadline: float) -> Any:
        """Run work on the owner thread; cancel it when the client gives up or the time is over."""
        owner = self._owner
        if owner is None:
            raise CommandError(NO_SESSION)
        job: Job[Any] = owner.submit(work, deadline)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(job.future)), deadline + 1.0)
        except TimeoutError:
            job.cancel()
            raise DeadlineError(f"the command did not end within {deadline:g} seconds and was cancelled") from None
        except asyncio.CancelledError:
            job.cancel()
            raise

    def _ready(self) -> ToolResult | None:
        if self._opening:
            return ToolResult(OPENING, is_error=True)
        return ToolResult(NO_SESSION, is_error=True) if self._shell is None else None

    # --- tools -----------------------------------------------------------------------------------------------------

    async def _command(self, line: str) -> ToolResult:
        refused = _run_control(line)
        if refused:
            return ToolResult(
                f"error: {refused} would run the target and block the session\n"
                "hint: use resume and wait_for_stop on a live target; a dump cannot run",
                is_error=True,
            )
        unready = self._ready()
        shell = self._shell
        if unready is not None or shell is None:
            return unready or ToolResult(NO_SESSION, is_error=True)

        def work() -> tuple[list[str], Outcome, str]:
            self._output = []
            outcome = shell.run(line)
            return self._output, outcome, _trailer(shell)

        try:
            output, outcome, trailer = await self._job(work, self._deadline)
        except KdiveError as error:
            return ToolResult(error_text(error).plain(), is_error=True)
        parts = [text for text in output if text]
        if outcome.error is not None:
            parts.append(error_text(outcome.error, outcome.not_run).plain())
        if outcome.quit:
            parts.append("q is for people at a prompt: the close tool ends the session")
        parts.append(trailer)
        return ToolResult("\n".join(parts), is_error=outcome.error is not None)

    def _collect(self, command: str, result: Any) -> None:
        del command
        if result is not None:
            self._output.append(TextRenderer().plain(result))

    async def _status(self) -> ToolResult:
        unready = self._ready()
        shell = self._shell
        if unready is not None or shell is None:
            return unready or ToolResult(NO_SESSION, is_error=True)
        try:
            data = await self._job(lambda: status_data(shell), self._deadline)
        except KdiveError as error:
            return ToolResult(error_text(error).plain(), is_error=True)
        import json

        return ToolResult(json.dumps(data), data=data)

    async def _open(self, backend: str, connect: str | None = None, key: str | None = None) -> ToolResult:
        request = OpenRequest(backend, connect, key, self._symbols)
        try:
            request.check()
        except UsageError as error:
            raise ArgumentError(str(error)) from error
        except UnsupportedError as error:
            return ToolResult(error_text(error).plain(), is_error=True)
        if self._opening or self._shell is not None:
            return ToolResult(BUSY, is_error=True)
        self._generation += 1
        generation = self._generation
        self._opening = True
        owner = Owner()
        self._owner = owner
        try:
            shell, processors, notices = await self._job(lambda: self._attach(owner, request), self._deadline)
        except KdiveError as error:
            self._release(generation, owner)
            return ToolResult(error_text(error).plain(), is_error=True)
        except BaseException:
            self._release(generation, owner)
            raise
        finally:
            if generation == self._generation:
                self._opening = False
        if generation != self._generation:
            # close() has given the slot back while the target was being opened, and has ended this owner.
            return ToolResult("error: the open was cancelled by close", is_error=True)
        self._shell = shell
        data = {"status": "connected", "backend": backend, "connect": connect, "processors": processors}
        import json

        return ToolResult(json.dumps(data) + "".join(f"\nwarning: {notice}" for notice in notices), data=data)

    def _attach(self, owner: Owner, request: OpenRequest) -> tuple[Shell, int, list[str]]:
        """Open a session; runs on the owner thread."""
        session = owner.adopt(open_session(request))
        return Shell(session, self._collect), session.target.processors, session.notices()

    def _release(self, generation: int, owner: Owner) -> None:
        """Roll a claim of the slot back, unless another claim has followed."""
        if generation == self._generation:
            self._owner = None
            self._shell = None
        owner.stop(timeout=0)

    async def _close(self) -> ToolResult:
        import json

        if self._opening:
            self._generation += 1
            owner, self._owner, self._opening = self._owner, None, False
            if owner is not None:
                owner.stop(timeout=0)
            data = {"status": "closed", "note": "an open that was pending was cancelled"}
            return ToolResult(json.dumps(data), data=data)
        owner = self._owner
        if owner is None or self._shell is None:
            return ToolResult("no debugger session is active", is_error=True)
        ended = await asyncio.to_thread(owner.stop, CLOSE_DEADLINE)
        if not ended:
            data = {"status": "pending", "warning": "the session did not end in time; try again"}
            return ToolResult(json.dumps(data), is_error=True, data=data)
        self._owner = self._shell = None
        data = {"status": "closed"}
        return ToolResult(json.dumps(data), data=data)

    def shutdown(self) -> None:
        """Close the session when the server ends."""
        if self._owner is not None:
            self._owner.stop(CLOSE_DEADLINE)
            self._owner = self._shell = None


def status_data(shell: Shell) -> dict[str, Any]:
    """The answer of ``status``; runs on the owner thread."""
    session = shell.session

    def process(entry: Any) -> dict[str, Any] | None:
        if entry is None:
            return None
        try:
            return {"pid": entry.pid, "name": entry.name, "eprocess": json_address(entry.address)}
        except KdiveError:
            return None

    try:
        ip: int | None = session.context().ip
    except KdiveError:
        ip = None
    thread = session.thread
    address = thread.address if thread is not None else session.kernel.triage_thread
    base = session.kernel.base
    stopped = None
    if thread is not None:
        stopped = {"tid": thread.tid, "pid": thread.pid, "ethread": json_address(thread.address)}
    return {
        "running": False,
        "current_thread": json_address(address) if address else None,
        "rip": json_address(ip) if ip is not None else None,
        "symbol": session.engine.name_of(ip) if ip is not None else None,
        "attached_process": process(session.scope.process),
        "stopped_process": process(session.current_process),
        "stopped_thread": stopped,
        "coherent": True,
        "kernel_base": json_address(base) if base is not None else None,
    }


def _trailer(shell: Shell) -> str:
    """The line that ends every command's result."""
    session = shell.session
    data = status_data(shell)
    text = f"[target halted @ {session.scope.processor} {data['rip'] or '?'} {data['symbol'] or ''}".rstrip()
    for label, key in (("process", "stopped_process"), ("scope", "attached_process")):
        if data[key]:
            text += f" | {label} {data[key]['name']} ({data[key]['pid']})"
    return text + "]"


def _run_control(line: str) -> str:
    """The first command of a line that would run the target, or an empty string."""
    from kdive.expr.commandline import split_commands

    for command in split_commands(line):
        word = re.match(r"~?[.\w]+", command)
        if word and word.group().lstrip("~") in RUN_CONTROL:
            return word.group()
    return ""


def _check(tool: Tool, arguments: dict[str, Any]) -> None:
    for name in tool.required:
        if name not in arguments:
            raise ArgumentError(f"{tool.name} needs the argument {name!r}")
    for name, value in arguments.items():
        schema = tool.properties.get(name)
        if schema is None:
            known = ", ".join(tool.properties) or "none"
            raise ArgumentError(f"{tool.name} takes no argument {name!r}; arguments: {known}")
        if not isinstance(value, str):
            raise ArgumentError(f"{tool.name}: {name} must be a string")
        if "enum" in schema and value not in schema["enum"]:
            raise ArgumentError(f"{tool.name}: {name} must be one of {', '.join(schema['enum'])}")
