from __future__ import annotations

import pytest

from kdive.errors import ExpressionError, KdiveError, MemoryAccessError, SymbolNotFoundError
from kdive.expr.evaluator import evaluate, evaluate_prefix
from kdive.expr.typed import ULONG, describe
from kdive.symbols.types import PointerType
from tests.expr.world import HEAD, PROCESS, STACK, World

M = (1 << 64) - 1


def number(text: str, **world: object) -> int:
    return evaluate(text, World(**world)).number  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", 16),
        ("0x10", 16),
        ("0n10", 10),
        ("0t10", 8),
        ("0y10", 2),
        ("10h", 16),
        ("0b11", 0xB11),
        ("0", 0),
        ("fffff803`1a2b3c4d", 0xFFFFF8031A2B3C4D),
        ("00000000`00000001", 1),
        ("0x1`00000000", 1 << 32),
        ("ffffffffffffffff", M),
        ("dead", 0xDEAD),
        ("beefh", 0xBEEF),
        ("ah", 0x77),
        ("'a'", 0x61),
        ("'\\n'", 10),
        ("'MZ'", 0x4D5A),
    ],
)
def test_numbers_in_every_spelling(text: str, expected: int) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(("radix", "expected"), [(8, 8), (10, 10), (16, 16)])
def test_default_radix_applies_to_bare_digits(radix: int, expected: int) -> None:
    assert number("10", radix=radix) == expected
    assert number("0x10", radix=radix) == 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("[1+2]*3", 9),
        ("10-8-1", 7),
        ("7 mod 4", 3),
        ("7%4", 3),
        ("ff and 0f", 15),
        ("1 or 6", 7),
        ("5 xor 1", 4),
        ("f0 & 3c | 1 ^ 1", 0x30),
        ("1<<4", 16),
        ("1<<40", 1 << 64 & M),
        ("1<<3f", 1 << 63),
        ("ffffffff`ffffffff >> 3c", 15),
        ("80000000`00000000 >>> 3f", M),
        ("-1", M),
        ("~0", M),
        ("!0", 1),
        ("!5", 0),
        ("not 0", 1),
        ("not 5", 0),
        ("+5", 5),
        ("- - 5", 5),
        ("hi 12345678", 0x1234),
        ("low(12345678)", 0x5678),
        ("1 = 1", 1),
        ("1 == 2", 0),
        ("1 != 2", 1),
        ("1 < 2", 1),
        ("-1 > 0", 1),
        ("2 >= 2", 1),
        ("(1 < 2) == 1", 1),
        ("1 && 2", 1),
        ("0 || 0", 0),
        ("0 && poi(0)", 0),
        ("1 || poi(0)", 1),
        ("1 | 0 && 0", 0),
        ("2*-3", -6 & M),
        ("MOD", None),
    ],
)
def test_operators_and_precedence(text: str, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(ExpressionError):
            number(text)
    else:
        assert number(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by(rsp+1)", 1),
        ("by rsp + 1", 1),
        ("wo(rsp)", 0x0100),
        ("dwo(@rsp)", 0x03020100),
        ("qwo(rsp)", 0x0706050403020100),
        ("poi(rsp)", 0x0706050403020100),
        ("poi[rsp]", 0x0706050403020100),
        ("poi rsp+1", 0x0706050403020101),
        ("poi poi nt!PsInitialSystemProcess", 0x1A4),
        ("$pdwo(2000)", 0x89ABCDEF),
        ("$ppoi(2000)", 0x0123456789ABCDEF),
        ("$pby 2001", 0xCD),
        ("*rsp", 0x0706050403020100),
    ],
)
def test_memory_operators_read_memory(text: str, expected: int) -> None:
    assert number(text) == expected


def test_poi_reads_four_bytes_on_32_bit_targets() -> None:
    assert number("poi(rsp)", pointer_size=4) == 0x03020100


def test_physical_operators_need_physical_memory() -> None:
    with pytest.raises(ExpressionError, match="physical"):
        number("$pqwo(2000)", physical=None)


def test_unreadable_memory_is_reported_with_its_address() -> None:
    with pytest.raises(MemoryAccessError) as caught:
        number("poi(123456789)")
    assert caught.value.address == 0x123456789


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rsp", STACK),
        ("@rsp", STACK),
        ("@RSP", STACK),
        ("$t1", 0x21),
        ("@$t1", 0x21),
        ("$ip", 0xFFFFF80300001000),
        (".", 0xFFFFF80300001000),
        (". + 5", 0xFFFFF80300001005),
        ("nt", 0xFFFFF80300000000),
        ("nt+1000", 0xFFFFF80300001000),
        ("nt!NtBuildNumber", HEAD + 0x10),
        ("nt!KeBugCheckEx+10", 0xFFFFF80300002010),
        ("add", 0xADD0000),
        ("&nt!NoType", 0xFFFFF80300003000),
        ('@!"mod!weird name+1" + 1', 0x7701),
        ("std::vector<int,std::allocator<int> >::size + 1", 0x7001),
        ("mod!a::b<c>", 0x7100),
        ("mod!a::b<c>+1", 0x7101),
        ("mod!Foo::operator<", 0x7200),
        ("mod!Foo::~Foo", 0x7300),
        ("mod!?f@@YAXXZ", 0x7400),
        ("mod!_g@12", 0x7500),
        ("nt!KiSystemCall64$filt$0", 0x7600),
        ("7zip!main", 0x7800),
        ("nt!NoType<5", 0),
        ("process", HEAD),
        ("$!process", HEAD),
        ("counter", 5),
        ("t1", 0x21),
        ("$.u0", 1),
    ],
)
def test_names_resolve_in_the_documented_order(text: str, expected: int) -> None:
    assert number(text) == expected


def test_unknown_name_says_so_and_points_at_it() -> None:
    with pytest.raises(ExpressionError) as caught:
        number("1 + nosuch")
    assert caught.value.what == "Couldn't resolve error at 'nosuch'"
    assert caught.value.column == 4
    assert caught.value.hint is not None
    assert "module!name" in caught.value.hint
    assert str(caught.value).splitlines()[-1] == "      ^"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "missing"),
        ("1 +", "missing"),
        ("12zz", "Syntax error"),
        ("0n1f", "Syntax error"),
        ("0x", "Syntax error"),
        ("1 2", "Extra character"),
        ("(1", "expected"),
        ("1)", "Extra character"),
        ("1/0", "Divide by zero"),
        ("1 mod 0", "Divide by zero"),
        ("1ffffffffffffffff", "Overflow"),
        ("0n18446744073709551616", "Overflow"),
        ("0n" + "9" * 10_000, "Overflow"),
        ("abcdefabcdefabcdef", "Overflow"),
        ("1 < 2 < 3", "chained"),
        ("1 == 2 == 3", "chained"),
        ("!NtCreateFile", "Syntax error"),
        ("@nosuch", "Bad register"),
        ("$nosuch", "no pseudo-register"),
        ("$!nosuch", "no local"),
        ("$bug_code", "unknown at this stop"),
        ('"text"', "string"),
        ("''", "character"),
        ("@@c++(1", "expected"),
        ("nt!_EPROCESS", "Couldn't resolve"),
        ("(" * 10_000 + "1" + ")" * 10_000, "nested too deeply"),
        ("-" * 10_000 + "1", "nested too deeply"),
        ("poi(" * 10_000, "nested too deeply"),
        ("rsp.x", "typed value"),
        ("rsp[1]", "cannot index"),
        ("&5", "no address"),
        ("&$t1", "no address"),
        ("&counter", "register bl"),
        ("$vvalid(1)", "argument"),
        ("$scmp(1,2)", "strings"),
    ],
)
def test_wrong_expressions_are_refused_with_a_reason(text: str, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        number(text)


def test_errors_of_the_scope_get_the_text_and_column() -> None:
    with pytest.raises(ExpressionError) as caught:
        number("1 + $bug_code")
    assert (caught.value.text, caught.value.column) == ("1 + $bug_code", 4)


def test_long_sums_need_no_interpreter_stack() -> None:
    assert number("+".join(["1"] * 20_000)) == 20_000


@pytest.mark.parametrize(
    ("text", "expected", "type_name"),
    [
        ("@$proc->Pid", 0x1A4, "unsigned long"),
        ("$proc->Inner.Low", 7, "unsigned long"),
        ("$proc->Inner.High", -2 & M, "long"),
        ("$proc->Parent->Parent->Pid", 0x1A4, "unsigned long"),
        ("$proc->Name", PROCESS + 0x20, "char[8]"),
        ("$proc->Name[1]", ord("y"), "char"),
        ("$proc->Words[3]", 0xFFFF, "unsigned short"),
        ("$proc->Flags", 0b111, "unsigned long:3"),
        ("$proc->Signed", M, "long:3"),
        ("$proc->State", M, "_STATE"),
        ("$proc->Inner", PROCESS + 8, "_INNER"),
        ("$proc->Links.Flink", HEAD, "_LIST_ENTRY*"),
        ("&$proc->Pid", PROCESS, "unsigned long*"),
        ("&$proc->Words[2]", PROCESS + 0x3C, "unsigned short*"),
        ("nt!PsInitialSystemProcess->Pid", 0x1A4, "unsigned long"),
        ("nt!TheProcess.Pid", 0x1A4, "unsigned long"),
        ("process->Pid", 0x1A4, "unsigned long"),
        ("((nt!_EPROCESS*)poi(nt!PsInitialSystemProcess))->Pid", 0x1A4, "unsigned long"),
        ("((nt!_EPROCESS *) poi(nt!PsInitialSystemProcess))->Pid", 0x1A4, "unsigned long"),
        ("(nt!_EPROCESS*)10", 16, "_EPROCESS*"),
        ("(struct _EPROCESS *)10", 16, "_EPROCESS*"),
        ("(byte)1234", 0x34, "unsigned char"),
        ("(word)12345678", 0x5678, "unsigned short"),
        ("(dword)fffff803`12345678", 0x12345678, "unsigned long"),
        ("(qword)-1", M, "unsigned int64"),
        ("(char)ff", M, "char"),
        ("(u16)-1", 0xFFFF, "unsigned short"),
        ("(unsigned long)-1", 0xFFFFFFFF, "unsigned long"),
        ("(long long)5", 5, "int64"),
        ("*(ULONG*)rsp", 0x03020100, "unsigned long"),
        ("*nt!NtBuildNumber", 17763, "unsigned long"),
        ("(poi(rsp))", 0x0706050403020100, "untyped"),
    ],
)
def test_typed_values(text: str, expected: int, type_name: str) -> None:
    value = evaluate(text, World())
    assert value.number == expected
    assert describe(value.type) == type_name


def test_members_know_where_they_lie() -> None:
    assert evaluate("$proc->Inner.High", World()).address == PROCESS + 12


@pytest.mark.parametrize(
    ("text", "hint"),
    [("$proc->Pidd", "Pid"), ("$proc.Pid", "->Pid"), ("nt!TheProcess->Pid", ".Pid"), ("rsp->Pid", "cast")],
)
def test_wrong_member_access_hints_at_the_right_one(text: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        number(text)
    assert hint in (caught.value.hint or "")


def test_type_without_layout_is_a_symbol_error() -> None:
    with pytest.raises(SymbolNotFoundError):
        number("((nt!_OPAQUE*)rsp)->x")


def test_cast_of_a_register_in_parentheses_is_arithmetic() -> None:
    assert number("(rsp) - 1") == STACK - 1
    assert number("(rsp) and ff0") == 0
    with pytest.raises(ExpressionError, match="Extra"):
        number("(rsp) 1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('$scmp("abc", "abc")', 0),
        ('$scmp("abc", "abd")', M),
        ('$sicmp("ABC", "abc")', 0),
        ('$spat("ntoskrnl", "nto*")', 1),
        ('$spat("hal", "nto*")', 0),
        ("$vvalid(rsp, 10)", 1),
        ("$vvalid(rsp - 1, 10)", 0),
        ("$vvalid(-1, 10)", 0),
        ("$vvalid(rsp, 0)", 1),
        ("@@masm(1+1)", 2),
        ("@@c++(10)", 10),
        ("@@(10) + 10", 26),
        ("@@c++(@@masm(10) + 10)", 26),
        ("@@c++(sizeof(int))*2", 8),
    ],
)
def test_functions_and_dialect_switches(text: str, expected: int) -> None:
    assert number(text) == expected


def test_vvalid_refuses_huge_probes() -> None:
    with pytest.raises(ExpressionError, match="too long"):
        number("$vvalid(0, ffffffffffff)")


def test_iment_reads_the_entry_point_from_the_headers() -> None:
    image = bytearray(0x200)
    image[:2] = b"MZ"
    image[0x3C:0x40] = (0x80).to_bytes(4, "little")
    image[0x80:0x84] = b"PE\0\0"
    image[0xA8:0xAC] = (0x1234).to_bytes(4, "little")
    world = World()
    world.memory.runs[0x400000] = bytes(image)  # type: ignore[attr-defined]
    assert evaluate("$iment(400000)", world).number == 0x401234
    with pytest.raises(ExpressionError, match="no image"):
        evaluate("$iment(rsp)", world)


@pytest.mark.parametrize(
    ("text", "expected", "rest"),
    [
        ("rsp l8", STACK, "l8"),
        ("poi(rsp) L10", 0x0706050403020100, "L10"),
        ("@rsp L?100 4d 5a", STACK, "L?100 4d 5a"),
        ("rsp + 8 10", STACK + 8, "10"),
        ("rsp", STACK, ""),
        ("rsp ; k", STACK, "; k"),
        ('rsp "k;g"', STACK, '"k;g"'),
        ("(rsp) 5", STACK, "5"),
        ("10 'a' ; 'b'", 16, "'a' ; 'b'"),
        ("$proc Pid", PROCESS, "Pid"),
        ("rsp [5]", STACK, "[5]"),
        ("rsp, 5", STACK, ", 5"),
        ("rsp {", STACK, "{"),
        ("1 orange", 1, "orange"),
    ],
)
def test_prefix_stops_where_no_operator_follows(text: str, expected: int, rest: str) -> None:
    value, left = evaluate_prefix(text, World())
    assert (value.number, left) == (expected, rest)


def test_pointer_type_of_an_address_uses_the_pointer_size() -> None:
    assert evaluate("&$proc->Pid", World(pointer_size=4)).type == PointerType(ULONG, 4)


def test_bare_hex_is_no_number_in_other_radixes() -> None:
    with pytest.raises(KdiveError, match="Couldn't resolve"):
        number("dead", radix=10)
