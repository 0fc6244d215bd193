"""Ready-made requests that a user can pick in a client, with completion of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.commands.registry import Registry
from kdive.errors import KdiveError
from kdive.frontends.mcp.tool import ArgumentError
from kdive.record import Record, field

if TYPE_CHECKING:
    from kdive.frontends.mcp.desk import Desk
    from kdive.frontends.mcp.toolbox import Toolbox

MAX_COMPLETIONS = 100


class PromptArgument(Record, frozen=True):
    """An argument of a prompt: its name, what it means, whether it must be given, and what completes it."""

    name: str
    description: str
    required: bool = False
    completed_by: str = ""


class Prompt(Record, frozen=True):
    """A prompt; ``text`` holds ``{argument}`` where an argument goes, and ``fallbacks`` says what else goes there."""

    name: str
    title: str
    description: str
    text: str
    arguments: tuple[PromptArgument, ...] = ()
    fallbacks: dict[str, str] = field(default_factory=dict[str, str])


PROMPTS = (
    Prompt(
        "triage_crash",
        "Triage a crash dump",
        "Find out why a system crashed, and who is to blame, with evidence.",
        "Triage the crash dump {dump}.\n"
        "1. If `status` says that no session is active, call `open` with backend `dump` and that file.\n"
        "2. Call `analyze`. Note the bugcheck, its parameters, the faulting instruction, the blamed driver, and how "
        "confident the verdict is.\n"
        "3. Check it: `command` with `.ecxr; k` for the stack of the exception; frames marked [scan] are guesses. "
        "`lmvm <module>` for the driver's version and whether its symbols are there; `u` around the fault; "
        "`!pte <address>` or `!address <address>` for an address that was touched.\n"
        "4. Say in order: what happened; which driver or component and why you think so; what speaks against it; "
        "which symbols or facts are missing; what to do next. Quote addresses and symbols as they were shown.",
        (PromptArgument("dump", "path of the dump file"),),
        {"dump": "that is open (or ask which file to open)"},
    ),
    Prompt(
        "triage_hang",
        "Triage a hang",
        "Find out who waits for whom when a system hangs.",
        "The system hangs{process}. Find the thread that holds what the others wait for.\n"
        "1. `command` with `!running -t` shows what each processor runs; look for a processor that spins.\n"
        "2. `processes`, then `threads` for the suspicious ones: note wait reasons and how many threads share one.\n"
        "3. For each waiting thread of interest call `stack` with its id; find the object or lock that it waits for "
        "in the frames, and `dt` it to find its owner.\n"
        "4. Follow owner to owner until a thread does not wait, or the chain closes in a deadlock.\n"
        "Answer with the chain, thread by thread, each with its stack's telling frames, and with what you could not "
        "see.",
        (PromptArgument("process", "image name of the process that hangs", completed_by="process"),),
        {"process": ""},
    ),
    Prompt(
        "catch_breakpoint",
        "Set a breakpoint and catch it",
        "Stop a live target in a function and look at the caller.",
        "Catch the next call of {symbol} on the live target.\n"
        "1. `status`; if it runs, `interrupt`.\n"
        "2. `command` with `bp {symbol}`, then `bl` to see that it is set.\n"
        "3. `resume`, then `wait_for_stop` again and again until `stop` is `breakpoint`; `running` means that the "
        "time is over and nothing is lost.\n"
        "4. `stack` and `registers`; the first arguments are in rcx, rdx, r8, r9. Say who called and with what.\n"
        "5. `command` with `bc *`, then `resume`. If the target is a dump, say that it cannot run.",
        (PromptArgument("symbol", "where to stop, such as nt!NtCreateFile", True, "symbol"),),
    ),
    Prompt(
        "investigate_driver",
        "Investigate a driver",
        "What a driver is, what state it is in, and whether it has to do with the crash.",
        "Investigate the driver {driver}.\n"
        "1. `modules` with pattern `{driver}` and details; `command` with `!lmi {driver}` and `!dh -f {driver}`: "
        "version, vendor, build date, symbols.\n"
        "2. `symbols` with pattern `{driver}!*` if it has symbols; else the exports.\n"
        "3. Where does it appear? `analyze` for the crash; `stack` and `!running -t` for threads inside it.\n"
        "4. `disassemble` the code around each of its frames and say what it was doing.\n"
        "Conclude whether it is involved, and how sure you are.",
        (PromptArgument("driver", "module name, such as tcpip", True, "module"),),
    ),
)


def render(name: str, arguments: dict[str, str]) -> tuple[Prompt, str]:
    """Fill in a prompt.

    Raises:
        ArgumentError: There is no such prompt, or an argument is missing or unknown.
    """
    prompt = next((entry for entry in PROMPTS if entry.name == name), None)
    if prompt is None:
        raise ArgumentError(f"no prompt {name!r}; prompts: {', '.join(entry.name for entry in PROMPTS)}")
    known = {argument.name for argument in prompt.arguments}
    unknown = sorted(set(arguments) - known)
    if unknown:
        raise ArgumentError(f"{name} takes no argument {unknown[0]!r}")
    values = dict(prompt.fallbacks)
    for argument in prompt.arguments:
        value = " ".join(arguments.get(argument.name, "").split())
        if value:
            values[argument.name] = f" in {value}" if argument.name == "process" else value
        elif argument.required:
            raise ArgumentError(f"{name} needs the argument {argument.name!r}")
    text = prompt.text
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return prompt, text


async def complete(box: Toolbox, kind: str, name: str, argument: str, begun: str) -> list[str]:
    """Complete an argument of a prompt or of a resource's address; nothing fits when no session is open.

    Args:
        box: The server's state.
        kind: ``prompt`` or ``resource``.
        name: Which prompt, or which template.
        argument: Which argument.
        begun: What the user has typed.
    """
    if kind == "resource":
        return (
            [entry for entry in Registry().names() if entry.startswith(begun)]
            if argument == "command"
            else ([str(number) for number in box.outputs.ids() if str(number).startswith(begun)])
        )
    prompt = next((entry for entry in PROMPTS if entry.name == name), None)
    found = next((entry for entry in prompt.arguments if entry.name == argument), None) if prompt else None
    if found is None or not found.completed_by:
        return []
    source = found.completed_by
    try:
        return box.cleaner.data(await box.slot.run(lambda desk: _candidates(desk, source, begun), "completion"))
    except KdiveError:
        return []


def _candidates(desk: Desk, source: str, begun: str) -> list[str]:
    lower = begun.lower()
    if source == "module":
        names = [state.module.name for state in desk.session.engine.states]
    elif source == "process":
        names = [process.name for process in desk.result_of("!process 0 0").processes]
    else:
        module, mark, prefix = begun.partition("!")
        if not mark:
            return [f"{name}!" for name in _candidates(desk, "module", begun)]
        if any(char in module + prefix for char in " ;*?[]"):
            return []
        names = [row.name for row in desk.result_of(f"x {module}!{prefix}*").symbols]
    return sorted({name for name in names if name.lower().startswith(lower)})
