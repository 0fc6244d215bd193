"""Tries a debugger on the guest and prints what works: `python lab/judge.py PROGRAM [-- OPTION…]`.

The program must take kdive's options for batch runs (``--batch -b kd --connect … --sympath-append … -c …``). Each trial
has a fresh machine; what the debugger prints is compared with what the guest says of itself, not with another debugger.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

LAB = Path(__file__).resolve().parent
sys.path.insert(0, str(LAB))
from run import GuestError, Machine  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WAIT = 40.0
_HALTED = 0.5
_TAIL = 160


class Trial(NamedTuple):
    """Something to try.

    Attributes:
        name: What it is called in the table.
        commands: What the debugger is told, a line each.
        expected: Patterns that its output must contain, besides what ``truth`` adds.
        cpus: How many processors the machine has.
        before: Commands for the guest before the debugger attaches.
        during: A command for the guest as soon as the debugger has stopped it; it is carried out when that goes on.
        truth: Makes patterns of what the guest says.
        after: Checks the machine when the debugger has left; returns what is wrong.
    """

    name: str
    commands: tuple[str, ...]
    expected: tuple[str, ...] = ()
    cpus: int = 1
    before: tuple[str, ...] = ()
    during: str = ""
    truth: Callable[[Machine], list[str]] = lambda _: []
    after: Callable[[Machine], str] | None = None


class Verdict(NamedTuple):
    """How a trial went; ``reason`` is empty if it worked."""

    seconds: float
    reason: str


def _address(text: str) -> str:
    """A pattern for an address, with or without the backtick in its middle."""
    return f"(?i){text[:8]}`?{text[8:]}"


def _modules(guest: Machine) -> list[str]:
    rows = [line.split() for line in guest.command("modules")]
    return [pattern for name, base, _ in rows for pattern in (re.escape(name.split(".")[0][:2]), _address(base))]


def _processes(guest: Machine) -> list[str]:
    rows = [line.split() for line in guest.command("processes")]
    return [
        pattern for name, pid, place, _ in rows for pattern in (re.escape(name), rf"\b(0x)?0*{pid}\b", _address(place))
    ]


def _runs_on(guest: Machine) -> str:
    """Whether the guest's clock goes on."""
    try:
        before = guest.command("ticks")
        end = time.monotonic() + _WAIT
        while guest.command("ticks") == before:
            if time.monotonic() > end:
                return "the guest's clock stands still afterwards"
    except GuestError as error:
        return f"afterwards: {error}"
    return ""


def _starts_again(guest: Machine) -> str:
    try:
        guest.wait_ready()
    except GuestError as error:
        return f"afterwards: {error}"
    return ""


AT_INNER = ("bp nt!KiInner", "g")
STOPPED = r"nt!KiInner"
TRIALS = (
    Trial("attach, leave", ("r",), (r"(?i)rip[ =]+fffff8",), after=_runs_on),
    Trial("lm", ("lm",), before=("load faulty.sys",), truth=_modules),
    Trial("!process 0 0", ("!process 0 0",), before=("create calc.exe",), truth=_processes),
    Trial("!thread", ("!thread",), (r"(?i)thread", r"nt!KiIdleLoop")),
    Trial("dt", ("dt nt!_LIST_ENTRY nt!PsActiveProcessHead",), (r"Flink", r"Blink", r"(?i)fffff800`?00")),
    Trial("k", ("k",), (r"nt!DbgBreakPointWithStatus", r"nt!KiTrap", r"nt!KiIdleLoop", r"nt!KiSystemStartup")),
    Trial("bp, g, k", (*AT_INNER, "k"), (STOPPED, r"nt!KiOuter", r"nt!KeUpdateSystemTime"), after=_runs_on),
    Trial("ba w8", ("ba w8 nt!Total", "g", "k"), (r"nt!KiInner\+", r"nt!KiOuter"), after=_runs_on),
    Trial("ba e1", ("ba e1 nt!KiOuter", "g", "k"), (r"nt!KiOuter(?!\+)", r"nt!KeUpdateSystemTime"), after=_runs_on),
    Trial("t", (*AT_INNER, "bc *", "t", "k"), (r"nt!KiInner\+0x7",), after=_runs_on),
    Trial("p", (*AT_INNER, "bc *", "p", "k"), (r"nt!KiInner\+0x7",), after=_runs_on),
    Trial("gu", (*AT_INNER, "bc *", "gu", "r"), (r"nt!KiOuter\+",), after=_runs_on),
    Trial("an exception", ("g", "k"), (r"(?i)c0000005|access violation", r"nt!Touch"), during="fault page"),
    Trial("a bugcheck", ("g", "k"), (r"(?i)\bd1\b|0x0*d1\b", r"nt!KeBugCheckEx"), during="bugcheck d1 10 2 0 1"),
    Trial("a print", ("g",), (r"hello from the guest",), during="print hello from the guest\nfault int3"),
    Trial(".reboot", (".reboot",), after=_starts_again),
    Trial("~ of four", ("~",), tuple(rf"(?m)^[ .*#]*{number}\b.*nt!" for number in range(4)), cpus=4),
    Trial("~1s, k", ("~1s", "k"), (r"nt!KiSystemStartupSecondary",), cpus=2),
    Trial("bp of two", (*AT_INNER, *("g",) * 6, "k"), (STOPPED,), cpus=2, after=_runs_on),
    Trial("ba w8 of two", ("ba w8 nt!Total", *("g",) * 6, "k"), (r"nt!KiInner\+",), cpus=2, after=_runs_on),
    Trial("t of four", (*AT_INNER, "bc *", "t", "k"), (r"nt!KiInner\+0x7",), cpus=4, after=_runs_on),
)


def _send_when_halted(guest: Machine, command: str, ended: threading.Event) -> None:
    """Wait until the guest is deaf, which is how a halt looks from here, and leave it something to do."""
    while not ended.is_set():
        guest.send("ticks")
        end = time.monotonic() + _HALTED
        while not guest.has_answer():
            if time.monotonic() > end:
                guest.send(command)
                return
            time.sleep(0.01)
        guest.answer()


def attempt(trial: Trial, program: Sequence[str], home: Path) -> Verdict:
    """Run one trial on a machine of its own."""
    with Machine(cpus=trial.cpus) as guest:
        guest.wait_ready()
        for command in trial.before:
            guest.command(command)
        patterns = [*trial.expected, *trial.truth(guest)]
        where = ("-b", "kd", "--connect", str(guest.kd), "--sympath-append", str(LAB / "images"))
        line = [*program, "--batch", *where, *(word for command in trial.commands for word in ("-c", command))]
        ended = threading.Event()
        helper = threading.Thread(target=_send_when_halted, args=(guest, trial.during, ended))
        if trial.during:
            helper.start()
        start = time.monotonic()
        try:
            done = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_WAIT,
                check=False,
                env={**os.environ, "HOME": str(home), "TERM": "dumb"},
            )
        except subprocess.TimeoutExpired:
            return Verdict(_WAIT, "does not come back")
        finally:
            ended.set()
            if trial.during:
                helper.join()
        seconds = time.monotonic() - start
        reason = _missing(patterns, done.stdout, done.stderr)
        if not reason and trial.after is not None:
            reason = trial.after(guest)
        return Verdict(seconds, reason)


def _missing(patterns: list[str], output: str, errors: str) -> str:
    # The echo of what was typed proves nothing.
    shown = "\n".join(line for line in output.splitlines() if "kd> " not in line)
    missing = [pattern for pattern in patterns if not re.search(pattern, f"{shown}\n{errors}")]
    if not missing:
        return ""
    tail = " ".join((shown.strip() or errors.strip()).split())[-_TAIL:]
    return f"no {' and no '.join(missing)} in: …{tail}"


def main() -> None:
    """Run the trials and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the debugger")
    parser.add_argument("options", nargs="*", help="more options for it, behind --")
    parser.add_argument("--only", default="", help="trials whose name contains this")
    arguments = parser.parse_args()
    worked = total = 0
    with tempfile.TemporaryDirectory() as home:
        for trial in TRIALS:
            if arguments.only not in trial.name:
                continue
            verdict = attempt(trial, (arguments.program, *arguments.options), Path(home))
            total += 1
            worked += not verdict.reason
            state = "differs" if verdict.reason else "works"
            print(f"{trial.name:16} {state:8} {verdict.seconds:5.1f} s  {verdict.reason}", flush=True)
    print(f"{worked} of {total} work")


if __name__ == "__main__":
    main()
