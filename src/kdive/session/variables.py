"""The parameters and local variables of the selected frame, with their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import ExpressionError, KdiveError
from kdive.expr.typed import fit, is_aggregate, load
from kdive.expr.values import Value
from kdive.record import Record
from kdive.session.frames import CallFrame, lookup_address
from kdive.symbols.interface import (
    ConstantPlace,
    LocalVariable,
    PartsPlace,
    RegisterPlace,
    RegisterRelativePlace,
    StaticPlace,
    UnavailablePlace,
)
from kdive.symbols.types import resolved

if TYPE_CHECKING:
    from kdive.arch.context import RegisterContext
    from kdive.session.session import Session
    from kdive.stack.unwinder import StackFrame
    from kdive.symbols.interface import Place


class FrameVariable(Record, frozen=True):
    """A variable of a frame.

    Attributes:
        local: What the symbols say of it.
        where: Where it is, in words: ``@rcx``, ``@rsp+0x48``.
        value: Its value; None if it cannot be had.
        problem: Why not.
    """

    local: LocalVariable
    where: str
    value: Value | None = None
    problem: str = ""


def frame_variables(session: Session) -> list[FrameVariable]:
    """Return the variables in scope in the selected frame, parameters first.

    Raises:
        KdiveError: The target has no registers.
    """
    frames = session.stack(session.scope.frame + 1)
    if session.scope.frame >= len(frames):
        return []
    frame = frames[session.scope.frame]
    found = [_evaluated(session, frame, local) for local in _locals(session, frame)]
    return sorted(found, key=lambda variable: not variable.local.parameter)


def frame_variable(session: Session, name: str) -> Value | None:
    """Return a variable of the selected frame by name, None if there is none of that name.

    Raises:
        ExpressionError: There is one, and its value cannot be had here.
    """
    frames = session.stack(session.scope.frame + 1)
    if session.scope.frame >= len(frames):
        return None
    frame = frames[session.scope.frame]
    # Inner blocks come last, and their names hide those of outer ones.
    for local in reversed(_locals(session, frame)):
        if local.name == name:
            found = _evaluated(session, frame, local)
            if found.value is None:
                raise ExpressionError(f"'{name}' has no value here: {found.problem}", hint="dv lists the variables")
            return found.value
    return None


def variables_at(session: Session, address: int) -> list[FrameVariable]:
    """Return the variables in scope at an address, without values."""
    found = [FrameVariable(local, describe_place(local.place)) for local in _locals_at(session, address)[0]]
    return sorted(found, key=lambda variable: not variable.local.parameter)


def _locals_at(session: Session, address: int) -> tuple[list[LocalVariable], set[str]]:
    """The variables in scope at an address, and the names of the functions inlined there."""
    state = session.engine.state_at(address)
    symbols = session.engine.symbols_of(state) if state is not None else None
    if symbols is None or state is None:
        return [], set()
    rva = address - state.module.base
    # Optimising compilers record a parameter twice: where it lives, and the slot that it could have been saved in.
    seen: set[tuple[str, str]] = set()
    found: list[LocalVariable] = []
    for local in symbols.locals(rva):
        key = (local.function, local.name)
        if not local.parameter or key not in seen:
            found.append(local)
        if local.parameter:
            seen.add(key)
    return found, {call.name for call in symbols.inline_frames(rva)}


def _locals(session: Session, frame: StackFrame) -> list[LocalVariable]:
    found, inlined = _locals_at(session, lookup_address(frame))
    if isinstance(frame, CallFrame) and frame.inlined:
        return [local for local in found if local.function == frame.inlined]
    return [local for local in found if local.function not in inlined]


def _evaluated(session: Session, frame: StackFrame, local: LocalVariable) -> FrameVariable:
    where = describe_place(local.place)
    try:
        value = _value(session, frame, local)
    except KdiveError as error:
        return FrameVariable(local, where, None, error.what)
    return FrameVariable(local, where, value)


def describe_place(place: Place) -> str:
    """Write where a variable is: ``@rcx``, ``@rsp+0x48``."""
    match place:
        case RegisterPlace():
            return f"@{place.register}"
        case RegisterRelativePlace():
            sign = "-" if place.offset < 0 else "+"
            return f"@{place.register}{sign}{abs(place.offset):#x}"
        case StaticPlace():
            return f"thread storage+{place.rva:#x}" if place.thread else f"image+{place.rva:#x}"
        case ConstantPlace():
            return "constant"
        case UnavailablePlace():
            return "nowhere"
        case PartsPlace():
            return ", ".join(f"+{offset:#x} {describe_place(part)}" for offset, part in place.parts)


def _register(context: RegisterContext, name: str) -> int:
    """Read a register or a part of one.

    Raises:
        ExpressionError: The frame's registers do not have it: callers of a frame keep only the non-volatile ones.
    """
    if context.machine == "arm64":
        from kdive.arch.arm64.context import read_register
    else:
        from kdive.arch.amd64.context import read_register
    number = read_register(context, name)
    if number is None:
        raise ExpressionError(f"register {name} is not known in this frame")
    return number


def _value(session: Session, frame: StackFrame, local: LocalVariable) -> Value:
    place, type_ = local.place, local.type
    match place:
        case RegisterPlace():
            return _scalar(_register(frame.context, place.register), local, place.register)
        case RegisterRelativePlace():
            address = (_register(frame.context, place.register) + place.offset) & MASK64
            return load(session.memory, address, type_) if type_ is not None else Value(address, None, address)
        case StaticPlace(thread=False):
            state = session.engine.state_at(lookup_address(frame))
            address = place.rva + (state.module.base if state is not None else 0)
            return load(session.memory, address, type_) if type_ is not None else Value(address, None, address)
        case ConstantPlace():
            return _scalar(int.from_bytes(place.value[:8], "little"), local)
        case PartsPlace():
            return _scalar(_assembled(session, frame, place), local)
        case StaticPlace():
            raise ExpressionError("thread-local storage is not followed")
        case UnavailablePlace():
            raise ExpressionError(place.reason)


def _scalar(number: int, local: LocalVariable, register: str | None = None) -> Value:
    layout = resolved(local.type) if local.type is not None else None
    if layout is None:
        return Value(number, None, None, register)
    if is_aggregate(layout):
        raise ExpressionError(f"a structure of {layout.size} bytes in registers is not shown")
    return Value(fit(number, layout), layout, None, register)


def _assembled(session: Session, frame: StackFrame, place: PartsPlace) -> int:
    """Put a value of at most eight bytes together from its parts."""
    number = 0
    for offset, part in place.parts:
        match part:
            case RegisterPlace():
                piece = _register(frame.context, part.register)
            case RegisterRelativePlace():
                address = (_register(frame.context, part.register) + part.offset) & MASK64
                piece = int.from_bytes(session.memory.read(address, max(8 - offset, 1)), "little")
            case ConstantPlace():
                piece = int.from_bytes(part.value[:8], "little")
            case StaticPlace():
                raise ExpressionError("a part of it is in the image")
        if offset >= 8:
            raise ExpressionError("a value of more than eight bytes in several places is not shown")
        low = number & ((1 << 8 * offset) - 1)
        number = (low | piece << 8 * offset) & MASK64
    return number
