"""Steps that are more than one instruction: over calls, out of functions, to the next branch, call or return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kdive.errors import CommandError
from kdive.record import Record
from kdive.session.disassembly import disassemble

if TYPE_CHECKING:
    from kdive.arch.disasm import Instruction
    from kdive.session.run import RunControl, Stop
    from kdive.session.session import Session

Until = Literal["call", "return", "branch", "address"]
_FLOWS: dict[Until, frozenset[str]] = {
    "call": frozenset({"call"}),
    "return": frozenset({"return"}),
    "branch": frozenset({"branch", "conditional", "call", "return"}),
    "address": frozenset(),
}
_TRAP_FLAG = 0x100
_PUSH_FLAGS = frozenset({"pushf", "pushfd", "pushfq"})
_INTERRUPT_RETURNS = frozenset({"iretq", "iretd"})


class TraceCall(Record):
    """A call that ``wt`` has followed.

    Attributes:
        depth: How deep it is below the function that was watched.
        symbol: The function.
        instructions: Instructions of its own.
        called: Instructions of the functions that it called.
    """

    depth: int
    symbol: str
    instructions: int = 0
    called: int = 0


class Stepper:
    """Steps through code.

    Args:
        session: The session.
        run: Its run control.
    """

    def __init__(self, session: Session, run: RunControl) -> None:
        self._session = session
        self._run = run

    def here(self) -> Instruction | None:
        """The next instruction of the processor that stopped; None if its code cannot be read."""
        code = disassemble(self._session, self._session.base_context().ip, 1)
        return code[0] if code else None

    def into(self) -> Stop:
        """Run one instruction, into calls.

        Raises:
            CommandError: The target did not come back.
            TargetError: It could not be told to.
        """
        instruction = self.here()
        mnemonic = "" if instruction is None else instruction.mnemonic
        if mnemonic in _INTERRUPT_RETURNS:
            # The flags that it restores have no trap flag: the step would end who knows where.
            frame = self._session.memory.read_prefix(self._session.base_context().sp, 8)
            if len(frame) == 8:
                return _as_step(self._run.run_to(int.from_bytes(frame, "little"), self._session.cancel))
        stop = self._run.step()
        if mnemonic in _PUSH_FLAGS and stop.kind == "step":
            self._hide_trap_flag()
        return stop

    def _hide_trap_flag(self) -> None:
        """Take the trap flag of the step out of the flags that the guest has just pushed."""
        sp = self._session.base_context().sp
        flags = self._session.memory.u64(sp)
        if flags & _TRAP_FLAG:
            self._session.memory.write(sp, (flags & ~_TRAP_FLAG).to_bytes(8, "little"))

    def over(self) -> Stop:
        """Run one instruction, over calls and repeated string instructions.

        A step over a call ends in the thread and the frame that it began in: recursion and other threads go on.

        Raises:
            CancelledError: The session's token was cancelled; the target is running.
            CommandError: The target did not come back.
        """
        instruction = self.here()
        if instruction is None or not (instruction.flow == "call" or instruction.mnemonic.startswith("rep")):
            return self.into()
        thread = self._run.target.thread
        least_sp = self._session.base_context().sp
        stop = self._run.run_to(instruction.end, self._session.cancel, thread=thread, least_sp=least_sp)
        return _as_step(stop)

    def out(self) -> Stop:
        """Run until the present function returns to its caller.

        Raises:
            CommandError: The caller is not known.
        """
        frames = self._session.stack(3)
        caller = next((frame for frame in frames if frame.child_sp != frames[0].child_sp), None)
        if caller is None:
            raise CommandError("the caller is not known", hint="k shows what can be unwound")
        thread = self._run.target.thread
        stop = self._run.run_to(caller.ip, self._session.cancel, thread=thread, least_sp=frames[0].child_sp + 1)
        return _as_step(stop)

    def until(self, until: Until, *, over: bool, address: int | None = None, limit: int) -> Stop:
        """Step until the next instruction is of a kind, or an address is reached.

        Args:
            until: The kind.
            over: Run over calls.
            address: The address, for ``address``.
            limit: Most steps.

        Raises:
            CancelledError: The session's token was cancelled.
            CommandError: The limit was reached.
        """
        for _ in range(limit):
            self._session.cancel.check()
            stop = self.over() if over else self.into()
            if stop.kind != "step" or stop.ip == address:
                return stop
            if _FLOWS[until]:
                instruction = self.here()
                if instruction is None or instruction.flow in _FLOWS[until]:
                    return stop
        raise CommandError(f"not reached within {limit} steps", hint="the target is halted where it came to")

    def watch(self, limit: int) -> tuple[list[TraceCall], Stop]:
        """Run the present function to its return, and count instructions by call (``wt``).

        Args:
            limit: Most instructions.

        Raises:
            CancelledError: The session's token was cancelled.
            CommandError: The limit was reached.
        """
        start = self._session.base_context()
        calls = [TraceCall(0, self._name(start.ip))]
        stack = [calls[0]]
        for _ in range(limit):
            self._session.cancel.check()
            instruction = self.here()
            stack[-1].instructions += 1
            flow = "" if instruction is None else instruction.flow
            sp = self._session.base_context().sp
            stop = self.into()
            if stop.kind != "step":
                return calls, stop
            if flow == "call":
                inner = TraceCall(len(stack), self._name(stop.ip or 0))
                calls.append(inner)
                stack.append(inner)
            elif flow == "return":
                done = stack.pop()
                if not stack or sp >= start.sp:
                    return calls, stop
                stack[-1].called += done.instructions + done.called
        raise CommandError(f"the function did not return within {limit} instructions")

    def _name(self, address: int) -> str:
        return (self._session.engine.name_of(address) or f"{address:#x}").split("+")[0]


def _as_step(stop: Stop) -> Stop:
    """A stop at a step's own breakpoint is the end of the step."""
    if stop.kind == "breakpoint" and stop.breakpoint is not None and stop.breakpoint.temporary:
        return type(stop)("step", stop.ip, event=stop.event, note=stop.note)
    return stop
