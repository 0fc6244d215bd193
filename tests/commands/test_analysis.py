"""Crash analysis on real dumps: whom it blames, why, and what it says without symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kdive.commands.dispatch import Dispatcher
from kdive.errors import CommandError, KdiveError
from kdive.render.text import TextRenderer
from kdive.session.analysis import analyze

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.session.session import Session

AMDPPM = "kernel-dumps/x64-19041.804-amdppm.dmp"
X64_1A = "kernel-dumps/x64-19041.3448-1a.dmp"
X64_50 = "kernel-dumps/x64-19041.2965-50.dmp"
ARM64_1C8 = "kernel-dumps/arm64-22000.dmp"
ARM64_E2 = "kernel-dumps/arm64-17134.112-e2.dmp"
ALL = (AMDPPM, X64_1A, X64_50, ARM64_1C8, ARM64_E2)


def run(session: Session, line: str) -> tuple[Any, str]:
    """Run a line; return its last result and the text of all of them."""
    renderer = TextRenderer()
    results: list[Any] = []
    outcome = Dispatcher(session, lambda _, result: results.append(result), renderer.plain).run(line)
    if outcome.error is not None:
        raise outcome.error
    return results[-1], "\n".join(renderer.plain(result) for result in results)


def test_the_faulting_driver_is_blamed_by_name_with_symbols(open_session: Callable[..., Session]) -> None:
    verdict, text = run(open_session(AMDPPM), "!analyze -v")
    assert (verdict.module_name, verdict.image_name, verdict.confidence) == ("amdppm", "amdppm.sys", "high")
    assert verdict.symbol_name == "amdppm!WriteIoMemRawEx+0x70"
    assert verdict.bucket == "AV_amdppm!WriteIoMemRawEx"
    assert verdict.signature == "bugcheck:1000007e|symbol:amdppm!WriteIoMemRawEx"
    assert verdict.fault_address == 0xFFFFF8048B58334C
    assert verdict.process_name == "System"
    assert verdict.pid == 4
    for section in (
        "SYSTEM_THREAD_EXCEPTION_NOT_HANDLED_M (1000007e)",
        "Arguments:",
        "Arg1: ffffffffc0000005, Exception code",
        "BUGCHECK_CODE:",
        "BUGCHECK_P4:",
        "BLACKBOXNTFS: 1 (!blackboxntfs)",
        "CONTEXT:  .cxr 0xffff850429891720",
        "EXCEPTION_RECORD:",
        "FAULTING_IP:",
        "PROCESS_NAME:",
        "STACK_TEXT:",
        "SYMBOL_NAME:  amdppm!WriteIoMemRawEx+0x70",
        "MODULE_NAME:",
        "IMAGE_NAME:  amdppm.sys",
        "STACK_COMMAND:  .cxr 0xffff850429891720",
        "FAILURE_BUCKET_ID:  AV_amdppm!WriteIoMemRawEx",
    ):
        assert section in text, section


def test_the_faulting_driver_is_blamed_without_any_symbols(open_session: Callable[..., Session]) -> None:
    verdict, text = run(open_session(AMDPPM, symbols=False), "!analyze")
    assert (verdict.module_name, verdict.image_name, verdict.confidence) == ("amdppm", "amdppm.sys", "high")
    assert verdict.symbol_name == "amdppm+0x334c"
    assert verdict.bucket == "AV_amdppm+0x334c"
    assert verdict.signature == "bugcheck:1000007e|module:amdppm"
    assert "IMAGE_NAME:  amdppm.sys" in text


def test_evidence_says_why_and_stands_strongest_first(open_session: Callable[..., Session]) -> None:
    analysis = analyze(open_session(AMDPPM))
    assert analysis.evidence[0].confidence == "high"
    assert "bugcheck parameter 2" in analysis.evidence[0].reason
    ranks = [("high", "medium", "low", "none").index(entry.confidence) for entry in analysis.evidence]
    assert ranks == sorted(ranks)
    assert any("found by unwinding" in entry.reason for entry in analysis.evidence)


@pytest.mark.parametrize("symbols", [True, False])
@pytest.mark.parametrize("dump", ALL)
def test_each_dump_gets_a_verdict(open_session: Callable[..., Session], dump: str, symbols: bool) -> None:
    verdict, text = run(open_session(dump, symbols=symbols), "!analyze -v")
    assert verdict.module_name
    assert verdict.image_name
    assert verdict.symbol_name
    assert verdict.bucket
    assert verdict.evidence
    assert verdict.confidence in ("high", "medium", "low")
    assert verdict.bugcheck.name in text


def test_a_crash_that_a_check_found_has_no_faulting_instruction(open_session: Callable[..., Session]) -> None:
    verdict, _ = run(open_session(X64_1A), "!analyze")
    assert verdict.fault_address is None
    assert verdict.symbol_name.startswith("nt!Mi")
    assert verdict.bucket == "0x1A_402_nt!MiDeleteSubsectionPages"
    assert verdict.confidence == "low"
    assert any("memory management" in finding for finding in verdict.findings)


def test_a_jump_into_nowhere_is_noticed(open_session: Callable[..., Session]) -> None:
    verdict, _ = run(open_session(X64_50), "!analyze")
    assert any("control went to 0xffffe78f90345f71" in finding for finding in verdict.findings)
    assert verdict.confidence == "low"


@pytest.mark.parametrize("dump", [ARM64_1C8, ARM64_E2])
def test_a_crash_that_a_person_started_blames_nobody_with_confidence(
    open_session: Callable[..., Session], dump: str
) -> None:
    verdict, _ = run(open_session(dump), "!analyze")
    assert verdict.confidence == "low"
    assert any("a person started this crash" in finding for finding in verdict.findings)


def test_show_explains_a_code_and_the_case_that_its_parameters_select(open_session: Callable[..., Session]) -> None:
    session = open_session(AMDPPM, symbols=False)
    result, text = run(session, "!analyze -show 9f 3 1 2 3")
    assert result.name == "DRIVER_POWER_STATE_FAILURE"
    assert "Arg4: 0000000000000003, The blocked IRP" in text
    unknown, _ = run(session, "!analyze -show 7654321")
    assert "unknown bugcheck" in unknown.meaning


def test_bugcheck_shows_code_and_parameters(open_session: Callable[..., Session]) -> None:
    _, text = run(open_session(X64_50, symbols=False), ".bugcheck")
    assert text.splitlines()[0] == "Bugcheck code 00000050 (PAGE_FAULT_IN_NONPAGED_AREA)"
    assert text.splitlines()[1].startswith("Arguments ffffe78f90345f71 0000000000000011")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("!error c0000005", "STATUS_ACCESS_VIOLATION"),
        ("!error 5", "ERROR_ACCESS_DENIED"),
        ("!error 80070005", "HRESULT 0x80070005 (E_ACCESSDENIED, HRESULT_FROM_WIN32(ERROR_ACCESS_DENIED))"),
        ("!error 80070005", "severity failure, facility 0x7"),
    ],
)
def test_error_names_codes(open_session: Callable[..., Session], line: str, expected: str) -> None:
    _, text = run(open_session(AMDPPM, symbols=False), line)
    assert expected in text


def test_lastevent_tells_the_bugcheck(open_session: Callable[..., Session]) -> None:
    _, text = run(open_session(X64_50, symbols=False), ".lastevent")
    assert "0x50 (PAGE_FAULT_IN_NONPAGED_AREA)" in text


def test_enumtag_names_the_writers_it_knows(open_session: Callable[..., Session]) -> None:
    session = open_session(AMDPPM, symbols=False)
    listing, text = run(session, ".enumtag")
    assert len(listing.blocks) == 20
    assert "!blackboxpci" in text
    assert ".enumtag {9276C055-EB87-425C-B8B5-04E4D247F6CD} shows them all" in text
    whole, _ = run(session, ".enumtag {9276C055-EB87-425C-B8B5-04E4D247F6CD}")
    assert len(whole.blocks[0].preview) == whole.blocks[0].size == 0x2800


def test_pci_functions_of_a_real_machine(open_session: Callable[..., Session]) -> None:
    _, text = run(open_session(AMDPPM, symbols=False), "!blackboxpci")
    lines = text.splitlines()
    assert "00:01:1  1022:1483.00  Cmd[0406:.mb...]  Sts[0010:c....]" in lines
    assert len(lines) == 42


def test_ntfs_of_a_real_machine_had_no_timeouts(open_session: Callable[..., Session]) -> None:
    _, text = run(open_session(AMDPPM, symbols=False), "!blackboxntfs")
    assert text.splitlines()[-2:] == ["0 Slow I/O Timeout Records Found", "0 Oplock Break Timeout Records Found"]


def test_boot_status_agrees_with_the_crash(open_session: Callable[..., Session]) -> None:
    session = open_session(ARM64_1C8, symbols=False)
    status, text = run(session, "!blackboxbsd")
    fields = {entry.label: entry for entry in status.fields}
    assert "Version: 0xc0" in text
    assert "Last boot succeeded: TRUE" in text
    # The bugcheck says that the button was held for seven seconds: that is when it was pressed.
    assert session.dump is not None
    crashed, pressed = session.dump.dump.header.time, fields["Power button last press time"].time
    assert crashed is not None
    assert pressed is not None
    assert 6 < (crashed - pressed).total_seconds() < 8


def test_pnp_and_winlogon_of_a_real_machine(open_session: Callable[..., Session]) -> None:
    session = open_session(ARM64_1C8, symbols=False)
    event, text = run(session, "!blackboxpnp")
    assert event.problem_name == "CM_PROB_DEVICE_NOT_THERE"
    assert "PnpEventInformation: 3" in text
    state, _ = run(session, "!blackboxwinlogon")
    assert (state.thread_name, state.pending) == ("ShellRestart", 0)


@pytest.mark.parametrize("line", ["!blackboxbsd", "!blackboxpnp", "!blackboxwinlogon"])
def test_an_absent_blackbox_is_said_to_be_absent(open_session: Callable[..., Session], line: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(open_session(AMDPPM, symbols=False), line)
    assert "in this dump" in str(caught.value)
    assert ".enumtag" in (caught.value.hint or "")


@pytest.mark.parametrize("line", ["!analyze -x", "!analyze -show", "!error", ".enumtag {0}"])
def test_wrong_arguments_are_refused(open_session: Callable[..., Session], line: str) -> None:
    with pytest.raises(KdiveError):
        run(open_session(AMDPPM, symbols=False), line)
