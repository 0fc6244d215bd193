"""The evaluator against a plain reference, and against arbitrary text."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from kdive.errors import ExpressionError, KdiveError
from kdive.expr.commandline import split_arguments, split_commands
from kdive.expr.evaluator import evaluate, evaluate_cpp, evaluate_prefix
from kdive.expr.nodes import Binary, Node, Number, Unary
from kdive.expr.parser import parse
from kdive.expr.printf import format_printf
from kdive.expr.ranges import parse_range
from kdive.session.aliases import AliasTable
from tests.expr.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

M = 1 << 64
DIVISION = {"Divide by zero error": None}
"""What the evaluator says where the reference has no value."""


@dataclass(frozen=True)
class Leaf:
    value: int
    spelling: int
    width: int


@dataclass(frozen=True)
class Prefix:
    operator: str
    operand: Tree


@dataclass(frozen=True)
class Infix:
    operator: str
    left: Tree
    right: Tree


Tree = Leaf | Prefix | Infix

LEVELS = {
    **dict.fromkeys(("*", "/", "%", "mod"), 10),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("<<", ">>", ">>>"), 8),
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    **dict.fromkeys(("=", "==", "!="), 6),
    **dict.fromkeys(("&", "and"), 5),
    **dict.fromkeys(("^", "xor"), 4),
    **dict.fromkeys(("|", "or"), 3),
    "&&": 2,
    "||": 1,
}
UNARY = 11


def _signed(value: int) -> int:
    return value - M if value >> 63 else value


INFIX: dict[str, Callable[[int, int], int]] = {
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "mod": lambda a, b: a % b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "<<": lambda a, b: a << min(b, 64),
    ">>": lambda a, b: a >> b,
    ">>>": lambda a, b: _signed(a) >> b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&": lambda a, b: a & b,
    "and": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "xor": lambda a, b: a ^ b,
    "|": lambda a, b: a | b,
    "or": lambda a, b: a | b,
}
PREFIX: dict[str, Callable[[int], int]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "~": lambda a: ~a,
    "!": lambda a: not a,
    "not": lambda a: not a,
    "hi": lambda a: a >> 16 & 0xFFFF,
    "low": lambda a: a & 0xFFFF,
}


def reference(tree: Tree) -> int:
    """Evaluate by Python's own integers; ZeroDivisionError stands for a division by zero."""
    if isinstance(tree, Leaf):
        return tree.value
    if isinstance(tree, Prefix):
        return int(PREFIX[tree.operator](reference(tree.operand))) % M
    left = reference(tree.left)
    if tree.operator == "&&":
        return int(bool(left) and bool(reference(tree.right)))
    if tree.operator == "||":
        return int(bool(left) or bool(reference(tree.right)))
    return int(INFIX[tree.operator](left, reference(tree.right))) % M


def spell(leaf: Leaf) -> str:
    value = leaf.value
    forms = [
        f"0x{value:x}",
        f"0n{value}",
        f"0t{value:o}",
        f"0y{value:b}",
        f"0{value:x}h",
        f"0{value:x}",
        f"{value >> 32:08x}`{value & 0xFFFFFFFF:08x}",
        f"0X{value:X}",
        f"0x{value:0{leaf.width}x}",
    ]
    return forms[leaf.spelling % len(forms)]


def written(tree: Tree, level: int = 0, blank: str = " ") -> str:
    """Print a tree with only the parentheses that precedence asks for."""
    if isinstance(tree, Leaf):
        return spell(tree)
    if isinstance(tree, Prefix):
        return f"{tree.operator} {written(tree.operand, UNARY, blank)}"
    own = LEVELS[tree.operator]
    # Comparisons do not chain, so their left side needs parentheses at the same level too.
    left = own + (own in (6, 7))
    gap = " " if tree.operator.isalpha() else blank
    body = f"{written(tree.left, left, blank)}{gap}{tree.operator}{gap}{written(tree.right, own + 1, blank)}"
    return f"({body})" if own < level else body


numbers = st.one_of(st.integers(0, 70), st.integers(0, M - 1), st.sampled_from([0, 1, M - 1, 1 << 63, (1 << 32) - 1]))
leaves = st.builds(Leaf, numbers, st.integers(0, 8), st.integers(0, 40))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Prefix, st.sampled_from(sorted(PREFIX)), inner),
        st.builds(Infix, st.sampled_from(sorted(LEVELS)), inner, inner),
    ),
    max_leaves=24,
)


@given(trees, st.sampled_from(["", " ", "  "]), st.sampled_from([8, 10, 16]))
@settings(max_examples=600, deadline=None)
def test_masm_agrees_with_plain_arithmetic(tree: Tree, blank: str, radix: int) -> None:
    text = written(tree, blank=blank)
    if radix != 16:
        text = written(_in_any_radix(tree), blank=blank)
    try:
        expected = reference(tree)
    except ZeroDivisionError:
        expected = None
    try:
        actual = evaluate(text, World(radix=radix)).number
    except ExpressionError as error:
        actual = DIVISION.get(error.what, error.what)
    assert actual == expected, text


CANONICAL = {"=": "==", "and": "&", "or": "|", "xor": "^", "mod": "%", "not": "!"}


def as_node(tree: Tree) -> object:
    """Return the shape that the parser should give a printed tree."""
    if isinstance(tree, Leaf):
        return tree.value
    operator = CANONICAL.get(tree.operator, tree.operator)
    if isinstance(tree, Prefix):
        return (operator, as_node(tree.operand))
    return (operator, as_node(tree.left), as_node(tree.right))


def shape(node: Node) -> object:
    """Return a parsed tree without its columns."""
    match node:
        case Number():
            return node.value
        case Unary():
            return (node.operator, shape(node.operand))
        case Binary():
            return (node.operator, shape(node.left), shape(node.right))
        case _:
            raise AssertionError(node)


def _no_types(name: str) -> bool:
    return not name


@given(trees, st.sampled_from(["", " "]))
@settings(max_examples=800, deadline=None)
def test_parsing_a_printed_tree_gives_the_tree_back(tree: Tree, blank: str) -> None:
    tree = _in_any_radix(tree)
    assert shape(parse(written(tree, blank=blank), 16, "masm", _no_types)) == as_node(tree)


def _in_any_radix(tree: Tree) -> Tree:
    """Spell the leaves with prefixes, so that the radix does not matter."""
    if isinstance(tree, Leaf):
        return Leaf(tree.value, tree.spelling % 4, tree.width)
    if isinstance(tree, Prefix):
        return Prefix(tree.operator, _in_any_radix(tree.operand))
    return Infix(tree.operator, _in_any_radix(tree.left), _in_any_radix(tree.right))


@given(trees, st.sampled_from(["", " l8", ' "x"', " ; k", " , 5", " {", " zz"]))
@settings(max_examples=200, deadline=None)
def test_prefix_takes_the_whole_expression_and_leaves_the_rest(tree: Tree, rest: str) -> None:
    try:
        expected = reference(tree)
    except ZeroDivisionError:
        return
    value, left = evaluate_prefix(written(tree) + rest, World())
    assert (value.number, left) == (expected, rest.strip())


CPP = {"+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "/", "%"}
cpp_trees = st.recursive(
    st.builds(Leaf, numbers, st.just(0), st.just(0)),
    lambda inner: st.builds(Infix, st.sampled_from(sorted(CPP)), inner, inner),
    max_leaves=16,
)


def written_cpp(tree: Tree) -> str:
    if isinstance(tree, Leaf):
        return f"{tree.value}ull"
    assert isinstance(tree, Infix)
    # Truth values are ints in C; widened here, so that every operation is an unsigned 64-bit one.
    return f"((unsigned __int64)({written_cpp(tree.left)} {tree.operator} {written_cpp(tree.right)}))"


@given(cpp_trees)
@settings(max_examples=200, deadline=None)
def test_cpp_on_unsigned_64_bit_numbers_agrees_with_plain_arithmetic(tree: Tree) -> None:
    try:
        expected = reference(tree)
    except ZeroDivisionError:
        expected = None
    try:
        actual = evaluate_cpp(written_cpp(tree), World()).number
    except ExpressionError as error:
        actual = DIVISION.get(error.what, error.what)
    assert actual == expected


def _c_int(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1), st.sampled_from("+-*/%<>"))
def test_cpp_on_ints_follows_c(a: int, b: int, operator: str) -> None:
    if operator in "/%" and b == 0:
        return
    if operator in "/%":
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        expected = _c_int(quotient if operator == "/" else a - b * quotient)
    elif operator in "<>":
        expected = int(a < b if operator == "<" else a > b)
    else:
        expected = _c_int({"+": a + b, "-": a - b, "*": a * b}[operator])
    assert evaluate_cpp(f"(int)({a}) {operator} (int)({b})", World()).signed == expected


fragments = st.sampled_from(
    [
        *(
            "rsp",
            "@rsp",
            "$proc",
            "@$proc",
            "nt!",
            "_EPROCESS",
            "->",
            ".",
            "Pid",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "poi",
            "by",
        ),
        *(
            "+",
            "-",
            "*",
            "/",
            "<<",
            ">>>",
            "<",
            ">",
            "=",
            "==",
            "!",
            "~",
            "&",
            "&&",
            "|",
            "?",
            ":",
            "::",
            "@@c++(",
            "@@(",
        ),
        *(
            "10",
            "0x",
            "0n9",
            "0y2",
            "`",
            "L",
            "L?",
            "L-",
            "sizeof",
            "#FIELD_OFFSET(",
            ",",
            "'",
            '"',
            "\\",
            ";",
            "$",
            "@",
            "@!",
        ),
        *(
            "$scmp(",
            "$vvalid(",
            "$iment(",
            "(int)",
            "(nt!_EPROCESS*)",
            "operator<",
            "a::b<c>",
            "é",
            "٣",
            "\0",
            "\n",
            "%p",
            "%",
        ),
    ]
)
soup = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(fragments, st.just(" ")), max_size=24).map("".join),
    st.builds(lambda part, count: part * count, fragments, st.integers(50, 2000)),
)


@given(soup)
@settings(max_examples=600, deadline=None)
def test_any_text_gives_a_value_or_a_kdive_error(text: str) -> None:
    for function in (evaluate, evaluate_cpp):
        with suppress(KdiveError):
            assert 0 <= function(text, World()).number < M
    with suppress(KdiveError):
        _, rest = evaluate_prefix(text, World())
        assert text.endswith(rest)


@given(soup)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_range_a_format_a_line_or_a_kdive_error(text: str) -> None:
    for size in (1, 8):
        try:
            found = parse_range(text, World(), size, 16)
        except KdiveError:
            continue
        assert found.count > 0
        assert text.endswith(found.rest)
    for line in (text, f'"{text}", rsp, 5'):
        with suppress(KdiveError):
            format_printf(line, World())
    for command in split_commands(text):
        assert command in text
        assert command.strip()
    with suppress(KdiveError):
        for argument in split_arguments(text):
            assert text[argument.start : argument.end]
    aliases = AliasTable()
    aliases.set("rsp", "rsp ${rsp} Pid")
    aliases.set("Pid", "@rsp rsp")
    with aliases.bound({"L": ";${rsp}"}), suppress(KdiveError):
        aliases.expand(text)


def test_every_pair_of_operators_groups_by_precedence() -> None:
    a, b, c = (Leaf(number, 0, 0) for number in (1, 2, 3))
    pairs: list[Tree] = []
    for outer in LEVELS:
        for inner in LEVELS:
            pairs += (Infix(outer, Infix(inner, a, b), c), Infix(outer, a, Infix(inner, b, c)))
        for prefix in PREFIX:
            pairs += (Infix(outer, Prefix(prefix, a), Prefix(prefix, b)), Prefix(prefix, Infix(outer, a, b)))
    for tree in pairs:
        assert shape(parse(written(tree), 16, "masm", _no_types)) == as_node(tree), written(tree)
