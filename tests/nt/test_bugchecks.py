"""The table of bugchecks: its shape, and names that everybody knows."""

from __future__ import annotations

from importlib import resources

import pytest

from kdive.nt.bugchecks import (
    Role,
    base_code,
    bugcheck,
    bugcheck_name,
    codes,
    parameter,
    parameter_number,
    subcode_meaning,
)


def rows(name: str) -> list[list[str]]:
    text = resources.files("kdive.nt").joinpath("data", name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines()]


def test_each_code_stands_once_and_in_order() -> None:
    listed = [int(row[0], 16) for row in rows("bugchecks.tsv")]
    assert listed == sorted(set(listed))
    assert codes() == listed


def test_the_table_covers_the_documented_reference() -> None:
    assert len(codes()) > 400


def test_each_entry_has_a_name_a_sentence_and_four_parameters() -> None:
    for code in codes():
        entry = bugcheck(code)
        assert entry.name.replace("_", "").isalnum(), hex(code)
        assert entry.name == entry.name.upper(), hex(code)
        assert entry.meaning.endswith("."), hex(code)
        assert entry.meaning[0].isupper(), hex(code)
        assert len(entry.parameters) == 4


def test_no_two_codes_share_a_name() -> None:
    names = [bugcheck_name(code) for code in codes()]
    assert sorted(names) == sorted(set(names))


def test_roles_name_parameters_that_exist() -> None:
    for row in rows("bugchecks.tsv"):
        for role in row[4].split():
            name, number = role.split("=")
            assert Role(name)
            assert 1 <= int(number) <= 4
            assert parameter_number(Role(name), int(row[0], 16)) == int(number)


def test_subcodes_belong_to_known_codes_and_select_by_one_parameter() -> None:
    seen: dict[int, set[str]] = {}
    for code, selector, value, meaning, parameters in rows("bugcheck_subcodes.tsv"):
        assert int(code, 16) in codes()
        assert 1 <= int(selector) <= 4
        assert int(value, 16) >= 0
        assert meaning
        assert parameters.count("|") == 3
        seen.setdefault(int(code, 16), set()).add(selector)
    assert all(len(selectors) == 1 for selectors in seen.values())


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0x0A, "IRQL_NOT_LESS_OR_EQUAL"),
        (0x1A, "MEMORY_MANAGEMENT"),
        (0x3B, "SYSTEM_SERVICE_EXCEPTION"),
        (0x50, "PAGE_FAULT_IN_NONPAGED_AREA"),
        (0x7A, "KERNEL_DATA_INPAGE_ERROR"),
        (0x9F, "DRIVER_POWER_STATE_FAILURE"),
        (0xC4, "DRIVER_VERIFIER_DETECTED_VIOLATION"),
        (0xD1, "DRIVER_IRQL_NOT_LESS_OR_EQUAL"),
        (0xDF, "IMPERSONATING_WORKER_THREAD"),
        (0xE2, "MANUALLY_INITIATED_CRASH"),
        (0xEF, "CRITICAL_PROCESS_DIED"),
        (0xFA, "HTTP_DRIVER_CORRUPTED"),
        (0x124, "WHEA_UNCORRECTABLE_ERROR"),
        (0x133, "DPC_WATCHDOG_VIOLATION"),
        (0x139, "KERNEL_SECURITY_CHECK_FAILURE"),
        (0x152, "INVALID_PUSH_LOCK_FLAGS"),
        (0x178, "ELAM_DRIVER_DETECTED_FATAL_ERROR"),
        (0x1C8, "MANUALLY_INITIATED_POWER_BUTTON_HOLD"),
        (0x1D3, "WFP_INVALID_OPERATION"),
        (0x1DA, "HAL_BLOCKED_PROCESSOR_INTERNAL_ERROR"),
        (0x1E7, "REGISTRY_LIVE_DUMP"),
        (0x20001, "HYPERVISOR_ERROR"),
        (0xC000021A, "WINLOGON_FATAL_ERROR"),
        (0xDEADDEAD, "MANUALLY_INITIATED_CRASH1"),
    ],
)
def test_well_known_codes_have_their_names(code: int, name: str) -> None:
    assert bugcheck_name(code) == name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0x1000007E, "SYSTEM_THREAD_EXCEPTION_NOT_HANDLED_M"),
        (0x1000007F, "UNEXPECTED_KERNEL_MODE_TRAP_M"),
        (0x1000008E, "KERNEL_MODE_EXCEPTION_NOT_HANDLED_M"),
        (0x100000D6, "DRIVER_PAGE_FAULT_BEYOND_END_OF_ALLOCATION_M"),
        (0x100000EA, "THREAD_STUCK_IN_DEVICE_DRIVER_M"),
        (0x10000050, "PAGE_FAULT_IN_NONPAGED_AREA_M"),
    ],
)
def test_codes_with_the_mark_of_a_minidump_resolve(code: int, name: str) -> None:
    entry = bugcheck(code)
    assert (entry.code, entry.name) == (code, name)
    assert entry.parameters == bugcheck(base_code(code)).parameters


def test_a_code_that_nobody_knows_says_so() -> None:
    entry = bugcheck(0x7654321)
    assert not entry.known
    assert entry.name == "BUGCHECK_7654321"
    assert "unknown bugcheck" in entry.meaning
    assert entry.parameters == ("", "", "", "")


def test_parameters_get_the_meanings_of_the_case_that_they_select() -> None:
    blocked = bugcheck(0x9F, (3, 1, 2, 3))
    assert "IRP" in blocked.parameters[0]
    assert blocked.parameters[3] == "The blocked IRP"
    timed_out = bugcheck(0x9F, (4, 300, 2, 3))
    assert timed_out.parameters[1] == "Time-out in seconds"
    assert subcode_meaning(0x139, (3, 0, 0, 0)).startswith("A list entry is damaged")
    assert subcode_meaning(0x109, (0, 0, 0, 2)) == "A processor's interrupt descriptor table"
    assert subcode_meaning(0x139, (0xFFFF, 0, 0, 0)) == ""


def test_too_few_parameters_are_no_error() -> None:
    assert bugcheck(0x109, (1,)).name == "CRITICAL_STRUCTURE_CORRUPTION"
    assert parameter(Role.IP, 0xD1, ()) is None


def test_roles_lead_to_the_fault() -> None:
    values = (0x10, 2, 0, 0xFFFFF80000001000)
    assert parameter(Role.IP, 0xD1, values) == 0xFFFFF80000001000
    assert parameter(Role.TOUCHED, 0xD1, values) == 0x10
    assert parameter(Role.IRQL, 0xD1, values) == 2
    assert parameter(Role.CONTEXT, 0x1000007E, (1, 2, 3, 4)) == 4
    assert parameter(Role.TRAP, 0x139, (1, 2, 3, 4)) == 2
    assert parameter(Role.IP, 0x7654321, (1, 2, 3, 4)) is None
