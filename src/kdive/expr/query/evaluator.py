"""Evaluates queries: objects, methods and lambdas here, everything else by the C++ rules."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdive.errors import ExpressionError
from kdive.expr.evaluator import Evaluator
from kdive.expr.nodes import (
    Binary,
    Cast,
    Composite,
    Index,
    Known,
    Lambda,
    Member,
    MethodCall,
    Name,
    Node,
    Pseudo,
    Ternary,
    Text,
    Unary,
)
from kdive.expr.query.model import ModelObject, Sequence, as_sequence, boolean, kind_of, truth
from kdive.expr.query.parser import QueryParser
from kdive.expr.query.sequences import METHODS
from kdive.expr.query.strings import STRING_METHODS
from kdive.expr.typed import lookup_type
from kdive.expr.values import Value
from kdive.symbols.types import PointerType, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kdive.expr.query.model import Getter, ModelValue
    from kdive.expr.query.sequences import Method
    from kdive.expr.scope import EvaluationScope

_MAX_DEPTH = 128


class Objects:
    """What a query can name besides symbols.

    Attributes:
        names: Root objects, such as ``Debugger``.
        pseudo: Objects behind ``@$name``, names in lower case.
        display: Writes a value as text, for ``ToDisplayString``.
        check: Called at each step; raises when the query shall stop.
    """

    def __init__(
        self,
        names: dict[str, Getter],
        pseudo: dict[str, Getter],
        display: Callable[[ModelValue], str],
        check: Callable[[], None],
    ) -> None:
        self.names = names
        self.pseudo = pseudo
        self.display = display
        self.check = check


def evaluate_query(text: str, scope: EvaluationScope, objects: Objects) -> ModelValue:
    """Evaluate a query.

    Raises:
        ExpressionError: It cannot be parsed, or a name, property or method is not known; it points at the column.
        MemoryAccessError: Memory that it reads is not readable.
        SymbolError: The symbols cannot answer.
    """
    node = QueryParser(text, lambda name: lookup_type(name, scope) is not None).parse()
    return QueryEvaluator(scope, text, objects).value(node)


class QueryEvaluator:
    """Walks a query's syntax tree.

    Args:
        scope: Symbols, registers and memory.
        text: The source, for error messages.
        objects: What can be named besides.
    """

    def __init__(self, scope: EvaluationScope, text: str, objects: Objects) -> None:
        self._scope = scope
        self._text = text
        self._objects = objects
        self._plain = Evaluator(scope, text, "c++")
        self._parameters: dict[str, ModelValue] = {}
        self._depth = 0

    def value(self, node: Node) -> ModelValue:
        """Return what a node evaluates to.

        Raises:
            ExpressionError: A name cannot be resolved or an operation cannot be applied.
            MemoryAccessError: Memory is not readable.
        """
        self._objects.check()
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                raise ExpressionError("the query is nested too deeply", text=self._text, column=node.column)
            with self._blaming(node.column):
                return self._value(node)
        finally:
            self._depth -= 1

    @contextmanager
    def _blaming(self, column: int) -> Generator[None, None, None]:
        try:
            yield
        except ExpressionError as error:
            if error.text:
                raise
            raise ExpressionError(error.what, text=self._text, column=column, hint=error.hint) from None

    def _value(self, node: Node) -> ModelValue:
        match node:
            case Text():
                return node.text
            case Name():
                return self._name(node)
            case Pseudo():
                getter = self._objects.pseudo.get(node.name.lower())
                return getter() if getter is not None else self._plain.value(node)
            case Member():
                return self._member(node)
            case Index():
                return self._index(node)
            case MethodCall():
                return self._call(node)
            case Composite():
                parts = {name: self.value(part) for name, part in node.parts}
                return ModelObject("", {name: lambda part=part: part for name, part in parts.items()})
            case Ternary():
                return self.value(node.yes if truth(self.value(node.condition)) else node.no)
            case Binary():
                return self._binary(node)
            case Unary():
                return self._unary(node)
            case Cast():
                return self._plain.value(Cast(node.type, self._known(node.operand), node.column))
            case Lambda():
                raise ExpressionError("a lambda stands only as an argument of a method")
            case _:
                return self._plain.value(node)

    def _known(self, node: Node) -> Known:
        """Evaluate what must be a number or a place."""
        found = self.value(node)
        if not isinstance(found, Value):
            raise ExpressionError(f"a number is needed, not {kind_of(found)}", text=self._text, column=node.column)
        return Known(found, node.column)

    def _name(self, node: Name) -> ModelValue:
        if node.name in self._parameters:
            return self._parameters[node.name]
        getter = self._objects.names.get(node.name)
        return getter() if getter is not None else self._plain.value(node)

    def _member(self, node: Member) -> ModelValue:
        base = self.value(node.base)
        if isinstance(base, ModelObject):
            return base.get(node.name)
        if isinstance(base, str) and node.name == "Length":
            return Value(len(base))
        if isinstance(base, Value):
            # Pointers are followed by either spelling here.
            pointer = base.type is not None and isinstance(resolved(base.type), PointerType)
            return self._plain.value(Member(Known(base, node.column), node.name, pointer, node.column))
        if isinstance(base, Sequence):
            raise ExpressionError(
                f"a sequence has no property '{node.name}'", hint=f"Select(x => x.{node.name}) takes it of each element"
            )
        raise ExpressionError(f"{kind_of(base)} has no property '{node.name}'")

    def _index(self, node: Index) -> ModelValue:
        base = self.value(node.base)
        index = self._known(node.index)
        sequence = base if isinstance(base, Sequence) else None
        if sequence is not None:
            return sequence.at(index.value.number)
        if isinstance(base, Value):
            return self._plain.value(Index(Known(base, node.column), index, node.column))
        raise ExpressionError(f"{kind_of(base)} cannot be indexed")

    def _unary(self, node: Unary) -> ModelValue:
        if node.operator == "!":
            return boolean(not truth(self.value(node.operand)))
        if node.operator in ("&", "sizeof"):
            return self._plain.value(node)
        return self._plain.value(Unary(node.operator, self._known(node.operand), node.column))

    def _binary(self, node: Binary) -> ModelValue:
        left = self.value(node.left)
        if node.operator == "&&":
            return boolean(truth(left) and truth(self.value(node.right)))
        if node.operator == "||":
            return boolean(truth(left) or truth(self.value(node.right)))
        right = self.value(node.right)
        if isinstance(left, Value) and isinstance(right, Value):
            return self._plain.value(
                Binary(node.operator, Known(left, node.column), Known(right, node.column), node.column)
            )
        if isinstance(left, str) and isinstance(right, str):
            return self._strings(node.operator, left, right)
        if node.operator in ("==", "!=") and (left is None or right is None):
            return boolean((left is right) == (node.operator == "=="))
        raise ExpressionError(f"'{node.operator}' cannot take {kind_of(left)} and {kind_of(right)}")

    @staticmethod
    def _strings(operator: str, left: str, right: str) -> ModelValue:
        match operator:
            case "+":
                return left + right
            case "==":
                return boolean(left == right)
            case "!=":
                return boolean(left != right)
            case "<":
                return boolean(left < right)
            case ">":
                return boolean(left > right)
            case "<=":
                return boolean(left <= right)
            case ">=":
                return boolean(left >= right)
            case _:
                raise ExpressionError(f"strings do not know '{operator}'")

    # --- methods -----------------------------------------------------------------------------------------------------

    def _call(self, node: MethodCall) -> ModelValue:
        base = self.value(node.base)
        if node.name == "ToDisplayString":
            return self._objects.display(base)
        if isinstance(base, str):
            found = STRING_METHODS.get(node.name)
            if found is None:
                raise self._unknown(node, base, list(STRING_METHODS))
            run, least, most = found
            self._count(node, least, most)
            return run(base, *(self.value(argument) for argument in node.arguments))
        sequence = as_sequence(base, self._scope.memory)
        if sequence is not None:
            method = METHODS.get(node.name)
            if method is None:
                raise self._unknown(node, base, list(METHODS))
            self._count(node, method.least, method.most)
            return method.run(sequence, *(self._argument(argument, method) for argument in node.arguments))
        if isinstance(base, ModelObject) and (known := base.methods.get(node.name)) is not None:
            return known(*(self.value(argument) for argument in node.arguments))
        raise self._unknown(node, base, list(base.methods) if isinstance(base, ModelObject) else [])

    @staticmethod
    def _count(node: MethodCall, least: int, most: int) -> None:
        if not least <= len(node.arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise ExpressionError(f"{node.name} takes {wanted} argument(s), not {len(node.arguments)}")

    @staticmethod
    def _unknown(node: MethodCall, base: ModelValue, known: list[str]) -> ExpressionError:
        close = difflib.get_close_matches(node.name, known, n=3) or known
        hint = f"it has {', '.join(close)}" if close else None
        return ExpressionError(f"{kind_of(base)} has no method '{node.name}'", hint=hint)

    def _argument(self, node: Node, method: Method) -> object:
        if not method.functions:
            return self.value(node)
        if not isinstance(node, Lambda):
            raise ExpressionError("a lambda is needed, as in p => p.Id == 4", text=self._text, column=node.column)

        # Sequences are walked later, when the parameters of outer lambdas may have changed.
        around = self._parameters

        def function(element: ModelValue) -> ModelValue:
            outer = self._parameters
            self._parameters = {**around, node.parameter: element}
            try:
                return self.value(node.body)
            finally:
                self._parameters = outer

        return function
