"""Evaluating expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend
from kdive.errors import ExpressionError, MemoryAccessError, SymbolNotFoundError
from kdive.expr import typed
from kdive.expr.parser import (
    Binary,
    Call,
    Cast,
    Conditional,
    FieldOffset,
    Index,
    Member,
    Name,
    Node,
    Number,
    Parser,
    Pseudo,
    Read,
    Register,
    SizeOf,
    Switched,
    Text,
    TypeName,
    Unary,
)
from kdive.expr.values import Value
from kdive.symbols.types import FunctionType, PointerType, PrimitiveType, StructType, resolved
from kdive.symbols.views import find_member

if TYPE_CHECKING:
    from kdive.expr.scope import EvaluationScope
    from kdive.symbols.types import Type

_COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def evaluate(text: str, scope: EvaluationScope) -> Value:
    """Evaluate a whole text as a MASM expression.

    Raises:
        ExpressionError: It is not an expression, or a name or number in it is wrong.
        MemoryAccessError: It reads memory that is not there.
    """
    value, rest = evaluate_prefix(text, scope)
    if rest.strip():
        column = len(text) - len(rest.lstrip())
        raise ExpressionError(f"unexpected {rest.strip()[:20]!r}", text=text, column=column)
    return value


def evaluate_cpp(text: str, scope: EvaluationScope) -> Value:
    """Evaluate a whole text as a C++ expression.

    Raises:
        ExpressionError: It is not an expression.
        MemoryAccessError: It reads memory that is not there.
    """
    value, rest = _run(text, scope, cpp=True)
    if rest.strip():
        column = len(text) - len(rest.lstrip())
        raise ExpressionError(f"unexpected {rest.strip()[:20]!r}", text=text, column=column)
    return value


def evaluate_prefix(text: str, scope: EvaluationScope) -> tuple[Value, str]:
    """Evaluate the longest MASM expression at the start of a text; return its value and the rest.

    Raises:
        ExpressionError: No expression stands there.
        MemoryAccessError: It reads memory that is not there.
    """
    return _run(text, scope, cpp=False)


def _run(text: str, scope: EvaluationScope, *, cpp: bool) -> tuple[Value, str]:
    parser = Parser(
        text, scope.radix, cpp=cpp, is_type=lambda name: scope.register(name) is None and _is_type(scope, name)
    )
    node = parser.parse()
    try:
        value = Evaluator(scope, text).value(node, cpp=cpp)
    except RecursionError as error:
        raise ExpressionError("the expression is too long") from error
    return value, text[parser.position :]


def _is_type(scope: EvaluationScope, name: str) -> bool:
    return scope.find_type(name) is not None


class Evaluator:
    """Walks the tree of one expression.

    Args:
        scope: Names and memory.
        text: The expression, for messages.
    """

    def __init__(self, scope: EvaluationScope, text: str) -> None:
        self._scope = scope
        self._text = text

    def _error(self, what: str, node: Node, hint: str | None = None) -> ExpressionError:
        return ExpressionError(what, text=self._text, column=node.column, hint=hint)

    def value(self, node: Node, *, cpp: bool) -> Value:
        """Return the value of a node under the rules of the language it stands in."""
        if isinstance(node, Number):
            return Value(node.value)
        if isinstance(node, Name):
            return self._name(node, cpp=cpp)
        if isinstance(node, Register):
            return self._register(node)
        if isinstance(node, Pseudo):
            return self._pseudo(node)
        if isinstance(node, Unary):
            return self._unary(node, cpp=cpp)
        if isinstance(node, Read):
            return self._read(node, cpp=cpp)
        if isinstance(node, Binary):
            return self._binary(node, cpp=cpp)
        if isinstance(node, Conditional):
            chosen = node.yes if self.value(node.condition, cpp=cpp).number else node.no
            return self.value(chosen, cpp=cpp)
        if isinstance(node, Member | Index):
            return self._postfix(node, cpp=cpp)
        if isinstance(node, Cast):
            return self._cast(node, cpp=cpp)
        if isinstance(node, SizeOf):
            return self._size_of(node)
        if isinstance(node, FieldOffset):
            return self._field_offset(node)
        if isinstance(node, Call):
            return self._call(node, cpp=cpp)
        if isinstance(node, Switched):
            return self.value(node.operand, cpp=node.cpp)
        if isinstance(node, Text):
            raise self._error("a string has no value here", node)
        raise self._error("not an expression", node)

    # --- names -----------------------------------------------------------------------------------------------------

    def _name(self, node: Name, *, cpp: bool) -> Value:
        scope = self._scope
        qualified = "!" in node.name
        if not qualified:
            local = scope.local(node.name)
            if local is not None:
                return local
        register = None if qualified or cpp else scope.register(node.name.lower())
        if register is not None and node.bare_hex is None:
            return Value(register)
        symbol = scope.symbol(node.name)
        if symbol is not None:
            return self._symbol(symbol, cpp=cpp)
        if node.bare_hex is not None:
            return Value(node.bare_hex)
        if register is not None:
            return Value(register)
        if not qualified:
            constant = scope.register(node.name.lower()) if cpp else None
            if constant is not None:
                raise self._error(f"write @{node.name} for the register in C++", node)
            base = scope.module_base(node.name)
            if base is not None:
                return Value(base)
        hint = "symbols may be missing: lmvm shows a module's, .sympath where they are looked for"
        raise self._error(f"couldn't resolve {node.name!r}", node, hint)

    def _symbol(self, symbol: Value, *, cpp: bool) -> Value:
        """A symbol's value: in MASM its address, in C++ the variable behind it."""
        if not cpp:
            return replace(symbol, type=None, address=None)
        if symbol.type is None or symbol.address is None:
            return symbol
        return typed.load(self._scope.memory, symbol.address, symbol.type)

    def _register(self, node: Register) -> Value:
        number = self._scope.register(node.name)
        if number is not None:
            return Value(number)
        pseudo = self._scope.pseudo(node.name)
        if pseudo is not None:
            return pseudo
        raise self._error(f"no register {node.name!r} in this context", node)

    def _pseudo(self, node: Pseudo) -> Value:
        found = self._scope.pseudo(node.name)
        if found is None:
            raise self._error(f"no pseudo-register or variable ${node.name}", node, "vars lists what there is")
        return found

    # --- operators -------------------------------------------------------------------------------------------------

    def _unary(self, node: Unary, *, cpp: bool) -> Value:
        operator = node.operator
        if operator == "&":
            return self._address_of(node, cpp=cpp)
        value = self.value(node.operand, cpp=cpp)
        if operator == "*":
            if value.type is not None and typed.stride(value.type):
                return typed.dereference(self._scope.memory, value)
            if cpp:
                raise self._error("* needs a typed pointer", node, "cast first: *(unsigned long *)address")
            return Value(self._load(value.number, self._scope.pointer_size, physical=False))
        if operator == "-":
            return Value(-value.number, value.type if cpp else None)
        if operator == "~":
            return Value(~value.number)
        if operator == "!":
            return Value(int(not value.number))
        if operator == "hi":
            return Value(value.number >> 16 & 0xFFFF)
        if operator == "low":
            return Value(value.number & 0xFFFF)
        return value

    def _address_of(self, node: Unary, *, cpp: bool) -> Value:
        operand = node.operand
        if not cpp and isinstance(operand, Name):
            symbol = self._scope.symbol(operand.name)
            if symbol is not None:
                return Value(symbol.number)
        value = self.value(operand, cpp=cpp)
        if value.address is None:
            if not cpp:
                return value
            raise self._error("& needs something that lies in memory", node)
        target = value.type or PrimitiveType("void", 0, "void")
        return Value(value.address, PointerType(target, self._scope.pointer_size))

    def _load(self, address: int, size: int, *, physical: bool) -> int:
        memory = self._scope.physical if physical else self._scope.memory
        if memory is None:
            raise ExpressionError("the target has no physical memory")
        return int.from_bytes(memory.read(address, size), "little")

    def _read(self, node: Read, *, cpp: bool) -> Value:
        address = self.value(node.operand, cpp=cpp).number
        return Value(self._load(address, node.size or self._scope.pointer_size, physical=node.physical))

    def _binary(self, node: Binary, *, cpp: bool) -> Value:
        operator = node.operator
        left = self.value(node.left, cpp=cpp)
        if operator == "&&" and not left.number:
            return Value(0)
        if operator == "||" and left.number:
            return Value(1)
        right = self.value(node.right, cpp=cpp)
        if operator in ("&&", "||"):
            return Value(int(bool(right.number)))
        if cpp and operator in ("+", "-"):
            scaled = self._pointer_arithmetic(operator, left, right)
            if scaled is not None:
                return scaled
        signed = cpp and typed.is_signed(left.type) and typed.is_signed(right.type)
        return Value(self._arithmetic(node, left.number, right.number, signed=signed))

    @staticmethod
    def _pointer_arithmetic(operator: str, left: Value, right: Value) -> Value | None:
        left_stride, right_stride = typed.stride(left.type), typed.stride(right.type)
        if left_stride and right_stride and operator == "-":
            return Value(sign_extend(left.number - right.number, 64) // left_stride)
        if left_stride:
            delta = right.number * left_stride
            number = left.number + delta if operator == "+" else left.number - delta
            return Value(number, _decayed(left.type))
        if right_stride and operator == "+":
            return Value(right.number + left.number * right_stride, _decayed(right.type))
        return None

    def _arithmetic(self, node: Binary, left: int, right: int, *, signed: bool) -> int:
        operator = node.operator
        if operator in ("/", "%"):
            if right == 0:
                raise self._error("division by zero", node)
            if signed:
                a, b = sign_extend(left, 64), sign_extend(right, 64)
                quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                return quotient if operator == "/" else a - quotient * b
            return left // right if operator == "/" else left % right
        if operator in ("<<", ">>", ">>>"):
            if right >= 64:
                return -1 if operator != "<<" and left >> 63 and (operator == ">>>" or signed) else 0
            if operator == "<<":
                return left << right
            return sign_extend(left, 64) >> right if operator == ">>>" or signed else left >> right
        if operator in _COMPARISONS:
            if signed:
                left, right = sign_extend(left, 64), sign_extend(right, 64)
            return int(
                {
                    "==": left == right,
                    "!=": left != right,
                    "<": left < right,
                    "<=": left <= right,
                    ">": left > right,
                    ">=": left >= right,
                }[operator]
            )
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        return {"&": left & right, "|": left | right, "^": left ^ right}[operator]

    # --- types -----------------------------------------------------------------------------------------------------

    def _postfix(self, node: Member | Index, *, cpp: bool) -> Value:
        operand = node.operand
        if isinstance(operand, Name) and not cpp:
            # `symbol.Field`: a typed symbol keeps its type here even in MASM.
            symbol = self._scope.local(operand.name) or self._scope.symbol(operand.name)
            if symbol is not None and symbol.type is not None and symbol.address is not None:
                value = typed.load(self._scope.memory, symbol.address, symbol.type)
            else:
                value = self.value(operand, cpp=cpp)
        else:
            value = self.value(operand, cpp=cpp)
        try:
            if isinstance(node, Member):
                return typed.member(self._scope.memory, value, node.name, arrow=node.arrow)
            return typed.element(self._scope.memory, value, sign_extend(self.value(node.index, cpp=cpp).number, 64))
        except ExpressionError as error:
            if error.text:
                raise
            raise self._error(error.what, node, error.hint) from error

    def _type(self, name: TypeName, node: Node) -> Type:
        found = typed.PRIMITIVES.get(name.name) or self._scope.find_type(name.name)
        if found is None:
            raise self._error(f"no type {name.name!r}", node)
        for _ in range(name.pointers):
            found = PointerType(found, self._scope.pointer_size)
        return found

    def _cast(self, node: Cast, *, cpp: bool) -> Value:
        value = self.value(node.operand, cpp=cpp)
        return typed.cast(value, self._type(node.type, node))

    def _size_of(self, node: SizeOf) -> Value:
        if node.type is not None:
            return Value(resolved(self._type(node.type, node)).size)
        if node.operand is None:
            raise self._error("sizeof needs a type or an expression", node)
        value = self.value(node.operand, cpp=True)
        return Value(resolved(value.type).size if value.type is not None else 8)

    def _field_offset(self, node: FieldOffset) -> Value:
        layout = resolved(self._type(node.type, node))
        if not isinstance(layout, StructType):
            raise self._error(f"{node.type.name} is no structure", node)
        try:
            return Value(find_member(layout, node.field)[0])
        except SymbolNotFoundError as error:
            raise self._error(str(error), node) from error

    # --- functions -------------------------------------------------------------------------------------------------

    def _call(self, node: Call, *, cpp: bool) -> Value:
        if node.function in ("scmp", "sicmp", "spat"):
            first, second = (self._string(argument) for argument in node.arguments)
            if node.function == "spat":
                from kdive.symbols.interface import wildcard

                return Value(int(wildcard(second).fullmatch(first) is not None))
            if node.function == "sicmp":
                first, second = first.lower(), second.lower()
            return Value((first > second) - (first < second))
        numbers = [self.value(argument, cpp=cpp).number for argument in node.arguments]
        if node.function == "vvalid":
            size = min(numbers[1], 1 << 28)
            return Value(int(self._scope.memory.is_readable(numbers[0], size)))
        return Value(self._entry_point(node, numbers[0]))

    def _string(self, node: Node) -> str:
        if not isinstance(node, Text):
            raise self._error("a string in double quotes is needed", node)
        return node.text

    def _entry_point(self, node: Call, base: int) -> int:
        memory = self._scope.memory
        try:
            header = memory.u32(base + 0x3C)
            entry = memory.u32(base + header + 40)
        except MemoryAccessError as error:
            raise self._error(f"no image header at {base:#x}: {error.what}", node) from error
        return (base + entry) & MASK64


def _decayed(type_: Type | None) -> Type | None:
    """An array takes part in arithmetic as a pointer to its first element."""
    from kdive.symbols.types import ArrayType

    if type_ is None:
        return None
    layout = resolved(type_)
    if isinstance(layout, ArrayType):
        return PointerType(layout.element)
    return PointerType(layout) if isinstance(layout, FunctionType) else layout
