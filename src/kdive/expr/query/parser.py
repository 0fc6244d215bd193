"""From text to syntax tree: the C++ syntax with strings, method calls, lambdas and ``new { … }``.

Source: Microsoft, "dx (Display Debugger Object Model Expression)" and "Using LINQ with the debugger objects".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdive.expr.nodes import Composite, Lambda, Member, MethodCall, Node
from kdive.expr.parser import MAX_DEPTH, Parser

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.expr.lexer import Token

_PARAMETER = re.compile(r"([^\W\d]\w*)\s*=>")
_BRACKETED_PARAMETER = re.compile(r"\(\s*([^\W\d]\w*)\s*\)\s*=>")
_PART = re.compile(r"([^\W\d]\w*)\s*=(?![=>])")
_MAX_ARGUMENTS = 8


class QueryParser(Parser):
    """Parses one query.

    Args:
        text: The query.
        is_type: Whether the symbols know a type of this name.
    """

    def __init__(self, text: str, is_type: Callable[[str], bool]) -> None:
        super().__init__(text, 16, "c++", is_type)

    def _primary(self, token: Token) -> Node:
        if token.kind == "name" and token.text == "new":
            self._position = token.end
            if self._accept("{") is not None:
                return self._composite(token.start)
        return super()._primary(token)

    def _argument(self) -> Node:
        start = self._lexer.skip(self._position)
        match = _PARAMETER.match(self._text, start) or _BRACKETED_PARAMETER.match(self._text, start)
        if match is None:
            return self._expression()
        self._position = match.end()
        return Lambda(match[1], self._expression(), start)

    def _composite(self, column: int) -> Node:
        parts: list[tuple[str, Node]] = []
        while not parts or self._accept(",") is not None:
            start = self._lexer.skip(self._position)
            match = _PART.match(self._text, start)
            if match is None:
                raise self._lexer.error("name = value is expected in new { … }", start)
            self._position = match.end()
            parts.append((match[1], self._expression()))
            if len(parts) > MAX_DEPTH:
                raise self._lexer.error(f"too many parts in new {{ … }} (limit {MAX_DEPTH})", start)
        self._expect("}")
        return Composite(tuple(parts), column)

    def _extend(self, node: Node, at: int) -> Node | None:
        if not isinstance(node, Member) or self._text[at : at + 1] != "(":
            return None
        self._position = at + 1
        arguments: list[Node] = []
        if self._accept(")") is None:
            arguments.append(self._argument())
            while self._accept(",") is not None and len(arguments) < _MAX_ARGUMENTS:
                arguments.append(self._argument())
            self._expect(")")
        return MethodCall(node.base, node.name, tuple(arguments), node.column)
