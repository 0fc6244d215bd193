"""From text to syntax tree, for both expression syntaxes.

Binary operators are parsed with an explicit operator stack, so only real nesting (parentheses, brackets, ternaries)
costs interpreter stack, and that nesting is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.expr.lexer import Lexer, Token
from kdive.expr.nodes import (
    Binary,
    Call,
    Cast,
    Dialect,
    FieldOffset,
    Index,
    Member,
    Name,
    Node,
    Number,
    Pseudo,
    Register,
    SizeOfType,
    Switch,
    Ternary,
    Text,
    TypeName,
    Unary,
)
from kdive.expr.typed import PRIMITIVE_WORDS, builtin_type

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 64
"""How deep parentheses, brackets and prefix operators may nest."""

PRECEDENCE = {
    "*": 10,
    "/": 10,
    "%": 10,
    "+": 9,
    "-": 9,
    "<<": 8,
    ">>": 8,
    ">>>": 8,
    "<": 7,
    "<=": 7,
    ">": 7,
    ">=": 7,
    "==": 6,
    "!=": 6,
    "&": 5,
    "^": 4,
    "|": 3,
    "&&": 2,
    "||": 1,
}
"""How tightly the infix operators bind, the same in both syntaxes; equal ones group from the left."""

MEMORY_OPERATORS: dict[str, int | None] = {
    "by": 1,
    "wo": 2,
    "dwo": 4,
    "qwo": 8,
    "poi": None,
    "$pby": 1,
    "$pwo": 2,
    "$pdwo": 4,
    "$pqwo": 8,
    "$ppoi": None,
}
"""Size in bytes that each memory operator reads (None is a pointer); those with ``$`` read physical memory."""

_RELATIONS = {"<", "<=", ">", ">=", "==", "!="}
_WORD_OPERATORS = {"not", "hi", "low", "by", "wo", "dwo", "qwo", "poi"}
_PHYSICAL_OPERATORS = {"ppoi", "pqwo", "pdwo", "pwo", "pby"}
_FUNCTIONS = {"vvalid": 2, "iment": 1, "scmp": 2, "sicmp": 2, "spat": 2}
_MEMBER = re.compile(r"[^\W\d]\w*")
_PATH = re.compile(r"\s*([^\W\d]\w*)|\s*\.\s*([^\W\d]\w*)|\s*\[\s*(\w+)\s*\]")
_TYPE_PREFIX = re.compile(r"(?:const|volatile|struct|class|union|enum)(?!\w)")
_STAR = re.compile(r"\s*\*(?:\s*(?:const|volatile|__ptr64|__ptr32)(?!\w))*")
_OPERAND_START = re.compile(r"""\s*(?:[\w@$("'~!&*+\-]|\.(?!\w))""")
_MASM_WORDS = re.compile(r"\s*(?:and|or|xor|mod)(?![\w$!])", re.IGNORECASE)


class Parser:
    """Parses one expression of a text.

    Args:
        text: The expression, and perhaps more behind it.
        radix: Base of MASM numbers without a prefix.
        dialect: The syntax to start in.
        is_type: Whether the symbols know a type of this name; asked only where ``(name)`` may be a cast.
    """

    def __init__(self, text: str, radix: int, dialect: Dialect, is_type: Callable[[str], bool]) -> None:
        self._lexer = Lexer(text, radix)
        self._text = text
        self._dialect: Dialect = dialect
        self._is_type = is_type
        self._position = 0
        self._depth = 0

    def parse(self) -> Node:
        """Parse the whole text as one expression.

        Raises:
            ExpressionError: It is none.
        """
        node, end = self.parse_prefix()
        end = self._lexer.skip(end)
        if end < len(self._text):
            raise self._lexer.error(f"Extra character error in '{self._lexer.at(end)}'", end)
        return node

    def parse_prefix(self) -> tuple[Node, int]:
        """Parse the longest expression at the start of the text and return it with the position behind it.

        Raises:
            ExpressionError: The text does not start with an expression.
        """
        node = self._expression()
        return node, self._position

    def _enter(self, column: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._lexer.error(f"the expression is nested too deeply (limit {MAX_DEPTH})", column)

    def _expression(self) -> Node:
        self._enter(self._position)
        operands = [self._unary()]
        operators: list[Token] = []
        while (operator := self._lexer.operator(self._position, self._dialect)) is not None:
            level = PRECEDENCE[operator.text]
            if self._dialect == "masm" and operator.text in _RELATIONS:
                self._refuse_chain(operators, level, operator)
            while operators and PRECEDENCE[operators[-1].text] >= level:
                _reduce(operands, operators)
            operators.append(operator)
            self._position = operator.end
            operands.append(self._unary())
        while operators:
            _reduce(operands, operators)
        node = operands[0]
        if self._dialect == "c++" and (question := self._accept("?")) is not None:
            yes = self._expression()
            self._expect(":")
            node = Ternary(node, yes, self._expression(), question)
        self._depth -= 1
        return node

    def _refuse_chain(self, operators: list[Token], level: int, operator: Token) -> None:
        for earlier in reversed(operators):
            if PRECEDENCE[earlier.text] < level:
                return
            if PRECEDENCE[earlier.text] == level:
                raise self._lexer.error(
                    "comparisons cannot be chained",
                    operator.start,
                    hint="join two comparisons with 'and', or use parentheses to compare a truth value",
                )

    def _accept(self, mark: str) -> int | None:
        """Step over a punctuation mark if it is next; return its column."""
        start = self._lexer.skip(self._position)
        if not self._text.startswith(mark, start):
            return None
        self._position = start + len(mark)
        return start

    def _expect(self, mark: str) -> None:
        if self._accept(mark) is None:
            start = self._lexer.skip(self._position)
            raise self._lexer.error(f"Syntax error at '{self._lexer.at(start)}': '{mark}' expected", start)

    def _unary(self) -> Node:
        prefixes: list[tuple[str | TypeName, int]] = []
        while True:
            token = self._lexer.operand(self._position, self._dialect)
            if (type_ := self._cast(token)) is not None:
                prefixes.append((type_, token.start))
            elif (operator := self._prefix_operator(token)) is not None:
                self._position = token.end
                prefixes.append((operator, token.start))
            else:
                break
            if len(prefixes) + self._depth > MAX_DEPTH:
                raise self._lexer.error(f"the expression is nested too deeply (limit {MAX_DEPTH})", token.start)
        node = self._postfix(self._primary(token))
        for prefix, column in reversed(prefixes):
            node = Cast(prefix, node, column) if isinstance(prefix, TypeName) else Unary(prefix, node, column)
        return node

    def _prefix_operator(self, token: Token) -> str | None:
        if token.kind == "operator" and token.text in "+-~!&*":
            following = self._text[token.end : token.end + 1]
            if token.text == "!" and self._dialect == "masm" and (following.isalpha() or following == "_"):
                word = self._text[token.end : self._lexer.name_end(token.end)]
                if word.lower() not in _WORD_OPERATORS:
                    raise self._lexer.error(
                        f"Syntax error at '!{word}'",
                        token.start,
                        hint=f"write module!{word} for a symbol, or !({word}) to negate",
                    )
            return token.text
        if token.kind == "name":
            word = token.text.lower()
            if self._dialect == "masm" and word in _WORD_OPERATORS:
                return "!" if word == "not" else word
            if self._dialect == "c++" and token.text == "sizeof":
                following = self._lexer.skip(token.end)
                if self._text.startswith("(", following) and self._type_in_parentheses(following) is not None:
                    return None
                return "sizeof"
        if token.kind == "pseudo" and token.text.lower() in _PHYSICAL_OPERATORS:
            return "$" + token.text.lower()
        return None

    def _cast(self, token: Token) -> TypeName | None:
        """Return the type of a cast that opens at this token, stepping over it, or None."""
        if token.text != "(" or token.kind != "operator":
            return None
        found = self._type_in_parentheses(token.start)
        if found is None:
            return None
        type_, end = found
        if not type_.stars:
            following = _OPERAND_START.match(self._text, end)
            if following is None or _MASM_WORDS.match(self._text, end):
                return None
            if builtin_type(type_.name) is None and not self._is_type(type_.name):
                return None
        self._position = end
        return type_

    def _type_in_parentheses(self, position: int) -> tuple[TypeName, int] | None:
        """Return the type written in the parentheses that open at a position, and the position behind them.

        A name without ``*`` may also be a value; the caller decides.
        """
        found = self._scan_type(position + 1)
        if found is None:
            return None
        type_, end = found
        end = self._lexer.skip(end)
        return (type_, end + 1) if self._text[end : end + 1] == ")" else None

    def _scan_type(self, position: int) -> tuple[TypeName, int] | None:
        start = end = self._lexer.skip(position)
        while (match := _TYPE_PREFIX.match(self._text, end)) is not None:
            end = self._lexer.skip(match.end())
        words: list[str] = []
        while (match := _MEMBER.match(self._text, end)) is not None and match[0] in PRIMITIVE_WORDS:
            words.append(match[0])
            name_end = match.end()
            end = self._lexer.skip(name_end)
        if words:
            name = " ".join(words)
        else:
            name_end = self._lexer.name_end(end)
            name = self._text[end:name_end]
            if not name:
                return None
            end = name_end
        stars = 0
        while (match := _STAR.match(self._text, end)) is not None:
            stars += 1
            end = match.end()
        return TypeName(name, stars, start), end

    def _primary(self, token: Token) -> Node:
        self._position = token.end
        column = token.start
        match token.kind:
            case "number" | "char":
                return Number(token.value, column, token.suffix)
            case "name":
                if self._dialect == "c++":
                    if token.text == "sizeof":
                        return self._sizeof_type(column)
                    if token.text in ("true", "false"):
                        return Number(int(token.text == "true"), column, "bool")
                    if token.text == "offsetof":
                        return self._field_offset(column)
                return Name(token.text, column)
            case "quoted-name":
                return Name(token.text, column, symbol_only=True)
            case "local":
                return Name(token.text, column, local_only=True)
            case "register":
                return Register(token.text, column)
            case "pseudo":
                return self._pseudo(token)
            case "string":
                return Text(token.text, column)
            case "switch":
                return self._switch(token)
            case "end":
                raise self._lexer.error("Numeric expression missing from '<EOL>'", column)
            case "operator":
                return self._punctuation(token)

    def _punctuation(self, token: Token) -> Node:
        if token.text in "([":
            node = self._expression()
            self._expect(")" if token.text == "(" else "]")
            return node
        if token.text == "#":
            return self._macro(token.start)
        if token.text == "." and not _MEMBER.match(self._text, token.end):
            return Pseudo("ip", token.start)
        raise self._lexer.error(f"Syntax error at '{self._lexer.at(token.start)}'", token.start)

    def _pseudo(self, token: Token) -> Node:
        name = token.text.lower()
        if name not in _FUNCTIONS or self._accept("(") is None:
            return Pseudo(token.text, token.start)
        arguments = [self._expression()]
        while self._accept(",") is not None and len(arguments) < 8:
            arguments.append(self._expression())
        self._expect(")")
        if len(arguments) != _FUNCTIONS[name]:
            raise self._lexer.error(f"${name} takes {_FUNCTIONS[name]} argument(s), not {len(arguments)}", token.start)
        return Call(name, tuple(arguments), token.start)

    def _switch(self, token: Token) -> Node:
        outer = self._dialect
        other: Dialect = "c++" if outer == "masm" else "masm"
        inner: Dialect = "masm" if token.text == "masm" else "c++" if token.text == "c++" else other
        self._dialect = inner
        node = self._expression()
        self._dialect = outer
        self._expect(")")
        return Switch(inner, node, token.start)

    def _sizeof_type(self, column: int) -> Node:
        opening = self._lexer.skip(self._position)
        found = self._type_in_parentheses(opening)
        if found is None:
            raise self._lexer.error("sizeof takes a type or an expression", column)
        type_, end = found
        if not type_.stars and builtin_type(type_.name) is None and not self._is_type(type_.name):
            # sizeof(name) of something that is no type: an expression in parentheses
            self._position = opening + 1
            node = self._expression()
            self._expect(")")
            return Unary("sizeof", node, column)
        self._position = end
        return SizeOfType(type_, column)

    def _macro(self, column: int) -> Node:
        match = _MEMBER.match(self._text, self._position)
        name = match[0].upper() if match else ""
        self._position = match.end() if match else self._position
        if name == "FIELD_OFFSET":
            return self._field_offset(column)
        if name == "CONTAINING_RECORD":
            self._expect("(")
            record = self._expression()
            self._expect(",")
            return self._type_and_path(column, record)
        raise self._lexer.error(
            f"Syntax error at '#{name}'", column, hint="known macros: #FIELD_OFFSET, #CONTAINING_RECORD"
        )

    def _field_offset(self, column: int) -> Node:
        self._expect("(")
        return self._type_and_path(column, None)

    def _type_and_path(self, column: int, record: Node | None) -> Node:
        found = self._scan_type(self._position)
        if found is None:
            raise self._lexer.error("a type name is expected", self._lexer.skip(self._position))
        type_, self._position = found
        self._expect(",")
        path: list[str | int] = []
        while (match := _PATH.match(self._text, self._position)) is not None and len(path) < MAX_DEPTH:
            if bool(match[1]) == bool(path):
                break
            if match[3] is None:
                path.append(match[1] or match[2])
            else:
                token = self._lexer.operand(match.start(3), "c++")
                if token.kind != "number":
                    raise self._lexer.error("an array index in a member path is a number", match.start(3))
                path.append(token.value)
            self._position = match.end()
        if not path:
            raise self._lexer.error("a member name is expected", self._lexer.skip(self._position))
        self._expect(")")
        return FieldOffset(type_, tuple(path), column, record)

    def _postfix(self, node: Node) -> Node:
        count = 0
        while True:
            # In MASM a blank ends the operand: what follows may be the next argument of a command.
            at = self._position if self._dialect == "masm" else self._lexer.skip(self._position)
            mark = self._text[at : at + 2]
            behind = at + 1 if self._dialect == "masm" else self._lexer.skip(at + 1)
            if mark == "->" or (mark[:1] == "." and _MEMBER.match(self._text, behind)):
                arrow = mark == "->"
                start = self._lexer.skip(at + 1 + arrow)
                match = _MEMBER.match(self._text, start)
                if match is None:
                    raise self._lexer.error("a member name is expected behind '->'", at)
                self._position = match.end()
                node = Member(node, match[0], arrow, at)
            elif (mark[:1] == "[" and self._dialect == "c++") or (mark[:1] == "[" and _indexable(node)):
                self._position = at + 1
                index = self._expression()
                self._expect("]")
                node = Index(node, index, at)
            elif (extended := self._extend(node, at)) is not None:
                node = extended
            else:
                return node
            count += 1
            if count > MAX_DEPTH:
                raise self._lexer.error(f"too many member accesses in a row (limit {MAX_DEPTH})", at)

    def _extend(self, node: Node, at: int) -> Node | None:
        """Parse what a larger language lets follow an operand; None if nothing of that stands there."""
        del node, at
        return None


def _indexable(node: Node) -> bool:
    return not isinstance(node, Number | Text | Call)


def _reduce(operands: list[Node], operators: list[Token]) -> None:
    operator = operators.pop()
    right = operands.pop()
    operands.append(Binary(operator.text, operands.pop(), right, operator.start))


def parse(text: str, radix: int, dialect: Dialect, is_type: Callable[[str], bool]) -> Node:
    """Parse the whole of a text as one expression.

    Raises:
        ExpressionError: It is none; the error points at the column.
    """
    return Parser(text, radix, dialect, is_type).parse()
