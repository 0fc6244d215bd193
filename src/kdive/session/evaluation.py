"""The names that expressions see: registers, symbols, pseudo-registers and variables of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import ExpressionError, KdiveError
from kdive.expr.values import Value
from kdive.symbols.types import PointerType, StructType, TypeReference

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.memory.interface import Memory
    from kdive.session.session import Session
    from kdive.symbols.types import Type

SPECIAL_REGISTERS = frozenset(
    [
        "cr0",
        "cr2",
        "cr3",
        "cr4",
        "cr8",
        "dr0",
        "dr1",
        "dr2",
        "dr3",
        "dr6",
        "dr7",
        "gdtr",
        "gdtl",
        "idtr",
        "idtl",
        "tr",
        "ldtr",
    ]
)
"""Registers that are not part of a context and are asked for when they are named."""

_TEMPORARIES = {f"t{index}" for index in range(20)}


class SessionScope:
    """Answers the evaluator's questions from a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pseudo: dict[str, Callable[[], Value | None]] = {
            "ip": lambda: Value(session.context().ip),
            "scopeip": lambda: Value(session.context().ip),
            "csp": lambda: Value(session.context().sp),
            "retreg": self._return_register,
            "ra": self._return_address,
            "proc": lambda: self._pointer("_EPROCESS", session.process and session.process.address),
            "process": lambda: self._pointer("_EPROCESS", session.process and session.process.address),
            "eprocess": lambda: self._pointer("_EPROCESS", session.process and session.process.address),
            "thread": lambda: self._pointer("_ETHREAD", session.thread and session.thread.address),
            "ethread": lambda: self._pointer("_ETHREAD", session.thread and session.thread.address),
            "kthread": lambda: self._pointer("_KTHREAD", session.thread and session.thread.address),
            "peb": lambda: self._pointer("_PEB", session.process and session.process.peb),
            "teb": lambda: self._pointer("_TEB", session.thread and session.thread.teb),
            "tid": lambda: self._number(session.thread and session.thread.tid),
            "tpid": lambda: self._number(session.thread and session.thread.pid),
            "pid": lambda: self._number(session.process and session.process.pid),
            "frame": lambda: Value(session.scope.frame),
            "ptrsize": lambda: Value(session.pointer_size),
            "pagesize": lambda: Value(0x1000),
            "ntbase": lambda: self._number(session.kernel.base),
            "dtb": self._directory_base,
            "exentry": lambda: self._number(session.kernel.base),
            "exp": lambda: session.variables.get("exp"),
            "exr_code": lambda: self._exception("code"),
            "exr_address": lambda: self._exception("address"),
            "bug_code": lambda: self._bugcheck(0),
            **{f"bug_param{number}": self._bugcheck_getter(number) for number in range(1, 5)},
            "threadstart": lambda: self._number(session.thread and session.thread.start_address),
            "startaddress": lambda: self._number(session.thread and session.thread.start_address),
            "stackbase": lambda: self._number(session.thread and session.thread.stack_bounds[1]),
            "stacklimit": lambda: self._number(session.thread and session.thread.stack_bounds[0]),
        }

    @property
    def memory(self) -> Memory:
        """Memory in the session's scope."""
        return self._session.memory

    @property
    def physical(self) -> Memory | None:
        """Physical memory, if the target has it."""
        return self._session.target.physical

    @property
    def radix(self) -> int:
        """The default radix of numbers."""
        return self._session.radix

    @property
    def pointer_size(self) -> int:
        """Bytes in a pointer."""
        return self._session.pointer_size

    def pseudo_names(self) -> list[str]:
        """The built-in pseudo-registers, without ``$``."""
        return [*self._pseudo, *sorted(_TEMPORARIES, key=lambda name: int(name[1:]))]

    def register(self, name: str) -> int | None:
        """Return a register or sub-register of the present context."""
        try:
            context = self._session.context()
        except KdiveError:
            return None
        if context.machine == "arm64":
            from kdive.arch.arm64.context import read_register
        else:
            from kdive.arch.amd64.context import read_register
        value = read_register(context, name)
        return self._session.special_register(name) if value is None and name in SPECIAL_REGISTERS else value

    def pseudo(self, name: str) -> Value | None:
        """Return a pseudo-register or user variable.

        Raises:
            ExpressionError: It exists, but has no value at this stop.
        """
        if name in self._session.variables:
            return self._session.variables[name]
        if name.isdigit():
            index = int(name)
            return Value(self._session.results[index]) if index < len(self._session.results) else None
        lower = name.lower()
        if lower in _TEMPORARIES:
            return self._session.variables.get(lower, Value(0))
        getter = self._pseudo.get(lower)
        if getter is None:
            return None
        value = getter()
        if value is None:
            raise ExpressionError(f"${name} has no value here", hint="the target does not hold what it stands for")
        return value

    def symbol(self, name: str) -> Value | None:
        """Return a symbol's address, with its type where the symbols record it."""
        found = self._session.engine.find(name)
        if not found:
            return None
        module, symbol = found[0]
        address = module.base + symbol.rva
        state = self._session.engine.state_at(module.base)
        type_ = state.symbols.type_of(symbol.name) if state is not None and state.symbols is not None else None
        return Value(address, type_, address if type_ is not None else None)

    def module_base(self, name: str) -> int | None:
        """Return a module's load address."""
        state = self._session.engine.state_named(name)
        return None if state is None else state.module.base

    def local(self, name: str) -> Value | None:
        """Return a parameter or local variable of the selected frame.

        Raises:
            ExpressionError: There is one of that name, but its value cannot be had here.
        """
        from kdive.session.variables import frame_variable

        try:
            return frame_variable(self._session, name)
        except ExpressionError:
            raise
        except KdiveError:
            return None

    def find_type(self, name: str) -> Type | None:
        """Return a type by name."""
        found = self._session.engine.find_type(name)
        return None if found is None else found[1]

    def source_line(self, address: int) -> str | None:
        """``file(line)`` of an address, for ``%ly``."""
        state = self._session.engine.state_at(address)
        symbols = self._session.engine.symbols_of(state) if state is not None else None
        line = symbols.line(address - state.module.base) if state is not None and symbols is not None else None
        return None if line is None else f"{line.file}({line.line})"

    def symbolize(self, address: int) -> str:
        """``mod!name+0x…`` or an address, for ``%y``."""
        return self._session.engine.name_of(address) or f"{address:#x}"

    # --- pseudo-registers ------------------------------------------------------------------------------------------

    @staticmethod
    def _number(value: int | None) -> Value | None:
        return None if value is None else Value(value)

    def _pointer(self, type_name: str, address: int | None) -> Value | None:
        if address is None:
            return None
        found = self._session.engine.find_type(f"nt!{type_name}")
        if found is None or not isinstance(found[1], StructType):
            return Value(address)
        layout = found[1]
        return Value(address, PointerType(TypeReference(layout.name, layout.kind, layout.size, lambda: layout)))

    def _return_register(self) -> Value | None:
        context = self._session.context()
        return self._number(context.values.get("rax" if context.machine == "amd64" else "x0"))

    def _return_address(self) -> Value | None:
        frames = self._session.stack()[self._session.scope.frame :]
        # Inlined calls have no return address of their own: it is that of the function around them.
        return next((Value(frame.ip) for frame in frames if frame.child_sp != frames[0].child_sp), None)

    def _directory_base(self) -> Value | None:
        process = self._session.scope.process
        if process is not None:
            return Value(process.directory_table_base)
        dump = self._session.dump
        return None if dump is None else Value(dump.dump.header.directory_table_base)

    def _exception(self, what: str) -> Value | None:
        dump = self._session.dump
        record = dump.dump.header.exception if dump is not None else None
        return None if record is None else Value(getattr(record, what))

    def _bugcheck(self, number: int) -> Value | None:
        dump = self._session.dump
        if dump is None:
            return None
        header = dump.dump.header
        return Value(header.bugcheck_code if number == 0 else header.bugcheck_parameters[number - 1])

    def _bugcheck_getter(self, number: int) -> Callable[[], Value | None]:
        return lambda: self._bugcheck(number)
