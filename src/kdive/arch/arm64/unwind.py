"""ARM64 unwind data: packed ``.pdata``, full ``.xdata``, and one step of unwinding.

Format facts: Microsoft, "ARM64 exception handling".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.arch.arm64.context import CONTEXT_SIZE, decode_context
from kdive.errors import FormatError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdive.arch.context import RegisterContext
    from kdive.memory.interface import Memory

ENTRY_SIZE = 8
_MAX_CODES = 4 * 255


class RuntimeFunction(Record, frozen=True):
    """A ``.pdata`` entry: start RVA and the second word (packed data or the RVA of ``.xdata``)."""

    begin: int
    data: int

    @property
    def flag(self) -> int:
        """0: full ``.xdata``; 1: packed; 2: packed, without prologue and epilogue."""
        return self.data & 3


class Operation(Record, frozen=True):
    """One unwind operation, in the words of the documentation.

    Attributes:
        name: ``alloc``, ``save_pair``, ``save_reg``, ``save_lrpair``, ``save_fpair``, ``save_freg``, ``save_qpair``,
            ``save_qreg``, ``set_fp``, ``add_fp``, ``nop``, ``save_next``, ``pac``, ``end_c``, ``machine_frame``,
            ``trap_frame``, ``context``, ``ec_context`` or ``other``. All but ``end_c`` stand for one instruction.
        register: First register number.
        offset: Offset from ``sp`` in bytes.
        size: How far ``sp`` moved in bytes (pre-indexed stores and allocations).
    """

    name: str
    register: int = 0
    offset: int = 0
    size: int = 0


class UnwindData(Record, frozen=True):
    """The unwind data of a function, or of a part of one.

    Attributes:
        length: Length of the code in bytes.
        prologue: Operations of the prologue, last first. Those behind ``end_c`` were done by the function that this is
            a part of: they have no instructions here, but are to be undone.
        epilogues: ``(offset, operations)`` of each epilogue.
        has_prologue: Whether the code begins with the prologue's instructions.
    """

    length: int
    prologue: tuple[Operation, ...]
    epilogues: tuple[tuple[int, tuple[Operation, ...]], ...]
    has_prologue: bool = True


def find_function(pdata: bytes, rva: int) -> RuntimeFunction | None:
    """Find the last ``.pdata`` entry at or below an RVA, by bisection; the caller checks its length."""
    words = memoryview(pdata[: len(pdata) // ENTRY_SIZE * ENTRY_SIZE]).cast("I")
    low, high = 0, len(words) // 2
    while low < high:
        middle = (low + high) // 2
        if words[2 * middle] <= rva:
            low = middle + 1
        else:
            high = middle
    return RuntimeFunction(words[2 * low - 2], words[2 * low - 1]) if low else None


def parse_unwind_data(
    read: Callable[[int, int], bytes], function: RuntimeFunction, offset: int | None = None
) -> UnwindData:
    """Decode the unwind data of a function.

    Args:
        read: Returns image bytes by RVA, short where there are none.
        function: Its entry.
        offset: With it only the epilogue that this offset into the function may lie in is decoded.

    Raises:
        FormatError: It is cut off or of a kind that is not known.
    """
    if function.flag in (1, 2):
        return _packed(function.data)
    if function.flag == 3:
        raise FormatError("unwind data of a reserved kind", offset=function.begin)
    return _full(read, function.data, offset)


def _packed(word: int) -> UnwindData:
    length = (word >> 2 & 0x7FF) * 4
    float_registers, registers = word >> 13 & 7, word >> 16 & 15
    home, chain = word >> 20 & 1, word >> 21 & 3
    frame = (word >> 23 & 0x1FF) * 16
    int_size = registers * 8 + (8 if chain == 1 else 0)
    float_count = float_registers + 1 if float_registers else 0
    if not registers and not float_registers and chain != 1:
        # With nothing saved in front of them the homes of the parameters are but a part of the local area.
        home = 0
    save_size = (int_size + float_count * 8 + home * 64 + 15) & ~15
    local_size = frame - save_size
    if local_size < 0:
        raise FormatError(f"packed unwind data {word:#x}: the frame is smaller than its saves")
    operations: list[Operation] = []
    # The prologue in order; each entry is one instruction.
    if chain == 2:
        operations.append(Operation("pac"))
    pending = save_size

    def store(name: str, register: int, offset: int) -> None:
        nonlocal pending
        operations.append(Operation(name, register, 0 if pending else offset, pending))
        pending = 0

    for index in range(0, registers - registers % 2, 2):
        store("save_pair", 19 + index, index * 8)
    if registers % 2:
        if chain == 1:
            if pending:
                # There is no code for a pre-indexed store of a register and lr.
                operations.append(Operation("alloc", size=pending))
                pending = 0
            store("save_lrpair", 19 + registers - 1, (registers - 1) * 8)
        else:
            store("save_reg", 19 + registers - 1, (registers - 1) * 8)
    elif chain == 1:
        store("save_reg", 30, int_size - 8)
    for index in range(0, float_count - float_count % 2, 2):
        store("save_fpair", 8 + index, int_size + index * 8)
    if float_count % 2:
        store("save_freg", 8 + float_count - 1, int_size + (float_count - 1) * 8)
    if home:
        operations.extend(Operation("nop") for _ in range(4))
    if chain in (2, 3):
        # The pair is stored at the bottom of the local area.
        if local_size <= 512:
            operations.append(Operation("save_pair", 29, 0, local_size))
        else:
            step = 4080
            if local_size > step:
                operations.append(Operation("alloc", size=step))
            operations.append(Operation("alloc", size=local_size - step if local_size > step else local_size))
            operations.append(Operation("save_pair", 29, 0))
        operations.append(Operation("set_fp"))
    elif local_size:
        if local_size > 4080:
            operations.append(Operation("alloc", size=4080))
            local_size -= 4080
        operations.append(Operation("alloc", size=local_size))
    reverse = tuple(reversed(operations))
    fragment = word & 3 == 2
    epilogue = tuple(operation for operation in reverse if operation.name not in ("set_fp", "nop"))
    epilogues = () if fragment else ((length - 4 * (len(epilogue) + 1), epilogue),)
    return UnwindData(length, reverse, epilogues, has_prologue=not fragment)


def _full(read: Callable[[int, int], bytes], rva: int, offset: int | None) -> UnwindData:
    head = read(rva, 8)
    if len(head) < 4:
        raise FormatError("unwind data is not in the image", offset=rva)
    word = int.from_bytes(head[:4], "little")
    if word >> 18 & 3:
        raise FormatError(f"unwind data of version {word >> 18 & 3}", offset=rva)
    length = (word & 0x3FFFF) * 4
    single, epilogue_count, code_words = word >> 21 & 1, word >> 22 & 31, word >> 27 & 31
    at = rva + 4
    if not epilogue_count and not code_words:
        if len(head) < 8:
            raise FormatError("unwind data is cut short", offset=rva)
        extension = int.from_bytes(head[4:8], "little")
        epilogue_count, code_words = extension & 0xFFFF, extension >> 16 & 0xFF
        at += 4
    scope_count = 0 if single else epilogue_count
    scopes = read(at, 4 * scope_count)
    codes = read(at + 4 * scope_count, 4 * code_words)
    if len(scopes) < 4 * scope_count or len(codes) < 4 * code_words:
        raise FormatError("unwind data is cut short", offset=rva)
    epilogues: list[tuple[int, tuple[Operation, ...]]] = []
    if single:
        operations = tuple(_operations(codes, epilogue_count))
        epilogues.append((length - 4 * (_instructions(operations) + 1), operations))
    else:
        words: Sequence[int] = memoryview(scopes).cast("I") if scope_count else ()
        if offset is not None:
            # The nearest one that begins at or before the offset: a record may list very many.
            before = (scope for scope in words if (scope & 0x3FFFF) * 4 <= offset)
            nearest = max(before, key=lambda scope: scope & 0x3FFFF, default=None)
            words = () if nearest is None else (nearest,)
        epilogues = [((scope & 0x3FFFF) * 4, tuple(_operations(codes, scope >> 22))) for scope in words]
    return UnwindData(length, tuple(_operations(codes, 0)), tuple(epilogues))


def _operations(codes: bytes, index: int) -> list[Operation]:
    """Decode operations up to ``end``."""
    found: list[Operation] = []
    while index < len(codes) and len(found) < _MAX_CODES:
        code = codes[index]
        two = code << 8 | (codes[index + 1] if index + 1 < len(codes) else 0)
        offset, register = (two & 0x3F) * 8, two >> 6 & 15
        size = 1
        if code < 0x20:
            operation = Operation("alloc", size=(code & 0x1F) * 16)
        elif code < 0x40:
            operation = Operation("save_pair", 19, 0, (code & 0x1F) * 8)
        elif code < 0x80:
            operation = Operation("save_pair", 29, (code & 0x3F) * 8)
        elif code < 0xC0:
            operation = Operation("save_pair", 29, 0, ((code & 0x3F) + 1) * 8)
        elif code < 0xC8:
            operation, size = Operation("alloc", size=(two & 0x7FF) * 16), 2
        elif code < 0xCC:
            operation, size = Operation("save_pair", 19 + register, offset), 2
        elif code < 0xD0:
            operation, size = Operation("save_pair", 19 + register, 0, offset + 8), 2
        elif code < 0xD4:
            operation, size = Operation("save_reg", 19 + register, offset), 2
        elif code < 0xD6:
            operation, size = Operation("save_reg", 19 + (two >> 5 & 15), 0, ((two & 31) + 1) * 8), 2
        elif code < 0xD8:
            operation, size = Operation("save_lrpair", 19 + 2 * (two >> 6 & 7), offset), 2
        elif code < 0xDA:
            operation, size = Operation("save_fpair", 8 + (two >> 6 & 7), offset), 2
        elif code < 0xDC:
            operation, size = Operation("save_fpair", 8 + (two >> 6 & 7), 0, offset + 8), 2
        elif code < 0xDE:
            operation, size = Operation("save_freg", 8 + (two >> 6 & 7), offset), 2
        elif code == 0xDE:
            operation, size = Operation("save_freg", 8 + (two >> 5 & 7), 0, ((two & 31) + 1) * 8), 2
        elif code == 0xE0:
            operation, size = Operation("alloc", size=int.from_bytes(codes[index + 1 : index + 4], "big") * 16), 4
        elif code == 0xE2:
            operation, size = Operation("add_fp", offset=(two & 0xFF) * 8), 2
        elif code == 0xE4:
            break
        elif code == 0xE7:
            operation, size = _save_any(codes[index + 1 : index + 3]), 3
        elif code in _SIMPLE:
            operation = Operation(_SIMPLE[code])
        elif code in _LONG_RESERVED:
            operation, size = Operation("other"), _LONG_RESERVED[code]
        else:
            operation = Operation("other")
        found.append(operation)
        index += size
    return found


def _save_any(operands: bytes) -> Operation:
    """Decode the operands of ``save_any_reg``: ``0pxrrrrr ffoooooo`` (pair, pre-indexed, register; file, offset)."""
    if len(operands) < 2 or operands[0] & 0x80:
        return Operation("other")
    kind, amount, register = operands[1] >> 6, operands[1] & 63, operands[0] & 31
    if kind == 3:
        # A scalable vector or predicate register: no register that a debugger follows.
        return Operation("nop")
    pair, indexed = operands[0] & 0x40, operands[0] & 0x20
    scale = 16 if pair or indexed or kind == 2 else 8
    name = (("save_reg", "save_pair"), ("save_freg", "save_fpair"), ("save_qreg", "save_qpair"))[kind][pair >> 6]
    if indexed:
        return Operation(name, register, 0, (amount + 1) * scale)
    return Operation(name, register, amount * scale)


def _instructions(operations: tuple[Operation, ...]) -> int:
    """How many instructions operations stand for: those before ``end_c``."""
    for index, operation in enumerate(operations):
        if operation.name == "end_c":
            return index
    return len(operations)


_SIMPLE = {
    0xE1: "set_fp",
    0xE3: "nop",
    0xE5: "end_c",
    0xE6: "save_next",
    0xE8: "trap_frame",
    0xE9: "machine_frame",
    0xEA: "context",
    0xEB: "ec_context",
    0xEC: "nop",
    0xFC: "pac",
}
_LONG_RESERVED = {0xDF: 2, 0xF8: 2, 0xF9: 3, 0xFA: 4, 0xFB: 5}
_UNKNOWN_FRAMES = {
    "ec_context": "an emulated context",
    "other": "an operation that is not known",
}
# Bytes of a register in the stack, by operation.
_WIDTHS = {"save_qpair": 16, "save_qreg": 16}
_PAIRS = ("save_pair", "save_fpair", "save_qpair")
_SINGLE = ("save_reg", "save_freg", "save_qreg")
_INTEGER = ("save_pair", "save_reg", "save_lrpair")
_LAST_INTEGER = 28
_KEPT = frozenset(f"x{number}" for number in range(19, 29))
_FIRST_FLOAT = 8


def strip_pointer_authentication(address: int) -> int:
    """Remove a pointer authentication code: bit 55 tells which half the address belongs to."""
    low = address & 0x0000_FFFF_FFFF_FFFF
    return low | 0xFFFF_0000_0000_0000 if address >> 55 & 1 else low


class Unwinder:
    """Unwinds one frame of a function with unwind data.

    Args:
        memory: Where the stack lies.
        read: Returns image bytes by RVA.
        base: Load address of the image.
        trap_frame: Decodes the kernel's trap frame at an address, whose layout only symbols tell; None if it cannot.
    """

    def __init__(
        self,
        memory: Memory,
        read: Callable[[int, int], bytes],
        base: int,
        trap_frame: Callable[[int], RegisterContext | None] | None = None,
    ) -> None:
        self._memory = memory
        self._read = read
        self._base = base
        self._trap_frame = trap_frame

    def step(self, context: RegisterContext, function: RuntimeFunction) -> tuple[RegisterContext, bool] | None:
        """Return the caller's context, and whether a machine frame led to it; None if the function does not reach here.

        Raises:
            MemoryAccessError: The stack is not readable where it must be.
            FormatError: The unwind data is wrong or of a kind that is not handled.
        """
        try:
            offset = context.values["pc"] - self._base - function.begin
            data = parse_unwind_data(self._read, function, offset)
            if offset >= data.length:
                return None
            state = context.copy()
            machine = self._apply(state.values, _still_to_undo(data, offset))
            if not machine:
                state.values["pc"] = strip_pointer_authentication(state.values["lr"])
        except KeyError as error:
            raise FormatError(f"the unwind data needs register {error.args[0]}, which is not known") from None
        return state, machine

    def _apply(self, values: dict[str, int], operations: tuple[Operation, ...]) -> bool:
        """Undo operations; True if a machine frame or a context replaced them."""
        following = 0
        for operation in operations:
            name = operation.name
            if name == "save_next":
                following += 1
                continue
            if name in _PAIRS:
                self._load_pairs(values, operation, following)
                following = 0
            elif name in _SINGLE:
                self._load(values, name, operation.register, operation.offset)
            elif name == "save_lrpair":
                self._load(values, name, operation.register, operation.offset)
                self._load(values, name, 30, operation.offset + 8)
            elif name == "set_fp":
                values["sp"] = values["fp"]
            elif name == "add_fp":
                values["sp"] = (values["fp"] - operation.offset) & MASK64
            elif name == "machine_frame":
                raw = self._memory.read(values["sp"], 16)
                values["sp"], values["pc"] = int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")
                return True
            elif name == "context":
                values.update(decode_context(self._memory.read(values["sp"], CONTEXT_SIZE)).values)
                return True
            elif name == "trap_frame":
                trap = None if self._trap_frame is None else self._trap_frame(values["sp"])
                if trap is None:
                    raise FormatError("the unwind data holds a trap frame that cannot be decoded")
                # Nonvolatile registers are not in a trap frame: the handler kept them.
                values.update((name, value) for name, value in trap.values.items() if name not in _KEPT)
                return True
            elif name == "pac":
                values["lr"] = strip_pointer_authentication(values["lr"])
            elif name in _UNKNOWN_FRAMES:
                raise FormatError(f"the unwind data holds {_UNKNOWN_FRAMES[name]}")
            values["sp"] = (values["sp"] + operation.size) & MASK64
        return False

    def _load_pairs(self, values: dict[str, int], operation: Operation, following: int) -> None:
        """Reload a pair and the pairs above it that ``save_next`` codes stand for."""
        name, register, offset = operation.name, operation.register, operation.offset
        width = _WIDTHS.get(name, 8)
        for _ in range(following + 1):
            self._load(values, name, register, offset)
            self._load(values, name, register + 1, offset + width)
            register, offset = register + 2, offset + 2 * width
            if name == "save_pair" and register > _LAST_INTEGER:
                # Behind the last integer pair comes the first floating-point one.
                name, register = "save_fpair", _FIRST_FLOAT

    def _load(self, values: dict[str, int], name: str, register: int, offset: int) -> None:
        address = (values["sp"] + offset) & MASK64
        if name in _INTEGER:
            values[_register(register)] = self._memory.u64(address)
            return
        width = _WIDTHS.get(name, 8)
        raw = self._memory.read_prefix(address, width)
        if len(raw) == width:
            values[f"v{register}"] = int.from_bytes(raw, "little")


def _register(number: int) -> str:
    return {29: "fp", 30: "lr"}.get(number, f"x{number}")


def _still_to_undo(data: UnwindData, offset: int) -> tuple[Operation, ...]:
    """Choose the operations that are in force at an offset of a function."""
    index = offset // 4
    length = _instructions(data.prologue)
    if data.has_prologue and index < length:
        return data.prologue[length - index :]
    for start, operations in data.epilogues:
        done = (offset - start) // 4
        # One more instruction than operations: the return.
        if 0 <= done <= _instructions(operations):
            return operations[done:]
    return data.prologue
