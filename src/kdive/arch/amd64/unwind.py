"""AMD64 unwind data: ``.pdata``, ``UNWIND_INFO``, and one step of unwinding.

Format facts: Microsoft, "x64 exception handling" (structures, unwind procedure, epilogue rules); version 2 epilogue
codes as found in the headers of current toolchains (``UWOP_EPILOG``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64, sign_extend
from kdive.arch.amd64.context import GENERAL
from kdive.errors import FormatError, MemoryAccessError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.arch.context import RegisterContext
    from kdive.memory.interface import Memory

ENTRY_SIZE = 12
MAX_CHAIN = 32
_FLAG_CHAINED = 4
_INDIRECT = 1
_RSP = 4

PUSH_NONVOL, ALLOC_LARGE, ALLOC_SMALL, SET_FPREG, SAVE_NONVOL, SAVE_NONVOL_FAR = 0, 1, 2, 3, 4, 5
EPILOG, SPARE, SAVE_XMM128, SAVE_XMM128_FAR, PUSH_MACHFRAME = 6, 7, 8, 9, 10
_EXTRA_SLOTS = {SAVE_NONVOL: 1, SAVE_NONVOL_FAR: 2, SAVE_XMM128: 1, SAVE_XMM128_FAR: 2, SPARE: 2, SET_FPREG: 0}


class RuntimeFunction(Record, frozen=True):
    """A ``.pdata`` entry, as RVAs."""

    begin: int
    end: int
    unwind: int


class UnwindCode(Record, frozen=True):
    """One unwind operation.

    Attributes:
        offset: Offset in the prologue of the end of the instruction that did it.
        operation: Which operation.
        info: The operation's register or small operand.
        value: Size or offset in bytes, decoded.
    """

    offset: int
    operation: int
    info: int
    value: int


class UnwindInfo(Record, frozen=True):
    """A decoded ``UNWIND_INFO``.

    Attributes:
        version: 1 or 2.
        flags: Handler and chain flags.
        prologue_size: Bytes of the prologue.
        frame_register: Number of the frame register, 0 for none.
        frame_offset: What was added to ``rsp`` for it, in bytes.
        codes: The operations, last first.
        epilogues: Version 2: offsets of epilogues from the function's end, and their size.
        chained: The parent entry, if this part of a function has one.
    """

    version: int
    flags: int
    prologue_size: int
    frame_register: int
    frame_offset: int
    codes: tuple[UnwindCode, ...]
    epilogues: tuple[tuple[int, int], ...]
    chained: RuntimeFunction | None


def find_function(pdata: bytes, rva: int) -> RuntimeFunction | None:
    """Find the ``.pdata`` entry that covers an RVA, by bisection."""
    words = memoryview(pdata[: len(pdata) // ENTRY_SIZE * ENTRY_SIZE]).cast("I")
    low, high = 0, len(words) // 3
    while low < high:
        middle = (low + high) // 2
        if words[3 * middle] <= rva:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    begin, end, unwind = words[3 * low - 3], words[3 * low - 2], words[3 * low - 1]
    return RuntimeFunction(begin, end, unwind) if begin <= rva < end else None


def resolve_indirect(read: Callable[[int, int], bytes], function: RuntimeFunction) -> RuntimeFunction:
    """Follow an entry that stands for another one: an odd unwind RVA is that of a ``RUNTIME_FUNCTION``.

    Raises:
        FormatError: The entry is not in the image, or entries stand for each other without end.
    """
    for _ in range(MAX_CHAIN):
        if not function.unwind & _INDIRECT:
            return function
        raw = read(function.unwind & ~_INDIRECT, ENTRY_SIZE)
        if len(raw) < ENTRY_SIZE:
            raise FormatError("a function table entry is not in the image", offset=function.unwind)
        function = RuntimeFunction(*(int.from_bytes(raw[place : place + 4], "little") for place in (0, 4, 8)))
    raise FormatError(f"function table entries stand for each other more than {MAX_CHAIN} times")


def parse_unwind_info(read: Callable[[int, int], bytes], rva: int) -> UnwindInfo:
    """Decode the ``UNWIND_INFO`` at an RVA.

    Args:
        read: Returns image bytes by RVA, short where there are none.
        rva: Where it lies.

    Raises:
        FormatError: It is cut off, or of a version that is not known.
    """
    head = read(rva, 4)
    if len(head) < 4:
        raise FormatError("unwind information is not in the image", offset=rva)
    version, flags = head[0] & 7, head[0] >> 3
    if version not in (1, 2):
        raise FormatError(f"unwind information of version {version}", offset=rva)
    count = head[2]
    body = read(rva + 4, (count + 1) // 2 * 4 + 12)
    if len(body) < count * 2:
        raise FormatError("unwind codes are cut short", offset=rva)
    codes: list[UnwindCode] = []
    epilogues: list[tuple[int, int]] = []
    index, epilogue_size = 0, -1
    while index < count:
        offset, packed = body[2 * index], body[2 * index + 1]
        operation, info = packed & 15, packed >> 4
        slots = body[2 * index + 2 : 2 * index + 6]
        index += 1
        if operation == EPILOG and version == 2:
            # The first code gives the size (and whether one epilogue ends the function), the rest an offset each.
            if epilogue_size < 0:
                epilogue_size = offset
                if info & 1:
                    epilogues.append((offset, offset))
            elif offset | info << 8:
                epilogues.append((offset | info << 8, epilogue_size))
            continue
        if operation == PUSH_NONVOL:
            value = 8
        elif operation == ALLOC_SMALL:
            value = info * 8 + 8
        elif operation == ALLOC_LARGE:
            extra = 1 if info == 0 else 2
            value = int.from_bytes(slots[: 2 * extra], "little") * (8 if info == 0 else 1)
            index += extra
        elif operation == PUSH_MACHFRAME:
            value = 0
        elif operation in _EXTRA_SLOTS:
            extra = _EXTRA_SLOTS[operation]
            scale = {SAVE_NONVOL: 8, SAVE_XMM128: 16}.get(operation, 1)
            value = int.from_bytes(slots[: 2 * extra], "little") * scale
            index += extra
        elif operation == EPILOG:
            # Version 1 used this number for a 64-bit xmm save that takes one more slot.
            value = 0
            index += 1
        else:
            raise FormatError(f"unwind operation {operation}", offset=rva + 4 + 2 * index)
        codes.append(UnwindCode(offset, operation, info, value))
    chained = None
    if flags & _FLAG_CHAINED:
        at = (count + 1) // 2 * 4
        raw = body[at : at + ENTRY_SIZE]
        if len(raw) < ENTRY_SIZE:
            raise FormatError("chained unwind information is cut short", offset=rva)
        chained = RuntimeFunction(*(int.from_bytes(raw[place : place + 4], "little") for place in (0, 4, 8)))
    return UnwindInfo(
        version, flags, head[1], head[3] & 15, (head[3] >> 4) * 16, tuple(codes), tuple(epilogues), chained
    )


class Unwinder:
    """Unwinds one frame of a function with unwind data.

    Args:
        memory: Where the stack lies.
        read: Returns image bytes by RVA.
        base: Load address of the image.
        pdata: The image's function table. With it a jump to another part of the same function is told from a tail
            call; without it every jump out of the part counts as the end of an epilogue.
    """

    def __init__(self, memory: Memory, read: Callable[[int, int], bytes], base: int, pdata: bytes = b"") -> None:
        self._memory = memory
        self._read = read
        self._base = base
        self._pdata = pdata

    def _word(self, address: int) -> int:
        return self._memory.u64(address & MASK64)

    def step(self, context: RegisterContext, function: RuntimeFunction) -> tuple[RegisterContext, bool]:
        """Return the caller's context, and whether a machine frame led to it.

        Raises:
            MemoryAccessError: The stack is not readable where it must be.
            FormatError: The unwind data is wrong, or names a register that the context lacks.
        """
        try:
            return self._step(context, function)
        except KeyError as error:
            raise FormatError(f"the unwind data needs register {error.args[0]}, which is not known") from None

    def _step(self, context: RegisterContext, function: RuntimeFunction) -> tuple[RegisterContext, bool]:
        state = context.copy()
        values = state.values
        rip = values["rip"]
        function = resolve_indirect(self._read, function)
        info = parse_unwind_info(self._read, function.unwind)
        offset = rip - self._base - function.begin
        # A return address may lie just behind its function, where another one's code begins.
        inside = offset < function.end - function.begin
        if inside and offset >= info.prologue_size and self._unwind_epilogue(state, function, info):
            return state, False
        machine = False
        for depth in range(MAX_CHAIN):
            machine |= self._apply(values, info, offset if depth == 0 else None)
            if info.chained is None:
                break
            function = resolve_indirect(self._read, info.chained)
            info = parse_unwind_info(self._read, function.unwind)
        else:
            raise FormatError(f"unwind information is chained more than {MAX_CHAIN} times")
        if not machine:
            values["rip"] = self._word(values["rsp"])
            values["rsp"] = (values["rsp"] + 8) & MASK64
        return state, machine

    def _apply(self, values: dict[str, int], info: UnwindInfo, offset: int | None) -> bool:
        """Undo the prologue's operations that had been done at ``offset`` (None: all)."""
        done = [code for code in info.codes if offset is None or offset >= info.prologue_size or code.offset <= offset]
        frame = values["rsp"]
        set_frame = any(code.operation == SET_FPREG for code in done)
        if info.frame_register and (set_frame or offset is None or offset >= info.prologue_size):
            frame = values[GENERAL[info.frame_register]] - info.frame_offset
        for code in done:
            operation = code.operation
            if operation == PUSH_NONVOL:
                values[GENERAL[code.info]] = self._word(values["rsp"])
                values["rsp"] = (values["rsp"] + 8) & MASK64
            elif operation in (ALLOC_LARGE, ALLOC_SMALL):
                values["rsp"] = (values["rsp"] + code.value) & MASK64
            elif operation == SET_FPREG:
                values["rsp"] = frame & MASK64
            elif operation in (SAVE_NONVOL, SAVE_NONVOL_FAR):
                values[GENERAL[code.info]] = self._word(frame + code.value)
            elif operation in (SAVE_XMM128, SAVE_XMM128_FAR):
                raw = self._memory.read_prefix((frame + code.value) & MASK64, 16)
                if len(raw) == 16:
                    values[f"xmm{code.info}"] = int.from_bytes(raw, "little")
            elif operation == PUSH_MACHFRAME:
                at = values["rsp"] + (8 if code.info else 0)
                raw = self._memory.read(at & MASK64, 40)
                rip, cs, flags, rsp, ss = (
                    int.from_bytes(raw[place : place + 8], "little") for place in range(0, 40, 8)
                )
                values.update({"rip": rip, "cs": cs & 0xFFFF, "efl": flags & 0xFFFFFFFF, "rsp": rsp, "ss": ss & 0xFFFF})
                return True
        return False

    # --- epilogues -------------------------------------------------------------------------------------------------

    def _unwind_epilogue(self, state: RegisterContext, function: RuntimeFunction, info: UnwindInfo) -> bool:
        """Finish an epilogue that the instruction pointer stands in, by following its instructions.

        An epilogue is ``add rsp, n`` or ``lea rsp, [fp + n]``, then pops, then ``ret`` or a jump out of the function.
        """
        rva = state.values["rip"] - self._base
        if info.version == 2:
            inside = any(function.end - start <= rva < function.end - start + size for start, size in info.epilogues)
            if not inside:
                return False
        code = self._read(rva, min(max(function.end - rva, 0) + 8, 64))
        values = dict(state.values)
        at = self._stack_adjustment(code, values, info)
        try:
            while (pop := _pop(code, at)) is not None:
                register, size = pop
                values[GENERAL[register]] = self._word(values["rsp"])
                values["rsp"] = (values["rsp"] + 8) & MASK64
                at += size
            if not self._leaves(code, at, rva, function):
                return False
            values["rip"] = self._word(values["rsp"])
        except MemoryAccessError:
            return False
        values["rsp"] = (values["rsp"] + 8) & MASK64
        state.values = values
        return True

    @staticmethod
    def _stack_adjustment(code: bytes, values: dict[str, int], info: UnwindInfo) -> int:
        if code[:3] == b"\x48\x83\xc4":
            values["rsp"] = (values["rsp"] + sign_extend(code[3], 8)) & MASK64 if len(code) > 3 else values["rsp"]
            return 4
        if code[:3] == b"\x48\x81\xc4" and len(code) >= 7:
            values["rsp"] = (values["rsp"] + sign_extend(int.from_bytes(code[3:7], "little"), 32)) & MASK64
            return 7
        if len(code) >= 4 and code[0] & 0xFE == 0x48 and code[1] == 0x8D and code[2] >> 3 & 7 == _RSP:
            register = code[2] & 7 | (code[0] & 1) << 3
            if not info.frame_register or register != info.frame_register or register & 7 == _RSP:
                return 0
            base = values[GENERAL[register]]
            if code[2] >> 6 == 1:
                values["rsp"] = (base + sign_extend(code[3], 8)) & MASK64
                return 4
            if code[2] >> 6 == 2 and len(code) >= 7:
                values["rsp"] = (base + sign_extend(int.from_bytes(code[3:7], "little"), 32)) & MASK64
                return 7
        return 0

    def _leaves(self, code: bytes, at: int, rva: int, function: RuntimeFunction) -> bool:
        """Whether the instruction there is a return, or a jump that leaves the function."""
        rest = code[at : at + 8]
        if rest[:1] in (b"\xc3", b"\xc2") or rest[:2] in (b"\xf3\xc3", b"\xf2\xc3"):
            return True
        if rest[:1] == b"\xeb" and len(rest) >= 2:
            target = rva + at + 2 + sign_extend(rest[1], 8)
        elif rest[:1] == b"\xe9" and len(rest) >= 5:
            target = rva + at + 5 + sign_extend(int.from_bytes(rest[1:5], "little"), 32)
        else:
            # jmp [rip + n], and with a REX prefix: a tail call through an import.
            return (
                rest[:2] == b"\xff\x25"
                or rest[:3] == b"\x48\xff\x25"
                or (rest[:2] == b"\x48\xff" and (len(rest) > 2 and rest[2] >> 3 & 7 == 4))
            )
        return self._is_tail_call(target, function)

    def _is_tail_call(self, target: int, function: RuntimeFunction) -> bool:
        """Whether a jump to an RVA ends the function: it leaves all its parts, or starts the function again."""
        if function.begin <= target < function.end:
            return target == function.begin and parse_unwind_info(self._read, function.unwind).chained is None
        other = find_function(self._pdata, target)
        if other is None:
            return True
        try:
            primary = self._primary(other)
            return target == primary.begin or primary.begin != self._primary(function).begin
        except FormatError:
            return True

    def _primary(self, function: RuntimeFunction) -> RuntimeFunction:
        """The entry that the chain of a function's part ends in."""
        for _ in range(MAX_CHAIN):
            function = resolve_indirect(self._read, function)
            chained = parse_unwind_info(self._read, function.unwind).chained
            if chained is None:
                return function
            function = chained
        raise FormatError(f"unwind information is chained more than {MAX_CHAIN} times")


def _pop(code: bytes, at: int) -> tuple[int, int] | None:
    """Decode ``pop reg``: register number and instruction length."""
    if at < len(code) and code[at] & 0xF8 == 0x58:
        return code[at] & 7, 1
    if at + 1 < len(code) and code[at] & 0xF0 == 0x40 and code[at + 1] & 0xF8 == 0x58:
        return code[at + 1] & 7 | (code[at] & 1) << 3, 2
    return None
