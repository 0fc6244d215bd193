"""MASM and C++ expressions."""

from __future__ import annotations

import contextlib
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdive.errors import ExpressionError, KdiveError, MemoryAccessError
from kdive.expr.evaluator import evaluate, evaluate_cpp, evaluate_prefix
from tests.expr.scope import BASE, World

MASK = (1 << 64) - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 0x10),
        ("0n10", 10),
        ("0t17", 15),
        ("0y101", 5),
        ("0x10", 16),
        ("10h", 0x10),
        ("fffff803`1a2b3c4d", 0xFFFFF8031A2B3C4D),
        ("1`0", 0x10),
        ("'a'", 0x61),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("[1+2]*3", 9),
        ("10 mod 3", 1),
        ("10 % 3", 1),
        ("f and 3", 3),
        ("8 or 1", 9),
        ("f xor 5", 10),
        ("f ^ 5", 10),
        ("1 << 4", 16),
        ("-1 >> 3c", 0xF),
        ("-1 >>> 3c", MASK),
        ("not 0", 1),
        ("not 5", 0),
        ("~0", MASK),
        ("-1", MASK),
        ("hi 12345678", 0x1234),
        ("low(12345678)", 0x5678),
        ("1 = 1", 1),
        ("1 == 2", 0),
        ("2 > 1", 1),
        ("1 != 1", 0),
        ("1 && 0", 0),
        ("0 || 2", 1),
        ("3 - 1 - 1", 1),
        ("by(rsp+1)", 1),
        ("wo rsp", 0x0100),
        ("dwo(rsp)", 0x03020100),
        ("poi(rsp)", 0x0706050403020100),
        ("poi rsp+8", 0x0706050403020100 + 8),
        ("qwo(rsp)", 0x0706050403020100),
        ("*rsp", 0x0706050403020100),
        ("$ppoi(1000)", 0x0706050403020100),
        ("@rax", 0x10),
        ("rax", 0x10),
        ("@$t0 + 1", 6),
        ("$t0", 5),
        ("nt", BASE),
        ("nt!Function", BASE + 0x40),
        ("nt!Count", BASE + 8),
        ("nt!std::vector<int>::size", 0x77),
        ("localvar", 0x42),
        ("add", 0xADD),
        ("beef", 0x1234),
        ("@$proc->Inner.Low", 0x0B0A0908),
        ("$vvalid(rsp, 8)", 1),
        ("$vvalid(0, 1)", 0),
        ('$scmp("a", "a")', 0),
        ('$sicmp("A", "a")', 0),
        ('$spat("hello", "h*o")', 1),
        ("@@(1 + 10)", 11),
        ("@@c++(10) + 10", 26),
        ("@@masm(10)", 16),
        ("(byte) 1234", 0x34),
        ("(nt!_NODE *)rsp", BASE),
        ("((nt!_NODE*)rsp)->Table[1]", 0x1F1E1D1C),
    ],
)
def test_masm_values(text: str, value: int) -> None:
    assert evaluate(text, World()).number == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("0x10", 16),
        ("010", 8),
        ("10ul", 10),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 0 ? 4 : 5", 5),
        ("sizeof(nt!_NODE)", 0x28),
        ("sizeof(unsigned long)", 4),
        ("sizeof(unsigned long) * 2", 8),
        ("(unsigned long *)16 + 1", 20),
        ("@$proc + 1", BASE + 0x28),
        ("@$proc - @$proc", 0),
        ("((unsigned short *)32 - (unsigned short *)16)", 8),
        ("@$proc->Inner.High", 0x0F0E0D0C),
        ("(*@$proc).Inner.Low", 0x0B0A0908),
        ("@$proc->Bits", 0x13121110 >> 4 & 7),
        ("&@$proc->Inner", BASE + 8),
        ("nt!Count", 0x0B0A0908),
        ("nt!Table[2]", 0x23222120),
        ("*(unsigned char *)(@rsp + 3)", 3),
        ("#FIELD_OFFSET(nt!_NODE, Inner.High)", 12),
        ("-8 / 2", MASK - 3),
        ("-1 < 1", 1),
        ("(unsigned __int64)-1 < 1", 0),
        ("!5", 0),
        ("5 % 3", 2),
        ("(char)0xff", MASK),
        ("(unsigned char)0x1ff", 0xFF),
    ],
)
def test_cpp_values(text: str, value: int) -> None:
    assert evaluate_cpp(text, World()).number == value


def test_radix_applies_to_masm_only() -> None:
    assert evaluate("10", World(10)).number == 10
    assert evaluate("10", World(8)).number == 8
    assert evaluate_cpp("10", World(8)).number == 10


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1 / 0", "division by zero"),
        ("nowhere", "couldn't resolve 'nowhere'"),
        ("1 <", "an expression is needed"),
        ("(1", "')' expected"),
        ("1 < 2 < 3", "cannot be chained"),
        ("10000000000000000", "does not fit in 64 bits"),
        ("0n12g", "does not belong in a number"),
        ("@nosuch", "no register"),
        ("$nosuch", "no pseudo-register"),
        ("'a", "not closed"),
        ('"a', "not closed"),
        ("1 2", "unexpected"),
        ("$vvalid(1)", "takes 2 arguments"),
        ("rax->Field", "-> needs a pointer"),
        ("@$proc->Nothing", "has no member"),
        ("", "an expression is needed"),
    ],
)
def test_errors_say_what_is_wrong(text: str, part: str) -> None:
    with pytest.raises(ExpressionError, match=part.replace("(", r"\(").replace(")", r"\)").replace("$", r"\$")):
        evaluate(text, World())


def test_an_error_points_at_its_column() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("1 + nowhere", World())
    assert caught.value.column == 4
    assert str(caught.value).splitlines()[-1].index("^") == 4 + 2


def test_unreadable_memory_is_named() -> None:
    with pytest.raises(MemoryAccessError):
        evaluate("poi(10)", World())


@pytest.mark.parametrize("depth", [200, 10_000])
@pytest.mark.parametrize("text", ["(", "-", "~", "poi(", "*", "@@c++("])
def test_deep_nesting_is_refused_plainly(text: str, depth: int) -> None:
    with pytest.raises(KdiveError):
        evaluate(text * depth + "1" + ")" * depth, World())


def test_a_long_sum_is_no_trouble() -> None:
    assert evaluate("+".join(["1"] * 300), World()).number == 300


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("rsp l8", BASE, " l8"),
        ("rsp L?100 4d 5a", BASE, " L?100 4d 5a"),
        ("poi(rsp) L10", 0x0706050403020100, " L10"),
        ("rsp + 8 L4", BASE + 8, " L4"),
        ("rsp rsp+10", BASE, " rsp+10"),
        ('rsp "text"', BASE, ' "text"'),
        ("10 .echo", 0x10, " .echo"),
    ],
)
def test_a_prefix_leaves_the_rest(text: str, value: int, rest: str) -> None:
    found, left = evaluate_prefix(text, World())
    assert (found.number, left) == (value, rest)


# --- against a plain reference ---------------------------------------------------------------------------------------

SPELLINGS = (
    lambda n: f"0x{n:x}",
    lambda n: f"0n{n}",
    lambda n: f"0t{n:o}",
    lambda n: f"0y{n:b}",
    lambda n: f"{n >> 32:x}`{n & 0xFFFFFFFF:08x}" if f"{n >> 32:x}"[0].isdigit() else f"0x{n:x}",
)
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
leaf = st.tuples(st.integers(0, MASK), st.sampled_from(SPELLINGS)).map(lambda pair: (pair[1](pair[0]), pair[0]))
tree = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(OPERATORS)), inner, inner).map(
            lambda t: (f"({t[1][0]} {t[0]} {t[2][0]})", OPERATORS[t[0]](t[1][1], t[2][1]) & MASK)
        ),
        inner.map(lambda t: (f"-{t[0]}", -t[1] & MASK)),
        inner.map(lambda t: (f"~({t[0]})", ~t[1] & MASK)),
        inner.map(lambda t: (f"not({t[0]})", int(t[1] == 0))),
        st.tuples(inner, inner).map(lambda t: (f"({t[0][0]} < {t[1][0]})", int(t[0][1] < t[1][1]))),
    ),
    max_leaves=12,
)


@given(tree)
def test_any_tree_has_the_value_of_plain_arithmetic(pair: tuple[str, int]) -> None:
    text, value = pair
    assert evaluate(text, World()).number == value


@given(
    st.lists(st.tuples(st.sampled_from("+-*&|^"), st.integers(0, 0xFFFF)), min_size=1, max_size=8), st.integers(0, 9)
)
def test_precedence_is_that_of_python_without_parentheses(pairs: list[tuple[str, int]], first: int) -> None:
    masm = f"0n{first}" + "".join(f" {op} 0n{number}" for op, number in pairs)
    python = f"{first}" + "".join(f" {op} {number}" for op, number in pairs)
    assert evaluate(masm, World()).number == eval(python) & MASK


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_our_errors(text: str) -> None:
    for run in (evaluate, evaluate_cpp, evaluate_prefix):
        with contextlib.suppress(KdiveError):
            run(text, World())


@given(st.text(alphabet="0123456789abcdefxnty`+-*/()[]<>=!&|^~@$.,'\" poirsp", max_size=40))
def test_texts_of_our_own_alphabet_raise_nothing_else_either(text: str) -> None:
    for run in (evaluate, evaluate_cpp):
        with contextlib.suppress(KdiveError):
            run(text, World())


@given(tree, st.sampled_from([" L8", " l4 rest", "", ' "tail"', " 41 42"]))
def test_prefix_and_rest_make_up_the_input(pair: tuple[str, int], tail: str) -> None:
    value, rest = evaluate_prefix(pair[0] + tail, World())
    assert value.number == pair[1]
    assert rest == tail
