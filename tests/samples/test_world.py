"""The sample crash: what ships, and what the engine makes of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.render.text import TextRenderer
from kdive.samples.world import KERNEL_PDB, LAYOUTS, World, build_world
from kdive.session.session import Session, SessionOptions
from kdive.targets.dump import open_dump
from tests.tools_sample import SAMPLE, write_world

if TYPE_CHECKING:
    from kdive.commands.dispatch import Outcome

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def world() -> World:
    return build_world()


def run(session: Session, line: str) -> tuple[str, Outcome]:
    renderer = TextRenderer()
    shown: list[str] = []
    outcome = Dispatcher(session, lambda _, result: shown.append(renderer.plain(result)), renderer.plain).run(line)
    return "\n".join(shown), outcome


def test_the_shipped_sample_is_what_the_tool_makes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_sample", ROOT / "tools" / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make(tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {path.relative_to(SAMPLE): path.read_bytes() for path in SAMPLE.rglob("*") if path.is_file()}
    assert made == shipped


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_system(layout: str, world: World, tmp_path: Path) -> None:
    session = write_world(world, tmp_path, layout)
    frames = session.stack()
    names = [session.engine.name_of(frame.ip) for frame in frames]
    assert [(frame.ip, frame.child_sp) for frame in frames] == [(ip, sp) for _, ip, sp in world.frames]
    assert {frame.how for frame in frames[1:]} == {"unwind"}
    assert all(name and name.startswith(wanted) for name, (wanted, _, _) in zip(names, world.frames, strict=True))
    text, outcome = run(session, "!process 0 0; lm")
    assert outcome.error is None
    assert text.count("PROCESS ") == 3
    assert "gone.sys" in text


def test_five_level_paging_is_recognised(tmp_path: Path) -> None:
    world = build_world(levels=5)
    session = write_world(world, tmp_path)
    text, outcome = run(session, "!pte rip; k")
    assert outcome.error is None
    assert "P5E" in text
    assert "faulty!ReadDeviceRegister" in text


def test_an_encoded_debugger_block_is_decoded_with_the_kernels_keys(tmp_path: Path) -> None:
    session = write_world(build_world(encoded=True), tmp_path)
    kernel = session.kernel
    decoded = kernel.debugger_data
    assert decoded is not None
    assert decoded.encoded
    assert decoded.kernel_base == kernel.base
    assert decoded.pointer("PsLoadedModuleList") == kernel.symbol("PsLoadedModuleList")


def test_the_driver_is_blamed_with_and_without_symbols(world: World, tmp_path: Path) -> None:
    for isf in (True, False):
        session = write_world(world, tmp_path / str(isf), isf=isf)
        text, outcome = run(session, "!analyze")
        assert outcome.error is None
        assert "IMAGE_NAME:  faulty.sys" in text
        assert "FAILURE_BUCKET_ID:  0xD1_faulty!ReadDeviceRegister" in text


def test_user_space_is_read_through_the_process_chosen(world: World, tmp_path: Path) -> None:
    session = write_world(world, tmp_path)
    text, outcome = run(session, ".process 0n2000; !peb; !dlls")
    assert outcome.error is None
    assert "app.exe" in text
    assert "ntdll" in text
    text, outcome = run(session, ".process 0; !peb")
    assert outcome.error is not None


GOLDEN = Path(__file__).resolve().parents[1] / "golden"
GOLDEN_LINES = {
    "vertarget": ".time; .bugcheck; .lastevent; status; capabilities; .effmach",
    "stack": "k; kn 3; kb 2; kf 3; kv 4; .frame 3; .frame /r 4; r rip, rsp; r; .cxr; .trap",
    "modules": "lm t; lmvm faulty; !lmi faulty; !dh faulty; lm m nt*; lm a rip",
    "memory": "db rip L20; dw rip L8; dd rip L8; dq rsp L4; dc nt!NtBuildLab L4; da nt!NtBuildLab; dps rsp L4;"
    " dpa rsp L2; dpp rsp L2; dyb rip L4; df rip L4; dD rip L2; dW rip L4; dl nt!PsLoadedModuleList 3; ds rsp L1",
    "search": 's -b nt L4000 48 81 ec; s -q rsp L200 nt!KiPageFault+c; c rip L8 rip+1; s -a nt L4000 "kdive"',
    "code": "u rip L3; ub faulty!DispatchRequest+9 L2; uf faulty!ReadDeviceRegister; # call nt!KiPageFault L20",
    "symbols": "x nt!*Bug*; x /v /n nt!Ps*; xf kebug; ln rip+2; ln nt!PsLoadedModuleList",
    "reload": ".reload; ld faulty; !chksym nt; !chksym faulty; !sym noisy; .reload /f faulty; !sym quiet;"
    " .reload hidden.sys=fffff80012340000,9000; lm m hid*; .process 0n2000; .reload /user; lm; .reload /u; lm m app",
    "source": r".srcpath /src;C:\build=/src/driver; .srcpath+ /more; dv",
    "fnent": ".fnent nt!KeBugCheckEx; .fnent faulty!DispatchRequest",
    "types": "dt nt!_LIST_ENTRY; dt nt!_EPROCESS; dt nt!_KTHREAD_STATE; dt nt!_*KLDR*; dt -r1 nt!_ETHREAD Cid;"
    " dt nt!_UNICODE_STRING poi(nt!PsLoadedModuleList)+58; ?? sizeof(nt!_EPROCESS);"
    " dt -v nt!_EPROCESS Pcb Image* @$proc; dt -r1 nt!_EPROCESS Pcb ActiveProcessLinks @$proc; dt -b nt!_EPROCESS Pcb;"
    " dt -a3 nt!_EPROCESS ImageFileName @$proc; dt -a2 nt!_LIST_ENTRY nt!PsActiveProcessHead; dt -y nt!_EPROCESS Image"
    " @$proc; dt -o nt!_LIST_ENTRY nt!PsActiveProcessHead; dt -c nt!_LIST_ENTRY nt!PsActiveProcessHead; dt -s 10 nt!*;"
    " dt -e nt!_LIST_ENTRY; dt -d nt!_*STRING; dt -t nt!_LIST_ENTRY nt!PsActiveProcessHead; dt nt!_ETHREAD Tcb.*St*"
    " @$thread; dt -l ActiveProcessLinks nt!_EPROCESS UniqueProcessId @$proc; dt -n nt!_LIST_ENTRY",
    "expressions": "? 1+2; ? poi(rsp); ?? @$proc->UniqueProcessId; .formats 0n65; n 10; ? 10; n 16;"
    " set $here rip; ? $here",
    "dx": "dx @$curprocess; dx -r2 @$curprocess.Threads; dx @$curprocess.KernelObject; dx @$curstack.Frames,2;"
    " dx -g @$cursession.Processes.Select(p => new { Name = p.Name, Id = p.Id });"
    ' dx @$cursession.Processes.Where(p => p.Name.Contains("exe")).Count();'
    " dx ((nt!_EPROCESS*)@$proc)->ImageFileName,3; dx @$curprocess.Threads.First().KernelObject.Tcb.State;"
    ' dx Debugger.Utility.Collections.FromListEntry(&nt!PsActiveProcessHead, "nt!_EPROCESS", "ActiveProcessLinks")'
    ".Select(p => p.UniqueProcessId),d; dx @$cursession.Processes[0n2000].Modules; dx @$curthread",
    "control": '.echo hello; .printf "%p %y\\n", rip, rip; .for (r $t0=0; @$t0<2; r $t0=@$t0+1) { .echo pass };'
    "\nas say .echo\nal; say it; ad say; al; .foreach (x {.echo a b}) { .echo <${x}> }; j 1 .echo yes ; .echo no",
    "iteration": '!for_each_module ".echo @#ModuleName @#Base"; !for_each_process ".echo @#Process";'
    ' !list -t nt!_LIST_ENTRY.Flink -x "dq @$extret L1" nt!PsActiveProcessHead',
    "kernel": "!process 0 0; !process -1 7; !process 0n2000 7; !thread; ~; !running -i; !pcr; !prcb; !irql; !cpuinfo",
    "paging": "!pte rip; !vtop 0 rsp; !address rip; !address rsp; !address 0; !dq @$dtb L2; !ptov 100000",
    "usermode": ".process 0n2000; !peb; !dlls; .thread; .process",
    "analysis": "!analyze; !analyze -v; !analyze -show 9f 3 1 2 3; !error c0000005; !error 5; .enumtag; .exr -1",
    "help": "help; help k; .hh !process",
}


@pytest.mark.parametrize("name", GOLDEN_LINES)
def test_text_of_commands_is_stable(name: str, cache: Path, request: pytest.FixtureRequest) -> None:
    session = Session(
        open_dump(SAMPLE / "crash.dmp"),
        SessionOptions(symbol_path="", isf_directories=(SAMPLE / "isf",), offline=True, cache=cache),
    )
    shown: list[str] = []
    renderer = TextRenderer()

    def show(command: str, result: object) -> None:
        shown.append(f"> {command}\n{renderer.plain(result)}")

    outcome = Dispatcher(session, show, renderer.plain).run(GOLDEN_LINES[name])
    if outcome.error is not None:
        shown.append(f"error: {outcome.error}\nnot run: {outcome.not_run}")
    text = "\n".join(shown).replace(str(SAMPLE), "SAMPLE") + "\n"
    place = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        place.write_text(text, "utf-8")
    assert text == place.read_text("utf-8")


def test_the_kernels_identity_is_in_the_image(world: World, tmp_path: Path) -> None:
    session = write_world(world, tmp_path)
    state = session.engine.state_named("nt")
    assert state is not None
    session.engine.symbols_of(state)
    assert state.identity is not None
    assert (state.identity.file_name, state.identity.guid, state.identity.age) == KERNEL_PDB


def test_an_encoded_block_without_symbols_is_reported_as_not_readable(tmp_path: Path) -> None:
    session = write_world(build_world(encoded=True), tmp_path, isf=False)
    session.engine.store.set_path("")
    text, outcome = run(session, "vertarget; k; lm")
    assert outcome.error is None
    assert "faulty!ReadDeviceRegister" in text


def test_the_block_is_found_by_symbols_where_the_header_does_not_say(tmp_path: Path) -> None:
    world = build_world()
    world.fields.debugger_data = int.from_bytes(b"PAGEPAGE", "little")
    session = write_world(world, tmp_path)
    found = session.kernel.debugger_data
    assert found is not None
    assert found.address == session.kernel.symbol("KdDebuggerDataBlock")
    assert not found.encoded
