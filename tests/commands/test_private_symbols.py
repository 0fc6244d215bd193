"""Variables, inlined calls and source code of a real driver with private symbols.

The driver's PDB is put to the sample dump at a free address; registers are set to lie in its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kdive.arch.context import RegisterContext
from kdive.commands.dispatch import Dispatcher
from kdive.commands.results.dx import ModelNode
from kdive.commands.results.expressions import Evaluated
from kdive.commands.results.source import SourceFolders, SourceListing, Variables
from kdive.commands.results.stack import Stack
from kdive.render.text import TextRenderer
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.commands.test_stack import run
from tests.data import need
from tests.tools_sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kdive.errors import KdiveError

BASE = 0xFFFFF80012340000
INITIALIZE_APC, WORK_ITEM = 0x1180, 0x1330


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    folder = need("symbols/pairs/ksi-amd64/ksi.pdb").parent
    options = SessionOptions(str(folder), (SAMPLE / "isf",), offline=True, cache=tmp_path)
    session = Session(open_dump(SAMPLE / "crash.dmp"), options)
    run(session, f".reload /i ksi.dll={BASE:x},a000")
    yield session
    session.close()


def stop_at(session: Session, rva: int, **registers: int) -> None:
    values = dict(session.base_context().values) | {"rip": BASE + rva} | registers
    session.set_context(RegisterContext("amd64", values), "test")


def failure(session: Session, line: str) -> KdiveError:
    outcome = Dispatcher(session, lambda *_: None, TextRenderer().plain).run(line)
    assert outcome.error is not None
    return outcome.error


def test_parameters_are_read_from_the_registers_they_live_in(session: Session) -> None:
    stop_at(session, INITIALIZE_APC, rcx=0x1111, rdx=0x2222, r8=0x3333, r9=2)
    (found,) = run(session, "dv /t /v")
    assert isinstance(found, Variables)
    rows = {row.name: row for row in found.variables}
    assert [rows[name].where for name in ("Apc", "DriverObject", "Thread", "Environment")] == [
        "@rcx",
        "@rdx",
        "@r8",
        "@r9d",
    ]
    assert rows["Apc"].number == 0x1111
    assert rows["Apc"].type == "_KSI_KAPC*"
    assert rows["Environment"].value == "2 ( CurrentApcEnvironment )"
    assert all(row.parameter for row in found.variables)
    assert len(rows) == len(found.variables) == 9


def test_parameters_on_the_stack_are_read_there(session: Session) -> None:
    stop_at(session, INITIALIZE_APC)
    stack = session.base_context().sp
    (found,) = run(session, "dv NormalRoutine")
    assert isinstance(found, Variables)
    (row,) = found.variables
    assert row.where == "@rsp+0x38"
    assert row.address == stack + 0x38
    assert row.number == session.memory.u64(stack + 0x38)


def test_what_is_optimised_away_says_so(session: Session) -> None:
    stop_at(session, 0x13A4)
    (found,) = run(session, "dv driverObject")
    assert isinstance(found, Variables)
    assert found.variables[0].value == "not available at this address"
    assert "'driverObject' has no value here" in str(failure(session, "?? driverObject"))


def test_expressions_know_variables_by_name(session: Session) -> None:
    stop_at(session, INITIALIZE_APC, rcx=0x1111, r9=2)
    found = run(session, "? Apc + 1; ?? Environment; ? $!Apc; dx Environment")
    first, second, third, fourth = found
    assert isinstance(first, Evaluated)
    assert first.value == 0x1112
    assert isinstance(second, Evaluated)
    assert second.enumerator == "CurrentApcEnvironment"
    assert isinstance(third, Evaluated)
    assert third.value == 0x1111
    assert isinstance(fourth, ModelNode)
    assert fourth.value == "CurrentApcEnvironment (2)"


def test_inlined_calls_are_frames_of_their_own(session: Session) -> None:
    stop_at(session, WORK_ITEM + 4)
    (stack,) = run(session, "kn 3")
    assert isinstance(stack, Stack)
    inner, outer = stack.frames[:2]
    assert (inner.how, inner.symbol) == ("inline", "ksi!ExInitializeWorkItem")
    assert (outer.how, outer.symbol) == ("context", "ksi!KsiInitializeWorkItem+0x4")
    assert inner.source is not None
    assert inner.source.endswith("wdm.h @ 27033")
    assert outer.source is not None
    assert outer.source.endswith("ksidll.c @ 302")
    assert (inner.child_sp, inner.ip) == (outer.child_sp, outer.ip)
    assert "(Inline Function)" in TextRenderer().plain(stack)


def test_each_frame_of_an_inlined_call_shows_its_own_variables(session: Session) -> None:
    stop_at(session, WORK_ITEM + 4)
    _, _, around = run(session, ".frame 0; .frame 1; dv")
    assert isinstance(around, Variables)
    assert {row.function for row in around.variables} == {"KsiInitializeWorkItem"}
    inner = run(session, ".frame 0; dv")[-1]
    assert isinstance(inner, Variables)
    assert {row.function for row in inner.variables} <= {"ExInitializeWorkItem"}


def test_variables_at_an_address_come_without_values(session: Session) -> None:
    (found,) = run(session, f"dv {BASE + INITIALIZE_APC:x}+0")
    assert isinstance(found, Variables)
    assert found.place == "ksi!KsiInitializeApc"
    assert {row.number for row in found.variables} == {None}


def test_code_without_private_symbols_has_no_variables(session: Session) -> None:
    (found,) = run(session, "dv")
    assert isinstance(found, Variables)
    assert found.note == "the symbols record no variables at nt!KeBugCheckEx"


def test_source_that_is_not_at_hand_is_named_with_what_to_do(session: Session) -> None:
    error = failure(session, "lsa ksi!KsiInitializeApc")
    assert "not on the source path" in error.what
    assert error.where is not None
    assert error.where.endswith(r"KSystemInformer\ksidll.c")
    assert error.hint is not None


def test_another_version_of_a_source_file_is_refused(session: Session, tmp_path: Path) -> None:
    (tmp_path / "ksidll.c").write_text("not what was compiled\n" * 1000)
    error = failure(session, f".srcpath {tmp_path}; lsa ksi!KsiInitializeApc")
    assert "ksidll.c is not the file that was compiled" in error.what


def test_source_is_listed_around_the_line_and_goes_on(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "src" / "ksysteminformer"
    folder.mkdir(parents=True)
    (folder / "KSIDLL.C").write_text("".join(f"line {number}\n" for number in range(1, 1001)))
    # The real file is not at hand: its recorded checksum is taken for that of the one here.
    monkeypatch.setattr("kdive.session.source._checksum", lambda *_: recorded(session))
    prefix = r"C:\Users\aione\source\repos\systeminformer\KSystemInformer"
    folders, first, more, absolute = run(
        session, f".srcpath {tmp_path / 'src'};{prefix}={folder}; lsa ksi!KsiInitializeApc; ls; ls 1, 2"
    )
    assert isinstance(folders, SourceFolders)
    assert len(folders.roots) == 2
    assert isinstance(first, SourceListing)
    assert first.current == first.first + 5
    assert first.lines[5] == f"line {first.current}"
    assert first.checked
    assert isinstance(more, SourceListing)
    assert more.first == first.first + 10
    assert isinstance(absolute, SourceListing)
    assert absolute.lines == ["line 1", "line 2"]


def recorded(session: Session) -> bytes:
    state = session.engine.state_named("ksi")
    assert state is not None
    assert state.symbols is not None
    line = state.symbols.line(INITIALIZE_APC)
    assert line is not None
    assert line.source is not None
    return line.source.checksum
