"""The Python SDK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kdive
from kdive.errors import CommandError, ExpressionError, StaleHandleError
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parent.parent / "docs" / "examples"


@pytest.fixture
def debugger() -> Iterator[kdive.Debugger]:
    with kdive.open_dump(SAMPLE / "crash.dmp", symbol_path="", isf=[SAMPLE / "isf"], offline=True) as opened:
        yield opened


def test_a_dump_has_modules_processes_threads_and_a_stack(debugger: kdive.Debugger) -> None:
    assert [module.name for module in debugger.modules] == ["nt", "faulty"]
    assert [process.name for process in debugger.processes] == ["System", "smss.exe", "app.exe"]
    assert [thread.tid for thread in debugger.threads(debugger.processes[2])] == [0x7D8]
    frames = debugger.stack()
    assert frames[0].symbol == "nt!KeBugCheckEx"
    assert frames[3].symbol.startswith("faulty!ReadDeviceRegister")
    assert debugger.registers["rip"] == frames[0].ip


def test_symbols_types_and_memory(debugger: kdive.Debugger) -> None:
    address = debugger.symbols.address_of("nt!NtBuildLab")
    assert debugger.memory.cstring(address).startswith("19041")
    assert debugger.symbols.name_of(address + 4) == "nt!NtBuildLab+0x4"
    assert ("nt", "KeBugCheckEx") in {(m.name, s.name) for m, s in debugger.symbols.search("nt!*BugCheck*")}
    system = debugger.types.view("nt!_EPROCESS", debugger.processes[0].address)
    assert system["UniqueProcessId"] == 4
    assert debugger.types.layout("nt!_LIST_ENTRY").size == 16
    assert debugger.physical is not None


def test_bugcheck_commands_and_expressions(debugger: kdive.Debugger) -> None:
    found = debugger.bugcheck
    assert found is not None
    assert found[0].name == "DRIVER_IRQL_NOT_LESS_OR_EQUAL"
    assert found[1][1] == 2
    assert "faulty.sys" in debugger.command("!analyze")
    assert debugger.eval("nt!KeBugCheckEx + 1") == debugger.symbols.address_of("nt!KeBugCheckEx") + 1
    with pytest.raises(CommandError):
        debugger.command("nope")
    with pytest.raises(ExpressionError):
        debugger.eval("nope!nope")


def test_a_closed_debugger_says_so() -> None:
    opened = kdive.open_dump(SAMPLE / "crash.dmp", symbol_path="", offline=True)
    opened.close()
    opened.close()
    for use in (lambda: opened.modules, lambda: opened.memory, opened.stack, lambda: opened.command("k")):
        with pytest.raises(StaleHandleError):
            use()


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, kdive; print(sorted(m for m in sys.modules if m.startswith('kdive')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "['kdive', 'kdive.errors', 'kdive.version']"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_examples_run(example: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), str(SAMPLE / "crash.dmp"), "", str(SAMPLE / "isf")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "faulty" in done.stdout
