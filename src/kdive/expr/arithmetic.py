"""Operators on numbers: unsigned 64-bit for MASM, C's rules for C++."""

from __future__ import annotations

from kdive.addr import MASK64, sign_extend
from kdive.errors import ExpressionError
from kdive.expr.typed import BOOL, INT, INT64, UINT, UINT64, describe, fit, is_signed, size_of
from kdive.expr.values import Value
from kdive.symbols.types import (
    ArrayType,
    BitfieldType,
    FunctionType,
    PointerType,
    PrimitiveType,
    StructType,
    Type,
    resolved,
)

_COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def _compare(operator: str, left: int, right: int) -> bool:
    match operator:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def unsigned_binary(operator: str, left: int, right: int) -> int:
    """Apply an infix operator to unsigned 64-bit numbers; the result wraps, comparisons give 0 or 1.

    A shift by 64 or more leaves nothing (or, for ``>>>``, only copies of the sign).

    Raises:
        ExpressionError: Division by zero.
    """
    if operator in _COMPARISONS:
        return int(_compare(operator, left, right))
    match operator:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case "/" | "%":
            if right == 0:
                raise ExpressionError("Divide by zero error")
            result = left // right if operator == "/" else left % right
        case "<<":
            result = left << right if right < 64 else 0
        case ">>":
            result = left >> right if right < 64 else 0
        case ">>>":
            result = sign_extend(left, 64) >> min(right, 63)
        case "&":
            result = left & right
        case "|":
            result = left | right
        case _:
            result = left ^ right
    return result & MASK64


def _scalar(value: Value) -> tuple[int, Type | None]:
    """Return a value's number as a Python integer and its resolved type, arrays and functions decayed to pointers."""
    type_ = None if value.type is None else resolved(value.type)
    if isinstance(type_, ArrayType):
        type_ = PointerType(type_.element)
    elif isinstance(type_, FunctionType):
        type_ = PointerType(type_)
    if isinstance(type_, StructType):
        raise ExpressionError(f"{describe(type_)} is no number", hint="take its address with & or pick a member")
    if isinstance(type_, PrimitiveType) and type_.kind == "float":
        raise ExpressionError("floating point arithmetic is not supported")
    return (value.signed if is_signed(type_) else value.number), type_


def _promoted(type_: Type | None) -> PrimitiveType:
    """Return the type after C's integer promotion; an untyped number is an unsigned 64-bit one."""
    if type_ is None or isinstance(type_, PointerType):
        return UINT64
    if isinstance(type_, BitfieldType) and type_.length < 32:
        return INT
    size, signed = type_.size, is_signed(type_)
    if size < 4:
        return INT
    if size == 4:
        return INT if signed else UINT
    return INT64 if signed else UINT64


def _common(left: Type | None, right: Type | None) -> PrimitiveType:
    """Return the type in which C computes: the wider one, unsigned if they are equally wide and one is unsigned."""
    first, second = _promoted(left), _promoted(right)
    if first.size != second.size:
        return first if first.size > second.size else second
    return second if first.signed else first


def typed_binary(operator: str, left: Value, right: Value, pointer_size: int) -> Value:
    """Apply an infix operator by C's rules.

    Raises:
        ExpressionError: Division by zero, or the types do not allow the operator.
        SymbolNotFoundError: A pointee has no layout.
    """
    a, left_type = _scalar(left)
    b, right_type = _scalar(right)
    left_pointer, right_pointer = isinstance(left_type, PointerType), isinstance(right_type, PointerType)
    if operator in _COMPARISONS:
        if left_pointer or right_pointer:
            return Value(int(_compare(operator, a & MASK64, b & MASK64)), BOOL)
        common = _common(left_type, right_type)
        return Value(int(_compare(operator, _converted(a, common), _converted(b, common))), BOOL)
    if left_pointer or right_pointer:
        return _pointer_arithmetic(operator, (a, left_type), (b, right_type), pointer_size)
    if operator in ("<<", ">>"):
        return _shift(operator, a, b, _promoted(left_type))
    common = _common(left_type, right_type)
    a, b = _converted(a, common), _converted(b, common)
    if operator in ("/", "%"):
        if b == 0:
            raise ExpressionError("Divide by zero error")
        quotient = abs(a) // abs(b)
        quotient = -quotient if (a < 0) != (b < 0) else quotient
        result = quotient if operator == "/" else a - b * quotient
    else:
        result = unsigned_binary(operator, a & MASK64, b & MASK64)
    return Value(fit(result, common), common)


def _converted(number: int, type_: PrimitiveType) -> int:
    """Return a number converted to an integer type, as a Python integer with that type's sign."""
    bits = type_.size * 8
    return sign_extend(number, bits) if type_.signed else number & ((1 << bits) - 1)


def _shift(operator: str, number: int, count: int, type_: PrimitiveType) -> Value:
    number = _converted(number, type_)
    bits = type_.size * 8
    if not 0 <= count < bits:
        return Value(fit(-1 if operator == ">>" and number < 0 else 0, type_), type_)
    return Value(fit(number << count if operator == "<<" else number >> count, type_), type_)


def _pointer_arithmetic(
    operator: str, left: tuple[int, Type | None], right: tuple[int, Type | None], pointer_size: int
) -> Value:
    (a, left_type), (b, right_type) = left, right
    if isinstance(left_type, PointerType) and isinstance(right_type, PointerType):
        if operator == "-":
            distance = sign_extend(a - b, 64)
            step = _step(left_type)
            quotient = abs(distance) // step
            return Value(-quotient if distance < 0 else quotient, INT64)
    elif isinstance(left_type, PointerType) and operator in ("+", "-"):
        offset = b * _step(left_type)
        return Value(_pointer(a + offset if operator == "+" else a - offset, pointer_size), left_type)
    elif isinstance(right_type, PointerType) and operator == "+":
        return Value(_pointer(b + a * _step(right_type), pointer_size), right_type)
    raise ExpressionError(
        f"'{operator}' cannot be applied to {describe(left_type)} and {describe(right_type)}",
        hint="cast the pointer to an integer first",
    )


def _pointer(number: int, pointer_size: int) -> int:
    return number & (0xFFFFFFFF if pointer_size == 4 else MASK64)


def _step(pointer: PointerType) -> int:
    """Return the bytes by which a pointer moves; a void pointer moves by one, as compilers extend C."""
    return size_of(pointer.target) or 1


def typed_unary(operator: str, operand: Value) -> Value:
    """Apply a prefix operator by C's rules.

    Raises:
        ExpressionError: The type does not allow the operator.
    """
    number, type_ = _scalar(operand)
    if operator == "!":
        return Value(int(operand.number == 0), BOOL)
    if isinstance(type_, PointerType):
        if operator == "+":
            return operand
        raise ExpressionError(f"'{operator}' cannot be applied to {describe(type_)}")
    promoted = _promoted(type_)
    result = -number if operator == "-" else ~number if operator == "~" else number
    return Value(fit(result, promoted), promoted)
