"""The parser of MASM and C++ expressions: from text to a tree.

Grammar and precedence: Microsoft, "MASM numbers and operators" and "C++ numbers and operators". Both share one parser;
they differ in the names and meaning of operators, in number syntax and in how pointers add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.expr.lexer import Lexer, Token
from kdive.expr.typed import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 100

READERS = {"poi": 0, "by": 1, "wo": 2, "dwo": 4, "qwo": 8}
"""MASM operators that read memory, with the bytes they read (0: a pointer)."""
PHYSICAL_READERS = {"ppoi": 0, "pby": 1, "pwo": 2, "pdwo": 4, "pqwo": 8}
FUNCTIONS = {"vvalid": 2, "iment": 1, "scmp": 2, "sicmp": 2, "spat": 2}
"""MASM functions written with ``$``, with their number of arguments."""
_WORD_UNARY = {"not", "hi", "low"}
_WORD_BINARY = {"and": "&", "or": "|", "xor": "^", "mod": "%"}
_MASM_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"|"}),
    frozenset({"^"}),
    frozenset({"&"}),
    frozenset({"=", "==", "!="}),
    frozenset({"<", "<=", ">", ">="}),
    frozenset({"<<", ">>", ">>>"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_CPP_LEVELS = tuple(level - {"=", ">>>"} for level in _MASM_LEVELS)
_RELATIONS = {"<", "<=", ">", ">="}


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree; ``column`` is where its token starts."""

    column: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A bare or qualified name; ``bare_hex`` is its value if it could also be a hexadecimal number."""

    name: str
    bare_hex: int | None = None


@dataclass(frozen=True, slots=True)
class Register(Node):
    """``@rax``."""

    name: str


@dataclass(frozen=True, slots=True)
class Pseudo(Node):
    """``$proc``, ``@$t0``."""

    name: str


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A quoted string, argument of the string functions."""

    text: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A prefix operator."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Read(Node):
    """``poi(x)`` and its like; ``size`` 0 means a pointer."""

    size: int
    physical: bool
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An infix operator."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``a ? b : c`` (C++)."""

    condition: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Member(Node):
    """``a.b`` or ``a->b``."""

    operand: Node
    name: str
    arrow: bool


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``a[i]``."""

    operand: Node
    index: Node


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written: its name, pointer depth and array bounds."""

    name: str
    pointers: int


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``(type) a``."""

    type: TypeName
    operand: Node


@dataclass(frozen=True, slots=True)
class SizeOf(Node):
    """``sizeof(type)`` or ``sizeof(expression)``."""

    type: TypeName | None
    operand: Node | None


@dataclass(frozen=True, slots=True)
class FieldOffset(Node):
    """``#FIELD_OFFSET(type, field)``."""

    type: TypeName
    field: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``$vvalid(address, length)`` and the other functions."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Switched(Node):
    """``@@c++( )`` or ``@@masm( )``: an expression in the other language."""

    cpp: bool
    operand: Node


class Parser:
    """Parses one expression.

    Args:
        text: The text; the expression may be followed by other things.
        radix: Default radix of MASM numbers.
        cpp: C++ rules.
        is_type: Tells whether a name is a type, for casts.
    """

    def __init__(self, text: str, radix: int, *, cpp: bool, is_type: Callable[[str], bool]) -> None:
        self._text = text
        self._radix = radix
        self._cpp = cpp
        self._is_type = is_type
        self._lexer = Lexer(text, cpp=cpp)
        self._at = 0
        self._depth = 0

    @property
    def position(self) -> int:
        """Where the expression ended."""
        return self._at

    def parse(self) -> Node:
        """Parse the longest expression at the start."""
        return self._conditional()

    # --- tokens ----------------------------------------------------------------------------------------------------

    def _peek(self) -> Token:
        return self._lexer.token(self._at)

    def _take(self) -> Token:
        token = self._peek()
        self._at = token.end
        return token

    def _accept(self, operator: str) -> bool:
        token = self._peek()
        if token.kind == "operator" and token.text == operator:
            self._at = token.end
            return True
        return False

    def _expect(self, operator: str) -> None:
        token = self._peek()
        if not self._accept(operator):
            raise self._error(f"{operator!r} expected", token.start)

    def _error(self, what: str, column: int) -> ExpressionError:
        return ExpressionError(what, text=self._text, column=column)

    def _peek_operator(self) -> Token | None:
        """The next token as an infix operator, or None; anything else ends the expression."""
        try:
            token = self._peek()
        except ExpressionError:
            return None
        if token.kind == "operator":
            return token
        if token.kind == "name" and not self._cpp and token.text.lower() in _WORD_BINARY:
            return Token("operator", _WORD_BINARY[token.text.lower()], token.start, token.end)
        return None

    # --- precedence ------------------------------------------------------------------------------------------------

    def _conditional(self) -> Node:
        condition = self._binary(0)
        token = self._peek_operator() if self._cpp else None
        if token is None or token.text != "?":
            return condition
        self._at = token.end
        yes = self._nested(self._conditional)
        self._expect(":")
        return Conditional(token.start, condition, yes, self._nested(self._conditional))

    def _binary(self, level: int) -> Node:
        """Precedence climbing: take operators that bind at least as tightly as ``level``."""
        levels = _CPP_LEVELS if self._cpp else _MASM_LEVELS
        left = self._unary()
        relation_level = -1
        while True:
            token = self._peek_operator()
            found = next((index for index, names in enumerate(levels) if token is not None and token.text in names), -1)
            if token is None or found < level:
                return left
            if relation_level == found and not self._cpp and token.text in _RELATIONS:
                raise ExpressionError(
                    "relations cannot be chained",
                    text=self._text,
                    column=token.start,
                    hint="write (a < b) and (b < c)",
                )
            self._at = token.end
            right = self._binary(found + 1)
            left = Binary(token.start, "==" if token.text == "=" else token.text, left, right)
            relation_level = found if token.text in _RELATIONS else -1

    def _nested(self, parse: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", self._at)
        try:
            return parse()
        finally:
            self._depth -= 1

    def _unary(self) -> Node:
        token = self._peek()
        if token.kind == "operator" and token.text in ("+", "-", "~", "!", "*", "&"):
            self._at = token.end
            return Unary(token.start, token.text, self._nested(self._unary))
        if token.kind == "name" and not self._cpp:
            word = token.text.lower()
            if word in _WORD_UNARY:
                self._at = token.end
                return Unary(token.start, "!" if word == "not" else word, self._nested(self._unary))
            if word in READERS:
                self._at = token.end
                return Read(token.start, READERS[word], physical=False, operand=self._nested(self._unary))
        if token.kind == "pseudo" and not self._cpp and token.text.lower() in PHYSICAL_READERS:
            self._at = token.end
            size = PHYSICAL_READERS[token.text.lower()]
            return Read(token.start, size, physical=True, operand=self._nested(self._unary))
        if token.kind == "operator" and token.text == "(":
            cast = self._cast(token)
            if cast is not None:
                return cast
        return self._postfix(self._primary())

    def _postfix(self, node: Node) -> Node:
        while True:
            # A dot or bracket must follow at once: `db rsp .` is not a member access.
            following = self._text[self._at : self._at + 1]
            spaced = following.isspace()
            if spaced and not self._cpp:
                return node
            token = self._peek_operator()
            if token is None:
                return node
            if token.text in (".", "->"):
                self._at = token.end
                name = self._take()
                if name.kind not in ("name", "number"):
                    raise self._error("a member name is needed", name.start)
                node = Member(token.start, node, name.text, token.text == "->")
            elif token.text == "[":
                self._at = token.end
                index = self._nested(self._conditional)
                self._expect("]")
                node = Index(token.start, node, index)
            else:
                return node

    # --- primaries -------------------------------------------------------------------------------------------------

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return Number(token.start, self._number(token))
        if token.kind == "char":
            return Number(token.start, self._character(token))
        if token.kind == "register":
            return Register(token.start, token.text.lower())
        if token.kind == "pseudo":
            return self._pseudo(token)
        if token.kind == "string":
            return Text(token.start, token.text)
        if token.kind == "name":
            return self._name(token)
        if token.kind == "operator":
            if token.text in ("(", "["):
                node = self._nested(self._conditional)
                self._expect(")" if token.text == "(" else "]")
                return node
            if token.text.startswith("@@"):
                return self._switched(token)
            if token.text == "#":
                return self._field_offset(token)
        if token.kind == "end":
            raise self._error("an expression is needed", token.start)
        raise self._error(f"{token.text!r} is not expected here", token.start)

    def _pseudo(self, token: Token) -> Node:
        name = token.text
        if name.lower() in FUNCTIONS and self._text[self._at :].lstrip().startswith("("):
            self._expect("(")
            arguments = [self._nested(self._conditional)]
            while self._accept(","):
                arguments.append(self._nested(self._conditional))
            self._expect(")")
            wanted = FUNCTIONS[name.lower()]
            if len(arguments) != wanted:
                raise self._error(f"${name} takes {wanted} argument{'s' if wanted > 1 else ''}", token.start)
            return Call(token.start, name.lower(), tuple(arguments))
        return Pseudo(token.start, name)

    def _name(self, token: Token) -> Node:
        if self._cpp and token.text == "sizeof":
            self._expect("(")
            found = self._type_name()
            operand = None
            if found is None:
                operand = self._nested(self._conditional)
            self._expect(")")
            return SizeOf(token.start, found, operand)
        if self._cpp and token.text in ("offsetof", "FIELD_OFFSET"):
            return self._field_offset(token, named=True)
        bare = None
        if not self._cpp and self._radix == 16 and all(char in "0123456789abcdefABCDEF" for char in token.text):
            bare = int(token.text, 16)
            if bare > MASK64:
                bare = None
        return Name(token.start, token.text, bare)

    def _switched(self, token: Token) -> Node:
        cpp = token.text != "@@masm"
        self._expect("(")
        inner = Parser(self._text, self._radix, cpp=cpp, is_type=self._is_type)
        inner._at = self._at
        inner._depth = self._depth + 1
        if inner._depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", self._at)
        node = inner._conditional()
        self._at = inner._at
        self._expect(")")
        return Switched(token.start, cpp, node)

    def _field_offset(self, token: Token, *, named: bool = False) -> Node:
        if not named:
            word = self._take()
            if word.text not in ("FIELD_OFFSET", "CONTAINING_RECORD"):
                raise self._error("#FIELD_OFFSET(type, field) is the form known here", word.start)
        self._expect("(")
        type_ = self._type_name()
        if type_ is None:
            raise self._error("a type is needed", self._at)
        self._expect(",")
        parts = [self._take().text]
        while self._accept("."):
            parts.append(self._take().text)
        self._expect(")")
        return FieldOffset(token.start, type_, ".".join(parts))

    def _type_name(self) -> TypeName | None:
        """Take a type name at the present place, or nothing."""
        start = self._at
        words: list[str] = []
        while True:
            try:
                token = self._peek()
            except ExpressionError:
                break
            if token.kind != "name" or (words and "!" in token.text):
                break
            if token.text in ("struct", "class", "union", "enum", "const", "volatile") and not words:
                self._at = token.end
                continue
            candidate = " ".join([*words, token.text])
            if words and candidate not in PRIMITIVES and candidate not in ("unsigned long", "signed"):
                break
            words.append(token.text)
            self._at = token.end
            if words[0] not in ("unsigned", "signed", "long"):
                break
        name = " ".join(words)
        if not words or not (name in PRIMITIVES or self._is_type(name)):
            self._at = start
            return None
        pointers = 0
        while self._accept("*"):
            pointers += 1
        return TypeName(name, pointers)

    def _cast(self, token: Token) -> Node | None:
        start = self._at
        self._at = token.end
        type_ = self._type_name()
        if type_ is not None and self._accept(")"):
            return Cast(token.start, type_, self._nested(self._unary))
        self._at = start
        return None

    # --- literals --------------------------------------------------------------------------------------------------

    def _number(self, token: Token) -> int:
        digits = token.text.replace("`", "").lower()
        prefix = digits[:2]
        radix = self._radix
        if self._cpp:
            radix = 8 if len(digits) > 1 and digits[0] == "0" and digits.isdigit() else 10
        if prefix == "0x":
            digits, radix = digits[2:], 16
        elif prefix == "0n":
            digits, radix = digits[2:], 10
        elif prefix == "0t" and not self._cpp:
            digits, radix = digits[2:], 8
        elif prefix == "0y" and not self._cpp:
            digits, radix = digits[2:], 2
        elif digits.endswith("h"):
            digits, radix = digits[:-1], 16
        elif "`" in token.text:
            radix = 16
        try:
            value = int(digits, radix)
        except ValueError as error:
            raise self._error(f"{token.text!r} is not a number of radix {radix}", token.start) from error
        if value > MASK64:
            raise self._error(f"{token.text} does not fit in 64 bits", token.start)
        return value

    def _character(self, token: Token) -> int:
        escapes = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'}
        text = token.text
        if text.startswith("\\") and len(text) == 2:
            text = escapes.get(text[1], text[1])
        return int.from_bytes(text.encode("latin-1", "replace"), "big") & MASK64
