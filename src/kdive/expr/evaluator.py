"""Evaluates syntax trees against a scope.

In MASM syntax every number is an unsigned 64-bit one and a symbol stands for its address. In C++ syntax values have C
types: arithmetic follows the usual conversions, pointers move by whole elements, and a symbol stands for its content.
Members, indexes and casts mean the same in both.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError
from kdive.expr import arithmetic, functions
from kdive.expr.lexer import digits_value
from kdive.expr.nodes import (
    Binary,
    Call,
    Cast,
    Composite,
    Dialect,
    FieldOffset,
    Index,
    Known,
    Lambda,
    Member,
    MethodCall,
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
from kdive.expr.parser import MEMORY_OPERATORS, Parser
from kdive.expr.typed import (
    BOOL,
    CHAR,
    INT,
    INT64,
    UINT,
    UINT64,
    cast,
    describe,
    field_place,
    load,
    lookup_type,
    size_of,
)
from kdive.expr.values import Value
from kdive.symbols.types import ArrayType, FunctionType, PointerType, StructType, Type, resolved

if TYPE_CHECKING:
    from collections.abc import Generator

    from kdive.expr.scope import EvaluationScope

_MAX_DEPTH = 128
_HEX = re.compile(r"[0-9A-Fa-f]+")
_HEX_SUFFIXED = re.compile(r"[0-9A-Fa-f]+[hH]")
_LITERAL_TYPES: dict[str, Type] = {
    "int": INT,
    "unsigned": UINT,
    "int64": INT64,
    "uint64": UINT64,
    "char": CHAR,
    "bool": BOOL,
}


def evaluate(text: str, scope: EvaluationScope) -> Value:
    """Evaluate a MASM expression.

    Raises:
        ExpressionError: It cannot be parsed or a name cannot be resolved; the error points at the column.
        MemoryAccessError: Memory that it reads is not readable.
        SymbolError: The symbols cannot answer.
    """
    return _run(text, scope, "masm")


def evaluate_cpp(text: str, scope: EvaluationScope) -> Value:
    """Evaluate a C++ expression, as ``??`` and ``@@c++()`` take it.

    Raises:
        ExpressionError: It cannot be parsed or a name cannot be resolved; the error points at the column.
        MemoryAccessError: Memory that it reads is not readable.
        SymbolError: The symbols cannot answer.
    """
    return _run(text, scope, "c++")


def evaluate_prefix(text: str, scope: EvaluationScope) -> tuple[Value, str]:
    """Evaluate the longest MASM expression at the start of a text and return it with the rest of the text.

    The expression ends where no infix operator follows, so in ``rsp l8`` it is ``rsp``. Leading blanks of the rest are
    dropped.

    Raises:
        ExpressionError: The text does not start with an expression, or a name cannot be resolved.
        MemoryAccessError: Memory that it reads is not readable.
        SymbolError: The symbols cannot answer.
    """
    node, end = Parser(text, scope.radix, "masm", lambda name: lookup_type(name, scope) is not None).parse_prefix()
    return Evaluator(scope, text, "masm").value(node), text[end:].lstrip()


def _run(text: str, scope: EvaluationScope, dialect: Dialect) -> Value:
    node = Parser(text, scope.radix, dialect, lambda name: lookup_type(name, scope) is not None).parse()
    return Evaluator(scope, text, dialect).value(node)


class Evaluator:
    """Walks a syntax tree.

    Args:
        scope: Names, registers and memory.
        text: The source, for error messages.
        dialect: The syntax whose rules apply at the root.
    """

    def __init__(self, scope: EvaluationScope, text: str, dialect: Dialect) -> None:
        self._scope = scope
        self._text = text
        self._dialect: Dialect = dialect
        self._depth = 0

    def value(self, node: Node) -> Value:
        """Return what a node evaluates to.

        Raises:
            ExpressionError: A name cannot be resolved or an operator cannot be applied.
            MemoryAccessError: Memory is not readable.
        """
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error("the expression is nested too deeply", node.column)
        result = self._value(node)
        self._depth -= 1
        return result

    def _value(self, node: Node) -> Value:
        match node:
            case Number():
                return Value(node.value, _LITERAL_TYPES[node.kind] if self._dialect == "c++" else None)
            case Binary():
                return self._binary(node)
            case Unary():
                return self._unary(node)
            case Name():
                return self._name_value(node)
            case Register():
                return self._register(node)
            case Pseudo():
                return self._pseudo(node)
            case Member() | Index():
                return self._read(self._place(node), node.column)
            case Cast():
                with self._blaming(node.column):
                    return cast(self.value(node.operand), self._type(node.type))
            case Ternary():
                return self.value(node.yes if self.value(node.condition) else node.no)
            case Call():
                return self._call(node)
            case Switch():
                with self._speaking(node.dialect):
                    return self.value(node.operand)
            case SizeOfType():
                return Value(self._size(self._type(node.type), node.column), UINT64)
            case FieldOffset():
                return self._field_offset(node)
            case Known():
                return node.value
            case Lambda() | MethodCall() | Composite():
                raise self._error("queries are not part of this syntax", node.column, "dx takes them")
            case Text():
                raise self._error("a string is no number", node.column, "strings go to $scmp, $sicmp and $spat")

    def _error(self, what: str, column: int, hint: str | None = None) -> ExpressionError:
        return ExpressionError(what, text=self._text, column=column, hint=hint)

    @contextmanager
    def _blaming(self, column: int) -> Generator[None, None, None]:
        """Give errors from helpers that do not know the source the text and column of a node."""
        try:
            yield
        except ExpressionError as error:
            if error.text:
                raise
            raise self._error(error.what, column, error.hint) from None

    @contextmanager
    def _speaking(self, dialect: Dialect) -> Generator[None, None, None]:
        outer = self._dialect
        self._dialect = dialect
        try:
            yield
        finally:
            self._dialect = outer

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, node: Name) -> Value:
        """Return a name as the scope has it: for variables, the place and the type of the variable."""
        scope, name = self._scope, node.name
        qualified = "!" in name or "::" in name
        found: Value | None = None
        if not node.symbol_only and not qualified:
            found = scope.local(name)
        if node.local_only:
            if found is None:
                raise self._error(f"no local variable '{name}' in this frame", node.column, "dv lists the locals")
            return found
        if found is None:
            found = scope.symbol(name)
        if found is None and not qualified and not node.symbol_only and self._dialect == "masm":
            found = self._bare_word(node)
        if found is None:
            hint = "write module!name, or load symbols with .reload"
            if self._dialect == "c++" and not qualified and scope.register(name.lower()) is not None:
                hint = f"registers are written @{name} in C++ expressions"
            raise self._error(f"Couldn't resolve error at '{name}'", node.column, hint)
        return found

    def _bare_word(self, node: Name) -> Value | None:
        """Read a word that is no symbol: as hex number, register, pseudo-register or module, in this order."""
        scope, name = self._scope, node.name
        digits = name.lower()
        if not (scope.radix == 16 and _HEX.fullmatch(name)):
            digits = ""
            if _HEX_SUFFIXED.fullmatch(name) and scope.register(name.lower()) is None:
                digits = name[:-1].lower()
        if digits:
            number = digits_value(digits, 16)
            if number is None or number > MASK64:
                raise self._error(f"Overflow error at '{name}'", node.column, "numbers have at most 64 bits")
            return Value(number)
        if (register := scope.register(name.lower())) is not None:
            return Value(register, register=name.lower())
        if (pseudo := scope.pseudo(name)) is not None:
            return pseudo
        base = scope.module_base(name)
        return None if base is None else Value(base)

    def _name_value(self, node: Name) -> Value:
        found = self._name(node)
        if found.address is None:
            return found
        if self._dialect == "masm" or found.type is None:
            return Value(found.address)
        return self._read(found, node.column)

    def _register(self, node: Register) -> Value:
        number = self._scope.register(node.name)
        if number is None:
            raise self._error(f"Bad register error at '@{node.name}'", node.column, "r lists the registers")
        return Value(number, UINT64 if self._dialect == "c++" else None, register=node.name)

    def _pseudo(self, node: Pseudo) -> Value:
        with self._blaming(node.column):
            found = self._scope.pseudo(node.name)
        if found is None:
            raise self._error(f"no pseudo-register or variable '${node.name}'", node.column)
        return found

    # --- types and places --------------------------------------------------------------------------------------------

    def _type(self, written: TypeName) -> Type:
        found = lookup_type(written.name, self._scope)
        if found is None:
            raise self._error(
                f"no type '{written.name}'",
                written.column,
                "write module!type; dt module!*part* searches types",
            )
        for _ in range(written.stars):
            found = PointerType(found, self._scope.pointer_size)
        return found

    def _size(self, type_: Type, column: int) -> int:
        size = size_of(type_)
        if size == 0:
            raise self._error(f"{describe(type_)} has no size", column)
        return size

    def _read(self, place: Value, column: int) -> Value:
        """Read the content of a typed place (an aggregate stays a place)."""
        if place.address is None or place.type is None:
            return place
        with self._blaming(column):
            return load(self._scope.memory, place.address, place.type)

    def _content(self, node: Node) -> Value:
        """Return the typed content of a node, even of a MASM symbol, as member access and ``*`` need it."""
        if isinstance(node, Name):
            return self._read(self._name(node), node.column)
        return self.value(node)

    def _place(self, node: Node) -> Value:
        """Return where a node lies: ``address`` is set, ``type`` says what is there; nothing is read from there."""
        match node:
            case Name():
                found = self._name(node)
                if found.address is None and found.type is None and found.register is None:
                    # An untyped symbol is nothing but its address.
                    return Value(found.number, None, found.number)
                if found.address is None:
                    where = f"is in register {found.register}" if found.register else "is no variable"
                    raise self._error(f"'{node.name}' {where} and has no address", node.column)
                return found
            case Member():
                return self._member(node)
            case Index():
                base = self._content(node.base)
                index = self.value(node.index)
                element = self._element(base, node)
                offset = index.signed * self._size(element, node.column)
                return _place_at(base.number + offset, element)
            case Unary(operator="*"):
                return self._pointee(node)
            case Switch():
                with self._speaking(node.dialect):
                    return self._place(node.operand)
            case _:
                found = self.value(node)
                if found.address is None:
                    raise self._error("this has no address", node.column)
                return found

    def _element(self, base: Value, node: Index) -> Type:
        type_ = None if base.type is None else resolved(base.type)
        if isinstance(type_, PointerType):
            return type_.target
        if isinstance(type_, ArrayType):
            return type_.element
        hint = "write poi(…) to read memory, or cast it to a pointer first" if type_ is None else None
        raise self._error(f"cannot index a value of type {describe(type_)}", node.column, hint)

    def _pointee(self, node: Unary) -> Value:
        if self._dialect == "masm" and isinstance(node.operand, Name):
            found = self._name(node.operand)
            if found.address is not None and found.type is not None:
                return found
        base = self.value(node.operand)
        type_ = None if base.type is None else resolved(base.type)
        if isinstance(type_, PointerType):
            return _place_at(base.number, type_.target)
        if isinstance(type_, ArrayType):
            return _place_at(base.number, type_.element)
        if isinstance(type_, FunctionType):
            return base
        if self._dialect == "masm" and type_ is None:
            return Value(base.number, UINT64 if self._scope.pointer_size == 8 else UINT, base.number)
        raise self._error(
            f"cannot take what a value of type {describe(type_)} points to", node.column, "cast it to a pointer first"
        )

    def _member(self, node: Member) -> Value:
        base = self._content(node.base)
        type_ = None if base.type is None else resolved(base.type)
        spelling = f"{'->' if node.arrow else '.'}{node.name}"
        if node.arrow and isinstance(type_, PointerType):
            target = resolved(type_.target)
        elif node.arrow and isinstance(type_, ArrayType):
            target = resolved(type_.element)
        else:
            target = type_
            if isinstance(type_, PointerType):
                raise self._error(f"{describe(type_)} is a pointer", node.column, f"write ->{node.name}")
            if node.arrow and isinstance(type_, StructType):
                raise self._error(f"{describe(type_)} is no pointer", node.column, f"write .{node.name}")
        if target is None:
            raise self._error(
                f"'{spelling}' needs a typed value", node.column, f"cast it: ((module!_TYPE*)value)->{node.name}"
            )
        with self._blaming(node.column):
            offset, member = field_place(target, [node.name])
        return _place_at(base.number + offset, member)

    def _field_offset(self, node: FieldOffset) -> Value:
        type_ = self._type(node.type)
        with self._blaming(node.column):
            offset, _ = field_place(type_, list(node.path))
        if node.record is None:
            return Value(offset, INT if offset < 1 << 31 else UINT64)
        return Value(self.value(node.record).number - offset, PointerType(type_, self._scope.pointer_size))

    # --- operators ---------------------------------------------------------------------------------------------------

    def _binary(self, node: Binary) -> Value:
        # Long sums lean to the left; their spine is walked in a loop so that only real nesting recurses.
        spine = [node]
        while isinstance(spine[-1].left, Binary):
            spine.append(spine[-1].left)
        result = self.value(spine[-1].left)
        for part in reversed(spine):
            operator = part.operator
            if operator in ("&&", "||"):
                decided = bool(result) == (operator == "||")
                truth = bool(result) if decided else bool(self.value(part.right))
                result = Value(int(truth), BOOL if self._dialect == "c++" else None)
                continue
            right = self.value(part.right)
            with self._blaming(part.column):
                if self._dialect == "c++":
                    result = arithmetic.typed_binary(operator, result, right, self._scope.pointer_size)
                else:
                    result = Value(arithmetic.unsigned_binary(operator, result.number, right.number))
        return result

    def _unary(self, node: Unary) -> Value:
        operator = node.operator
        if operator in MEMORY_OPERATORS:
            return self._memory_operator(node)
        if operator == "&":
            return self._address_of(node)
        if operator == "*":
            return self._read(self._pointee(node), node.column)
        if operator == "sizeof":
            return self._sizeof(node)
        operand = self.value(node.operand)
        if self._dialect == "c++":
            with self._blaming(node.column):
                return arithmetic.typed_unary(operator, operand)
        number = operand.number
        match operator:
            case "-":
                return Value(-number)
            case "~":
                return Value(~number)
            case "!":
                return Value(int(not number))
            case "hi":
                return Value(number >> 16 & 0xFFFF)
            case "low":
                return Value(number & 0xFFFF)
            case _:
                return Value(number)

    def _memory_operator(self, node: Unary) -> Value:
        size = MEMORY_OPERATORS[node.operator] or self._scope.pointer_size
        address = self.value(node.operand).number
        memory = self._scope.memory
        if node.operator.startswith("$"):
            physical = self._scope.physical
            if physical is None:
                raise self._error("this target gives no access to physical memory", node.column)
            memory = physical
        return Value(int.from_bytes(memory.read(address, size), "little"))

    def _address_of(self, node: Unary) -> Value:
        place = self._place(node.operand)
        number = place.number if place.address is None else place.address
        if place.type is None:
            return Value(number)
        return Value(number, PointerType(place.type, self._scope.pointer_size))

    def _sizeof(self, node: Unary) -> Value:
        is_place = isinstance(node.operand, Member | Index | Name) or (
            isinstance(node.operand, Unary) and node.operand.operator == "*"
        )
        if isinstance(node.operand, Name):
            type_ = self._name(node.operand).type
        else:
            type_ = (self._place if is_place else self.value)(node.operand).type
        if type_ is None:
            raise self._error("the size of an untyped value is not known", node.column)
        return Value(self._size(type_, node.column), UINT64)

    def _call(self, node: Call) -> Value:
        if node.name in ("scmp", "sicmp", "spat"):
            texts: list[str] = []
            for argument in node.arguments:
                if not isinstance(argument, Text):
                    raise self._error(f"${node.name} takes two quoted strings", argument.column)
                texts.append(argument.text)
            with self._blaming(node.column):
                return Value(functions.compare_strings(node.name, texts[0], texts[1]))
        numbers = [self.value(argument).number for argument in node.arguments]
        with self._blaming(node.column):
            if node.name == "vvalid":
                return Value(int(functions.is_valid(self._scope.memory, numbers[0], numbers[1])))
            return Value(functions.image_entry(self._scope.memory, numbers[0]))


def _place_at(address: int, type_: Type) -> Value:
    return Value(address, type_, address)


__all__ = ["Evaluator", "evaluate", "evaluate_cpp", "evaluate_prefix"]
