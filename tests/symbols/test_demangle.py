from __future__ import annotations

import re

import pytest

from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_I386
from kdive.symbols.demangle import undecorate
from tests.data import need
from tests.symbols import pdbutil
from tests.tools import run


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


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
        ("_RNvMs_CsX_5crateNtB4_3Foo3new", "<crate::Foo>::new"),
        ("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"),
        ("_RNCNvC4main4main0B3_", "main::main::{closure#0}"),
        ("_RNvXCs_1aNtB2_3FooNtC4core5Clone5clone", "<a::Foo as core::Clone>::clone"),
        ("_RINvC1a1bAhj3_E", "a::b::<[u8; 3]>"),
        ("_RINvC1a1bRSeQTlxEE", "a::b::<&[str], &mut (i32, i64)>"),
        ("_RINvC1a1bFUKClEuE", 'a::b::<unsafe extern "C" fn(i32)>'),
        ("_RNvC7mycrateu8gdel_5qa", "mycrate::gödel"),
        ("_RNvC1a1b.llvm.123", "a::b"),
        ("_RtlpMuiRegValidateInstalled", "_RtlpMuiRegValidateInstalled"),
        ("_RNvB_", "_RNvB_"),
        ("_RINvC1a1b" + "R" * 300 + "lE", "_RINvC1a1b" + "R" * 300 + "lE"),
    ],
)
def test_rust_names_of_the_second_scheme_are_read_or_left_alone(name: str, plain: str) -> None:
    assert undecorate(name, MACHINE_AMD64) == plain


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("??$f@PAP6AXXZ@@YAXPAP6AXXZ@Z", "f<void (__cdecl**)(void)>"),
        ("??$f@PAY02H@@YAXPAY02H@Z", "f<int (*)[3]>"),
        ("??$f@PEIAUFoo@@@@YAXPEIAUFoo@@@Z", "f<struct Foo * __restrict>"),
        ("??_R1A@?0A@EA@Base@@8", "Base::`RTTI Base Class Descriptor at (0, -1, 0, 64)'"),
    ],
)
def test_types_inside_names_are_written_as_c_does(name: str, plain: str) -> None:
    assert undecorate(name) == plain


# Where llvm-undname's text differs, and why.
NOT_UNDERSTOOD_BY_LLVM = {"??$f@$$CFAUNothing@@@@YAXUNothing@@@Z"}
"""LLVM 14 gives no text; ours names the type unaligned."""
NOT_UNDERSTOOD = {
    "??m_stdstr$initializer$@classBase2@@0P6AXXZA@@3P6AXXZA",
    "??m_stdstr$initializer$@classBase2@@0P6AXXZEA@@3P6AXXZEA",
}
"""Neither reads the compiler's own pointers to dynamic initialisers."""


REST = ("(", "`adjustor{", "`vtordisp{", "`vtordispex{", "{")
"""What follows the qualified name: parameters, and what a thunk adjusts or calls."""


def _as_ours(name: str, full: str) -> str:
    """LLVM's text without what is left out on purpose, in our spelling."""
    full = re.sub(r"\{for .*\}$", "", full).removeprefix("[thunk]: ").replace("dtor'", "destructor'")
    full = full.replace('`extern "C" ', "`")
    if name.startswith("??_R0"):  # LLVM leaves out the type when it leaves out variables' types
        return ""
    return full.removeprefix("const ") if name.startswith("??_") else full


def test_every_decorated_name_at_hand_agrees_with_llvm() -> None:
    names: set[str] = set()
    for path in sorted(need("symbols").parent.rglob("*.pdb")):
        if path.is_file() and path.name not in ("bad-block-size.pdb", "fuzzed.pdb"):
            names.update(name for name, _, _ in pdbutil.publics(path) if name[:1] == "?")
    strings = {name for name in names if name.startswith("??_C@")}
    assert len(names) > 1800
    assert {undecorate(name) for name in strings} == {"`string'"}
    wanted = sorted(names - strings - NOT_UNDERSTOOD - NOT_UNDERSTOOD_BY_LLVM)
    flags = ["access-specifier", "calling-convention", "return-type", "member-type", "variable-type"]
    text = run("llvm-undname", *(f"--no-{flag}" for flag in flags), stdin="\n".join(wanted))
    wrong: list[tuple[str, str, str]] = []
    for block in text.strip().split("\n\n"):
        name, _, full = block.partition("\n")
        ours = undecorate(name)
        theirs, mine = (
            re.sub(r"(?:class|struct|union|enum) |__cdecl ?|\s", "", form) for form in (_as_ours(name, full), ours)
        )
        if name.startswith("??_R0"):
            assert ours.endswith(" `RTTI Type Descriptor'")
        elif theirs != mine and not theirs.startswith(tuple(mine + rest for rest in REST)):
            wrong.append((name, full, ours))
    assert wrong[:5] == []
    assert all(undecorate(name) == name for name in NOT_UNDERSTOOD)
