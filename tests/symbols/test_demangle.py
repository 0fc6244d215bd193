from __future__ import annotations

import re

import pytest

from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_I386
from kdive.symbols.demangle import undecorate
from tests.data import need
from tests.symbols import pdbutil
from tests.tools import run

PDBS = [
    "symbols/pairs/seh-x64/xcpt4.pdb",
    "symbols/pairs/seh-x86/xcpt4.pdb",
    "minidumps/kdlib/cv_allreg_amd64/targetapp.pdb",
    "pdb/llvm/DebugInfo-PDB/Inputs/every-class.pdb",
]


@pytest.mark.parametrize(
    ("name", "machine", "plain"),
    [
        ("KeBugCheckEx", MACHINE_AMD64, "KeBugCheckEx"),
        ("_main", MACHINE_I386, "main"),
        ("_main", MACHINE_AMD64, "_main"),
        ("_KeWait@20", MACHINE_I386, "KeWait"),
        ("@ObfDereferenceObject@4", MACHINE_I386, "ObfDereferenceObject"),
        ("__real@40000000", MACHINE_I386, "_real@40000000"),
        ("vector@@16", MACHINE_I386, "vector"),
        ("?Open@Device@@QEAAJXZ", MACHINE_AMD64, "Device::Open"),
        ("??0Device@Io@@QEAA@XZ", MACHINE_AMD64, "Io::Device::Device"),
        ("??1Device@@UEAA@XZ", MACHINE_AMD64, "Device::~Device"),
        ("??_7Device@@6B@", MACHINE_AMD64, "Device::`vftable'"),
        ("??4Device@@QEAAAEAV0@AEBV0@@Z", MACHINE_AMD64, "Device::operator="),
        ("??2@YAPEAX_K@Z", MACHINE_AMD64, "operator new"),
        ("?get@?$Box@H@ns@@QEAAHXZ", MACHINE_AMD64, "ns::Box<int>::get"),
        ("??_C@_04ABCDEFGH@text?$AA@", MACHINE_AMD64, "`string'"),
        ("?x@?A0x12345678@@3HA", MACHINE_AMD64, "`anonymous namespace'::x"),
        ("??BWrap@@QEBAHXZ", MACHINE_AMD64, "Wrap::operator int"),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", MACHINE_AMD64, "core::fmt::Formatter::pad"),
        ("?", MACHINE_AMD64, "?"),
        ("??", MACHINE_AMD64, "??"),
        ("", MACHINE_AMD64, ""),
    ],
)
def test_names_are_shown_without_their_decoration(name: str, machine: int, plain: str) -> None:
    assert undecorate(name, machine) == plain


def test_names_that_would_unfold_without_end_stay_as_they_are() -> None:
    deep = "?f@" + "?$a@" * 500
    assert undecorate(deep) == deep
    wide = "?" + "?$a@U?$b@" * 40 + "0" * 100 + "@" * 200
    assert len(undecorate(wide)) <= 1 << 15


@pytest.mark.parametrize("relative", PDBS)
def test_qualified_names_agree_with_llvm(relative: str) -> None:
    names = sorted(
        {name for name, _, _ in pdbutil.publics(need(relative)) if name[:1] == "?" and not name.startswith("??_C")}
    )
    assert names
    flags = ["access-specifier", "calling-convention", "return-type", "member-type", "variable-type"]
    text = run("llvm-undname", *(f"--no-{flag}" for flag in flags), stdin="\n".join(names))
    wrong: list[tuple[str, str, str]] = []
    for block in text.strip().split("\n\n"):
        name, _, full = block.partition("\n")
        theirs, ours = (re.sub(r"(class|struct|union|enum|__cdecl) |\s", "", form) for form in (full, undecorate(name)))
        if full and "thunk" not in full and "`" not in full and not theirs.startswith(ours):
            wrong.append((name, full, ours))
    assert len(wrong) <= len(names) // 100, wrong[:5]
