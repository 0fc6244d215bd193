"""A live Windows system over the KD protocol."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from msgspec import structs

from kdive.errors import MemoryAccessError, TargetError, UnsupportedError
from kdive.targets.base import Capability
from kdive.targets.kd_amd64 import KdAmd64
from kdive.targets.kd_breakpoints import KdBreakpoints
from kdive.targets.kd_connection import KdConnection, RestartedMarker
from kdive.targets.kd_hardware import KdHardware
from kdive.targets.kd_memory import KdMemory
from kdive.targets.kd_tracing import Tracing
from kdive.targets.line_state import line_state
from kdive.targets.live import (
    Disposition,
    ExceptionEvent,
    KernelHints,
    LinkStatistics,
    LiveTarget,
    LostEvent,
    ModuleEvent,
    PromptEvent,
    RestartEvent,
)
from kdive.wire.kd import requests
from kdive.wire.kd.states import (
    STATUS_BREAKPOINT,
    STATUS_SINGLE_STEP,
    CommandString,
    DebugPrompt,
    ExceptionStop,
    ImageChange,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdive.arch.context import RegisterContext
    from kdive.arch.watchpoint import Watchpoint
    from kdive.cancel import CancelToken
    from kdive.memory.paging import PageTables
    from kdive.targets.kd_processor import KdProcessor
    from kdive.targets.line_state import LineState
    from kdive.targets.live import TargetEvent
    from kdive.targets.recording import Recorder
    from kdive.targets.transport import Transport

HANDSHAKE_DEADLINE = 8.0
_ATTEMPT = 0.7
_QUIET = 1.3
"""Seconds of waiting for a target that are not worth a word."""

_SYNCHRONISE_WAIT = 1.0
_SYNCHRONISE_TRIES = 5
_STEP_DEADLINE = 5.0
_AMD64, _ARM64 = 0x8664, 0xAA64
_SPECIAL_REGISTERS = 2
_CONTROL_C = 1
"""``DBG_STATUS_CONTROL_C``: what ``DbgBreakPointWithStatus`` is called with for a break-in."""

_STALE_SECONDS = 2.0
_BREAK_IN_SECONDS = 1.5
_LATE_SECONDS = 0.3
_LATE_STOPS = 2
_LEAVE_WAIT = 1.0
_CLEAN_WAIT = 2.0
_SLOTS = 4
_TICK_COUNT = 0xFFFFF78000000320
_DR6_SLOTS = 0xF
_CAPABILITIES = frozenset(
    (
        Capability.MEMORY,
        Capability.PHYSICAL_MEMORY,
        Capability.REGISTERS,
        Capability.MEMORY_WRITE,
        Capability.REGISTER_WRITE,
        Capability.LIVE,
        Capability.EXECUTION,
        Capability.BREAKPOINTS,
        Capability.WATCHPOINTS,
        Capability.MSR,
        Capability.IO_PORTS,
        Capability.PCI,
    )
)


class KdTarget(LiveTarget):
    """A system reached over KD.

    Args:
        transport: The byte stream.
        recorder: Writes down what crosses the wire.

    Attributes:
        connection: The link.
    """

    backend = "kd"

    def __init__(self, transport: Transport, recorder: Recorder | None = None) -> None:
        self.connection = KdConnection(transport, recorder)
        self.files = self.connection.files
        self.description = transport.description
        self._arch: KdProcessor = KdAmd64()
        self.machine = self._arch.machine
        self.processors = 1
        self.processor = 0
        self.thread = 0
        self.halted = False
        self.hints: KernelHints | None = None
        self._virtual = KdMemory(self.connection)
        self._frames = KdMemory(self.connection, physical=True)
        self.memory = self._virtual
        self.physical = self._frames
        self.hardware = KdHardware(self.connection, lambda: self.processor, self.forget_memory)
        self.capabilities = _CAPABILITIES
        self._contexts: dict[int, bytes] = {}
        self._special: dict[int, dict[str, int]] = {}
        self._stop: ExceptionStop | ImageChange | None = None
        self._prompt: DebugPrompt | None = None
        self._breakpoints = KdBreakpoints(self.connection, self._virtual, self._frames)
        self._watched: tuple[Watchpoint | None, ...] = ()
        self._watching: tuple[Watchpoint | None, ...] = ()
        self._tracing = Tracing()
        self._asked_to_stop = 0
        self._asked_at = 0.0
        self._stale_until = 0.0
        self._lost = ""
        self._left_standing = False
        self._attaching = False
        self.connection.mute = self._why_mute
        self._doubted = False
        self._uptime = 0

    def _why_mute(self) -> str:
        if self.halted or self._attaching:
            return ""
        return self._lost or "the target is running"

    # --- attaching -------------------------------------------------------------------------------------------------

    def attach(
        self,
        deadline: float = HANDSHAKE_DEADLINE,
        cancel: CancelToken | None = None,
        waiting: Callable[[LineState], None] | None = None,
    ) -> None:
        """Stop the target and find out what it is.

        Args:
            deadline: How long to try.
            cancel: Ends the attempt.
            waiting: Called with what is seen on the line whenever that changes while nobody answers.

        Raises:
            TargetError: Nothing that speaks KD answers; the message says what was seen on the line.
            CancelledError: The token was cancelled.
        """
        start = time.monotonic()
        end = start + deadline
        reset = False
        while not self.halted:
            now = time.monotonic()
            if now >= end:
                state = line_state(self.connection.link.counters)
                if not self.connection.link.counters.bytes_in:
                    # Nobody is there that would stop later.
                    self._asked_to_stop = 0
                raise TargetError(
                    f"no KD target stopped within {deadline:g} s: {state.seen}", where=self.description, hint=state.hint
                )
            if waiting is not None and now - start >= _QUIET:
                waiting(line_state(self.connection.link.counters))
            # A running target hears the break-in byte, a stopped one repeats its stop after a reset.
            if reset:
                self.connection.reset()
            else:
                self._asked_to_stop += 1
                self._break_in()
            reset = not reset
            attempt_end = min(time.monotonic() + _ATTEMPT, end)
            while not self.halted and time.monotonic() < attempt_end:
                self.poll(max(attempt_end - time.monotonic(), 0), cancel)
        self._attaching = True
        try:
            self._synchronise()
        finally:
            self._attaching = False
        self.identify()
        self._release_table()
        self._virtual.forget()
        # Requests to stop that were not needed: if they arrive after the target went on, nobody wants them.
        self._asked_to_stop = 0

    def _synchronise(self) -> None:
        """Agree on packet numbers: a target that had a debugger before takes our first request for a repeated one.

        Raises:
            TargetError: It answers neither before nor after a reset.
        """
        for attempt in range(_SYNCHRONISE_TRIES):
            # What the resets of both ends look like means nothing yet.
            self.connection.forget_events()
            if attempt or not self.connection.link.agreed:
                self._number_anew()
            try:
                self.connection.version(_SYNCHRONISE_WAIT)
            except TargetError:
                if attempt + 1 == _SYNCHRONISE_TRIES:
                    raise
            else:
                # What answers stands still.
                self.halted = True
                return

    def _number_anew(self) -> None:
        """Reset the line: the target answers with a reset of its own and reports its stop again."""
        self.connection.reset()
        end = time.monotonic() + _SYNCHRONISE_WAIT
        # Its own reset may look like a restart: the stop follows that.
        while isinstance(self.connection.next_event(max(end - time.monotonic(), 0)), RestartedMarker):
            pass
        self.connection.forget_events()

    def identify(self) -> None:
        """Ask the halted target who it is.

        Raises:
            TargetError: It does not answer.
            UnsupportedError: Its architecture is not supported.
        """
        version = self.connection.version()
        if version.machine not in (_AMD64, _ARM64):
            raise UnsupportedError(
                f"targets of machine type {version.machine:#x} are not supported (AMD64 and ARM64 are)",
                where=self.description,
            )
        if version.machine == _ARM64:
            from kdive.targets.kd_arm64 import KdArm64

            self._be(KdArm64())
        else:
            self._be(KdAmd64())
        block = 0
        with contextlib.suppress(MemoryAccessError):
            block = self.memory.u64(version.debugger_data) if version.debugger_data else 0
        self.hints = KernelHints(version.kernel_base, version.build, version.module_list, block)
        self._uptime = self._read_uptime()

    def _be(self, arch: KdProcessor) -> None:
        """Take the target for one of this architecture."""
        if arch.machine == self.machine:
            return
        self._arch = arch
        self._breakpoints.instruction = arch.breakpoint
        self.machine = self.connection.machine = arch.machine
        self.capabilities = _CAPABILITIES - arch.lacks
        if arch.lacks & {Capability.MSR}:
            self.hardware = None
        # The registers that came with the stop were read as another architecture's.
        self._contexts.clear()
        self._special.clear()
        self.forget_memory()
        if isinstance(self._stop, ExceptionStop):
            self._stop = structs.replace(self._stop, control=None)

    def _release_table(self) -> None:
        """Free the target's breakpoint table: an earlier debugger may have left entries."""
        for handle in range(1, requests.BREAKPOINT_TABLE_SIZE + 1):
            self.connection.ask(requests.restore_breakpoint(handle))

    # --- events ----------------------------------------------------------------------------------------------------

    def poll(self, seconds: float, cancel: CancelToken | None = None) -> TargetEvent | None:
        """See :meth:`LiveTarget.poll`."""
        end = time.monotonic() + seconds
        while True:
            try:
                event = self.connection.next_event(min(max(end - time.monotonic(), 0), self._ask_again()), cancel)
            except TargetError as error:
                self._lost = str(error)
                self._left_standing = self.halted
                self.halted = False
                return LostEvent(self._lost)
            match event:
                case None:
                    if time.monotonic() < end:
                        continue
                    return None
                case RestartedMarker():
                    self._forget()
                    self.halted = False
                    if self.hints is None:
                        return RestartEvent()
                    # Booted anew, or only tired of waiting for us: that shows once it stands.
                    self._doubted = True
                    self._break_in()
                case CommandString():
                    self.connection.tell(requests.resume(requests.DBG_CONTINUE, trace=False))
                case DebugPrompt():
                    self._prompt = event
                    return PromptEvent(event.processor, event.text, event.limit)
                case ExceptionStop() | ImageChange():
                    if self.halted:
                        # The same stop, reported again after a reset.
                        continue
                    try:
                        told = self._judged(event)
                    except TargetError:
                        if not self.connection.has_restarted:
                            raise
                        # It restarted while this stop was looked at: that is told next.
                        self.halted = False
                        continue
                    if told is not None:
                        return told

    def _judged(self, event: ExceptionStop | ImageChange) -> TargetEvent | None:
        """Say what a stop is to be told as; None if the target was sent on because it is of no interest."""
        self._stopped(event)
        if self._doubted:
            self._doubted = False
            if not self._is_the_same_boot():
                self._forget()
                self._forget_breakpoints()
                self.files.close()
                self.halted = False
                self.hints = None
                # Its first stop is wanted, also if it is the one that we have just asked for.
                self._asked_to_stop = int(isinstance(event, ExceptionStop))
                self.connection.put_back(event)
                return RestartEvent()
            if isinstance(event, ExceptionStop) and not self._asked_to_stop and self._is_break_in(event):
                self.resume(absorbed=True)
                return None
        if isinstance(event, ImageChange):
            return ModuleEvent(event.processor, event.program_counter, event.path, event.base, event.size, event.unload)
        outcome = self._tracing.judge(event, watched=bool(_slots(event)))
        if outcome in ("passed", "again") or (outcome == "stop" and self._is_stale(event)):
            again = outcome == "again" and self._tracing.wanted == event.processor
            self.resume(step=again, absorbed=True)
            if self._asked_to_stop:
                # It may not have heard that while it stood still.
                self._break_in()
            return None
        return ExceptionEvent(
            event.processor,
            event.thread,
            event.program_counter,
            event.code,
            event.address,
            event.parameters,
            event.first_chance,
            _slots(event),
        )

    def _is_the_same_boot(self) -> bool:
        """Whether a target that numbers its packets anew is the system that it was.

        A running target that gets no answer for some seconds (this process was suspended, say) takes the debugger for
        gone and starts its numbers anew, as it does after a restart.
        """
        version, hints = self.connection.version(), self.hints
        if hints is None or (version.kernel_base, version.module_list) != (hints.base, hints.module_list):
            return False
        patched = self._breakpoints.present
        if patched:
            size = len(self._arch.breakpoint)
            read = (self.connection.ask(requests.read_memory(address, size)) for address in patched)
            return all(requests.transferred(reply)[:size] == self._arch.breakpoint for reply in read)
        return 0 < self._uptime < self._read_uptime()

    def _read_uptime(self) -> int:
        """``KUSER_SHARED_DATA.TickCountQuad``: clock ticks since the boot; 0 if it cannot be read."""
        try:
            return self.memory.u64(_TICK_COUNT)
        except MemoryAccessError:
            return 0

    def _stopped(self, event: ExceptionStop | ImageChange) -> None:
        self._forget()
        self.halted = True
        self.processor = event.processor
        self.thread = event.thread
        self.processors = max(event.processors, 1)
        self._stop = event
        self._breakpoints.stopped_at(event.program_counter)
        if isinstance(event, ExceptionStop) and event.control is not None:
            self._virtual.know(event.program_counter, event.control.instructions)

    def _is_stale(self, event: ExceptionStop) -> bool:
        """Whether nobody wants this stop any more: it comes of an old break-in, or of a breakpoint that is gone."""
        if event.code != STATUS_BREAKPOINT:
            return False
        if self._breakpoints.wanted_at(event.program_counter):
            return False
        if self._breakpoints.left(event.program_counter) and not self._is_break_at(event.program_counter):
            # Hit on another processor just before it was taken out: the instruction there is whole again.
            return True
        if self._asked_to_stop > 0:
            self._asked_to_stop -= 1
            return False
        return time.monotonic() < self._stale_until and self._is_break_in(event)

    def _is_break_in(self, event: ExceptionStop) -> bool:
        """Whether the target stands where break-in bytes stop it.

        That is a breakpoint instruction and a return, with the reason in the first argument; bugchecks and the like
        stop at the same place for other reasons.
        """
        code = self.memory.read_prefix(event.program_counter, len(self._arch.break_in_code))
        if code != self._arch.break_in_code:
            return False
        return self.registers(event.processor).values[self._arch.argument] == _CONTROL_C

    def _forget(self) -> None:
        self._contexts.clear()
        self._special.clear()
        self._stop = None
        self._prompt = None
        self.forget_memory()

    def forget_memory(self) -> None:
        """Drop what was read of memory: something may have changed it while the target stands still."""
        self._virtual.forget()
        self._frames.forget()

    def _is_break_at(self, address: int) -> bool:
        """Whether the code itself has a breakpoint instruction there."""
        return self.memory.read_prefix(address, len(self._arch.breakpoint)) == self._arch.breakpoint

    def take_output(self) -> list[str]:
        """See :meth:`LiveTarget.take_output`."""
        found = list(self.connection.output)
        self.connection.output.clear()
        return found

    def link_statistics(self) -> LinkStatistics:
        """See :meth:`LiveTarget.link_statistics`."""
        connection, counters = self.connection, self.connection.link.counters
        recorder = connection.recorder
        return LinkStatistics(
            connection.requests,
            counters.sent,
            counters.received,
            counters.bytes_out,
            counters.bytes_in,
            counters.resent,
            counters.damaged,
            counters.duplicates,
            counters.resets,
            counters.junk,
            connection.transfer_size,
            self._virtual.hits + self._frames.hits,
            self._virtual.misses + self._frames.misses,
            connection.output_lost,
            str(recorder.path) if recorder is not None else "",
            recorder.failure if recorder is not None else "",
        )

    # --- going on --------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """See :meth:`LiveTarget.interrupt`."""
        if not self.halted:
            self._asked_to_stop = 1
            self._break_in()

    def _break_in(self) -> None:
        self._asked_at = time.monotonic()
        self.connection.break_in()

    def _ask_again(self) -> float:
        """Ask to stop once more if that is overdue: the byte may be lost; return the seconds until it is."""
        if self.halted or not (self._asked_to_stop or self._doubted):
            return _BREAK_IN_SECONDS
        left = self._asked_at + _BREAK_IN_SECONDS - time.monotonic()
        if left <= 0:
            self._break_in()
            return _BREAK_IN_SECONDS
        return left

    def withdraw_interrupt(self) -> None:
        """See :meth:`LiveTarget.withdraw_interrupt`."""
        self._asked_to_stop = 0

    def resume(
        self, disposition: Disposition = Disposition.HANDLED, *, step: bool = False, absorbed: bool = False
    ) -> None:
        """See :meth:`LiveTarget.resume`."""
        if not self.halted:
            raise TargetError("the target is running already")
        if step:
            self._tracing.wanted = self.processor
        elif not absorbed:
            self._tracing.wanted = None
        stop = self._stop
        status = requests.DBG_CONTINUE
        if disposition is Disposition.NOT_HANDLED:
            status = requests.DBG_EXCEPTION_NOT_HANDLED
        elif isinstance(stop, ExceptionStop) and stop.code == STATUS_BREAKPOINT:
            self._pass_hard_coded_break(stop)
        blocking = self._blocking(stop)
        if blocking is not None and not step:
            # The instruction under a breakpoint is run alone first, else it would be hit again at once.
            self._breakpoints.put(except_at=blocking)
            self._tracing.start(self.processor, blocking)
            self._go(status, trace=True)
            if not self._await_step():
                return
            status = requests.DBG_CONTINUE
        self._breakpoints.put(except_at=blocking if step else None)
        self._stale_until = time.monotonic() + _STALE_SECONDS
        if step:
            self._tracing.start(self.processor, blocking)
        self._go(status, trace=step)

    def _blocking(self, stop: ExceptionStop | ImageChange | None) -> int | None:
        """The address of the breakpoint that the processor stands at, None if it stands at none."""
        if not self._breakpoints and not any(self._watched):
            return None
        moved = self.processor in self._contexts
        here = self.registers(self.processor).ip if moved or stop is None else stop.program_counter
        watched = any(
            wanted is not None and wanted.access == "e" and wanted.address == here for wanted in self._watched
        )
        if watched:
            self.write_registers(self.processor, self._arch.past_watched_instruction(self.registers(self.processor)))
        return here if self._breakpoints.wanted_at(here) else None

    def _pass_hard_coded_break(self, stop: ExceptionStop) -> None:
        """Move past a breakpoint instruction in the code itself: the target would stop at it for ever."""
        context = self.registers(stop.processor)
        if context.ip == stop.program_counter and self._is_break_at(context.ip):
            self.write_registers(stop.processor, {self._arch.ip: context.ip + len(self._arch.breakpoint)})

    def _await_step(self) -> bool:
        """Wait for the end of a step over a breakpoint; False if something else stopped the target first."""
        end = time.monotonic() + _STEP_DEADLINE
        processor = self.processor
        while time.monotonic() < end:
            event = self.connection.next_event(0.1)
            if isinstance(event, ExceptionStop) and (event.processor, event.code) == (processor, STATUS_SINGLE_STEP):
                if _slots(event):
                    self.connection.put_back(event)
                    return False
                self._tracing.finish(processor)
                self._stopped(event)
                return True
            if event is not None:
                self.connection.put_back(event)
                return False
        raise TargetError("the target did not finish the step over a breakpoint", where=self.description)

    def _go(self, status: int, *, trace: bool) -> None:
        self._write_watchpoints()
        self.connection.tell(self._arch.resume(status, self._watched, trace=trace))
        self.halted = False
        self._forget()

    # --- registers -------------------------------------------------------------------------------------------------

    def _raw_context(self, processor: int) -> bytes:
        if processor not in self._contexts:
            size = self._arch.context_size
            if not 0 <= processor < self.processors:
                raise TargetError(f"no processor {processor}: the target has {self.processors}")
            data = b""
            if self.connection.transfer_size < size:
                data = self._context_in_parts(processor, size)
            if not data:
                asked = requests.get_context(self._arch.context_flags, processor)
                data = self.connection.require(asked, "read registers").data
            if len(data) < size:
                raise TargetError(f"the target sent {len(data)} bytes of registers")
            self._contexts[processor] = data[:size]
        return self._contexts[processor]

    def _context_in_parts(self, processor: int, size: int) -> bytes:
        """Read a context piece by piece, over a line that spoils long packets; empty if the target cannot do that."""
        data = b""
        while len(data) < size:
            wanted = min(self.connection.transfer_size, size - len(data))
            part = requests.get_context_part(len(data), wanted, processor)
            reply = self.connection.ask(part)
            piece = b"" if reply.failed else reply.data[:wanted]
            if not piece:
                return b""
            data += piece
        return data

    def special_registers(self, processor: int) -> dict[str, int]:
        """Read a processor's control and debug registers.

        Raises:
            TargetError: They cannot be read.
        """
        if processor not in self._special:
            size = self._arch.special_size
            reply = self.connection.require(
                requests.read_control_space(_SPECIAL_REGISTERS, size, processor),
                "read control registers",
            )
            # Targets have been seen to send more than was asked for; the tail is stale memory.
            self._special[processor] = self._arch.decode_special(reply.data[:size])
        return self._special[processor]

    def registers(self, processor: int) -> RegisterContext:
        """See :meth:`LiveTarget.registers`."""
        return self._arch.decode(self._raw_context(processor))

    def write_registers(self, processor: int, values: dict[str, int]) -> None:
        """See :meth:`LiveTarget.write_registers`."""
        flags, changed = self._arch.update(self._raw_context(processor), values)
        self.connection.require(requests.set_context(flags, changed, processor), "set registers")
        self._contexts.pop(processor, None)

    def crash_context(self) -> RegisterContext | None:
        """The registers of the processor that stopped."""
        return self.registers(self.processor) if self.halted else None

    def page_tables(self, root: int) -> PageTables:
        """See :meth:`LiveTarget.page_tables`."""
        return self._arch.page_tables(root, self.special_registers(self.processor))

    def raw_context(self, processor: int) -> bytes:
        """See :meth:`LiveTarget.raw_context`."""
        return self._arch.whole_context(self._raw_context(processor), self.special_registers(processor))

    def address_space(self) -> int:
        """See :meth:`LiveTarget.address_space`."""
        return self._arch.address_space(self.special_registers(self.processor))

    # --- breakpoints -----------------------------------------------------------------------------------------------

    def insert_breakpoint(self, address: int) -> int:
        """See :meth:`LiveTarget.insert_breakpoint`.

        It is written to the target when that goes on.
        """
        return self._breakpoints.add(address)

    def insert_patch(self, address: int, physical: int) -> int:
        """See :meth:`LiveTarget.insert_patch`.

        It is written to the target when that goes on.
        """
        if self.machine != "amd64":
            raise TargetError("breakpoints in user mode are for AMD64 targets only")
        return self._breakpoints.add_patch(address, physical)

    def remove_breakpoint(self, handle: int) -> None:
        """See :meth:`LiveTarget.remove_breakpoint`."""
        self._breakpoints.remove(handle)

    def _forget_breakpoints(self) -> None:
        self._breakpoints.forget()
        self._watched = self._watching = ()
        self._tracing.clear()

    def lift_breakpoints(self) -> None:
        """See :meth:`LiveTarget.lift_breakpoints`."""
        self._breakpoints.lift()

    def set_watchpoints(self, slots: Sequence[Watchpoint | None]) -> None:
        """See :meth:`LiveTarget.set_watchpoints`."""
        if any(slots) and Capability.WATCHPOINTS not in self.capabilities:
            raise TargetError(f"watchpoints on {self.machine} targets are not in this release")
        if len(slots) > _SLOTS:
            raise TargetError(f"a processor has {_SLOTS} debug registers")
        self._watched = tuple(slots) if any(slots) else ()

    def _write_watchpoints(self) -> None:
        """Write the debug registers of every processor, if they have changed since they were last written."""
        if self._watched == self._watching:
            return
        from kdive.arch.amd64.context import SPECIAL_REGISTERS_SIZE
        from kdive.arch.amd64.debug import with_debug_registers

        for processor in range(self.processors):
            reply = self.connection.require(
                requests.read_control_space(_SPECIAL_REGISTERS, SPECIAL_REGISTERS_SIZE, processor),
                "read debug registers",
            )
            # Only what was read is written back: targets have been seen to send a stale tail.
            data = with_debug_registers(reply.data[:SPECIAL_REGISTERS_SIZE], self._watched)
            self.connection.require(
                requests.write_control_space(_SPECIAL_REGISTERS, data, processor), "write debug registers"
            )
        self._watching = self._watched

    # --- the rest --------------------------------------------------------------------------------------------------

    def answer(self, text: str) -> None:
        """See :meth:`LiveTarget.answer`."""
        if self._prompt is None:
            raise TargetError("the target asks nothing")
        self.connection.answer(self._prompt, text)
        self._prompt = None

    def reboot(self) -> None:
        """See :meth:`LiveTarget.reboot`."""
        self.connection.tell(requests.request(requests.Api.REBOOT))
        self.halted = False
        self._uptime = 0
        self._forget_breakpoints()
        self._forget()

    def crash(self) -> None:
        """See :meth:`LiveTarget.crash`."""
        self.connection.tell(requests.request(requests.Api.CAUSE_BUGCHECK, (0xE2).to_bytes(4, "little")))
        self.halted = False
        self._forget()

    def notices(self) -> list[str]:
        """See :meth:`Target.notices`."""
        return []

    def close(self) -> None:
        """Take the breakpoints out and let the target run on.

        A target whose breakpoints cannot be taken out is left standing: running, it would meet them with nobody there.

        Raises:
            TargetError: It could not be left running and whole; the message says how it was left.
        """
        try:
            try:
                self._let_go()
            except TargetError:
                if not self.connection.has_event:
                    raise
                # It restarted meanwhile: nothing of ours is in it any more, and it may wait to be sent on.
                self._await_restart()
                self._let_go()
        finally:
            self.connection.close()

    def _await_restart(self) -> None:
        end = time.monotonic() + _CLEAN_WAIT
        self.halted = False
        while not self.halted and (left := end - time.monotonic()) > 0:
            self.poll(left)

    def _let_go(self) -> None:
        try:
            if not self.halted and self._must_stop_to_leave():
                self._stop_for_leaving()
            if self.halted:
                self._breakpoints.remove_all()
                self._watched = ()
                stop = self._stop
                own = not isinstance(stop, ExceptionStop) or stop.code in (STATUS_BREAKPOINT, STATUS_SINGLE_STEP)
                self._asked_to_stop = 0
                self.resume(Disposition.HANDLED if own else Disposition.NOT_HANDLED)
                self._send_late_ones_on()
        except TargetError as error:
            raise self._left(error) from error
        if self._lost and (self._left_standing or self._breakpoints.present):
            raise self._left(TargetError(self._lost))

    def _must_stop_to_leave(self) -> bool:
        """Whether a running target has something of ours, or is about to stop because it was asked to."""
        if self._lost:
            return False
        return bool(self._breakpoints.present) or any(self._watching) or self._asked_to_stop > 0

    def _send_late_ones_on(self) -> None:
        """Attend to processors that had hit a breakpoint before it was taken out: alone they would crash."""
        if self.processors == 1:
            return
        for _ in range(_LATE_STOPS * self.processors):
            event = self.poll(_LATE_SECONDS)
            if event is None or not self.halted:
                return
            own = not isinstance(event, ExceptionEvent) or event.code in (STATUS_BREAKPOINT, STATUS_SINGLE_STEP)
            self.resume(Disposition.HANDLED if own else Disposition.NOT_HANDLED)

    def _stop_for_leaving(self) -> None:
        """Stop a running target; one that holds nothing of ours and does not stop soon is left running.

        Raises:
            TargetError: It holds something of ours and does not stop.
        """
        holds = bool(self._breakpoints.present) or any(self._watching)
        if self._asked_to_stop == 0:
            self.interrupt()
        end = time.monotonic() + (_CLEAN_WAIT if holds else _LEAVE_WAIT)
        while not self.halted and not self._lost and (left := end - time.monotonic()) > 0:
            self.poll(left)
        if holds and not self.halted and not self._lost:
            raise TargetError("it did not stop to have its breakpoints taken out")

    def _left(self, error: TargetError) -> TargetError:
        places = ", ".join(f"{address:#x}" for address in self._breakpoints.present)
        told = [error.what]
        if places:
            told.append(f"breakpoint instructions are left at {places}")
        if self.halted or self._left_standing:
            told.append("the target is left standing")
        return TargetError(
            "; ".join(told), where=self.description, hint="attach again: what was left is taken out, and it goes on"
        )


def _slots(event: ExceptionStop) -> tuple[int, ...]:
    """The debug registers that a stop says have fired."""
    if event.code != STATUS_SINGLE_STEP or event.control is None:
        return ()
    fired = event.control.registers.get("dr6", 0) & _DR6_SLOTS
    return tuple(slot for slot in range(_SLOTS) if fired >> slot & 1)


def open_kd(
    transport: Transport,
    cancel: CancelToken | None = None,
    *,
    recorder: Recorder | None = None,
    waiting: Callable[[LineState], None] | None = None,
) -> KdTarget:
    """Attach to a KD target.

    Args:
        transport: The byte stream; closed if this fails.
        cancel: Ends the attempt.
        recorder: Writes down what crosses the wire.
        waiting: Called with what is seen on the line while nobody answers.

    Raises:
        TargetError: Nobody answers.
        UnsupportedError: The target's architecture is not supported.
        CancelledError: The token was cancelled.
    """
    target = KdTarget(transport, recorder)
    try:
        target.attach(cancel=cancel, waiting=waiting)
    except BaseException:
        # It may have stopped because it was asked to: it must not be left standing.
        with contextlib.suppress(TargetError):
            target.close()
        raise
    return target
