"""What the target says by itself: state changes and debug output.

Source: ``windbgkd.h`` (``DBGKD_ANY_WAIT_STATE_CHANGE``, ``DBGKD_DEBUG_IO``); recorded sessions with a real kernel.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.errors import FormatError
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.arch.context import MachineName

EXCEPTION_STATE, LOAD_SYMBOLS_STATE, COMMAND_STRING_STATE = 0x3030, 0x3031, 0x3032
PRINT_STRING, GET_STRING = 0x3230, 0x3231

STATUS_BREAKPOINT, STATUS_SINGLE_STEP = 0x80000003, 0x80000004

_HEAD = struct.Struct("<IHHI4xQQ")
_EXCEPTION = struct.Struct("<IIQQI4x")
_PARAMETERS = struct.Struct("<15Q")
_CONTROL_AMD64 = struct.Struct("<QQIHH16sHHHH")
_CONTROL_ARM64 = struct.Struct("<QII")
_LOAD = struct.Struct("<I4xQQIIB")
_DEBUG_IO = struct.Struct("<IHHI")
_CONTROL = 192
_MAX_PARAMETERS = 15
_MAX_STREAM = 16
_MAX_TEXT = 0x1000


class ControlReport(Record, frozen=True):
    """A few registers that come with each stop, so that the commonest need no request.

    Attributes:
        registers: By their debugger names: ``dr6``, ``dr7``, ``efl`` and segments, or ``bvr`` and the like.
        instructions: The code at the program counter, as the target saw it.
    """

    registers: dict[str, int]
    instructions: bytes = b""


class StateChange(Record, frozen=True):
    """What every state change says.

    Attributes:
        processor: The processor that reports it.
        processors: How many the target has.
        thread: Address of the current ``_ETHREAD``.
        program_counter: Where it stands.
    """

    processor: int
    processors: int
    thread: int
    program_counter: int


class ExceptionStop(StateChange, frozen=True):
    """An exception, which breakpoints and single steps are too.

    Attributes:
        code: The exception code.
        flags: Exception flags.
        address: Where it was raised.
        parameters: Its parameters.
        first_chance: Whether the target's own handlers have not been asked yet.
        control: Registers that came along, None if they did not.
    """

    code: int
    flags: int
    address: int
    parameters: tuple[int, ...]
    first_chance: bool
    control: ControlReport | None = None


class ImageChange(StateChange, frozen=True):
    """A module was loaded or unloaded.

    Attributes:
        path: The image's path as the kernel knows it.
        base: Its load address.
        process: What the kernel passes as the process identifier.
        checksum: The image's checksum.
        size: ``SizeOfImage``, 0 if the kernel does not say.
        unload: Whether it goes.
    """

    path: str
    base: int
    process: int
    checksum: int
    size: int
    unload: bool


class CommandString(StateChange, frozen=True):
    """The target asks the debugger to run a command; it is continued at once."""

    command: str


class DebugPrint(Record, frozen=True):
    """Text that the target prints."""

    processor: int
    text: str


class DebugPrompt(Record, frozen=True):
    """A question that the target waits for the answer of.

    Attributes:
        processor: Which processor waits.
        text: The question.
        limit: Most bytes of the answer.
    """

    processor: int
    text: str
    limit: int


def parse_state_change(payload: bytes, machine: MachineName) -> ExceptionStop | ImageChange | CommandString:
    """Decode the payload of a state change; a tail behind what is known is allowed (seen: a trailing trace count).

    Raises:
        FormatError: It is cut short or of a kind that is not known.
    """
    try:
        state, _, processor, processors, thread, counter = _HEAD.unpack_from(payload)
        head = (processor, processors, thread, counter)
        if state == EXCEPTION_STATE:
            return _exception(payload, head, machine)
        if state == LOAD_SYMBOLS_STATE:
            return _image(payload, head)
        if state == COMMAND_STRING_STATE:
            return CommandString(*head, _text(payload[_CONTROL:]))
    except struct.error:
        raise FormatError(f"a state change of {len(payload)} bytes is cut short") from None
    raise FormatError(f"a state change of kind {state:#x}")


def _text(data: bytes) -> str:
    return data[:_MAX_TEXT].split(b"\0", 1)[0].decode("utf-8", "replace")


def _exception(payload: bytes, head: tuple[int, int, int, int], machine: MachineName) -> ExceptionStop:
    code, flags, _, address, count = _EXCEPTION.unpack_from(payload, 32)
    parameters = _PARAMETERS.unpack_from(payload, 32 + _EXCEPTION.size)
    first_chance = struct.unpack_from("<I", payload, 184)[0]
    control = None
    if len(payload) > _CONTROL:
        control = _amd64_control(payload) if machine == "amd64" else _arm64_control(payload)
    return ExceptionStop(
        *head, code, flags, address, parameters[: min(count, _MAX_PARAMETERS)], bool(first_chance), control
    )


def _amd64_control(payload: bytes) -> ControlReport | None:
    if len(payload) < _CONTROL + _CONTROL_AMD64.size:
        return None
    dr6, dr7, flags, count, _, stream, cs, ds, es, fs = _CONTROL_AMD64.unpack_from(payload, _CONTROL)
    registers = {"dr6": dr6, "dr7": dr7, "efl": flags, "cs": cs, "ds": ds, "es": es, "fs": fs}
    return ControlReport(registers, stream[: min(count, _MAX_STREAM)])


def _arm64_control(payload: bytes) -> ControlReport | None:
    if len(payload) < _CONTROL + _CONTROL_ARM64.size + _MAX_STREAM:
        return None
    bvr, bcr, count = _CONTROL_ARM64.unpack_from(payload, _CONTROL)[:3]
    start = _CONTROL + _CONTROL_ARM64.size
    return ControlReport({"bvr": bvr, "bcr": bcr}, payload[start : start + min(count, _MAX_STREAM)])


def _image(payload: bytes, head: tuple[int, int, int, int]) -> ImageChange:
    length, base, process, checksum, size, unload = _LOAD.unpack_from(payload, 32)
    # The path stands behind the largest form of the structure: at its end, whatever the kernel's idea of its size.
    path = _text(payload[len(payload) - length :]) if 0 < length <= len(payload) - 32 else ""
    return ImageChange(*head, path, base, process, checksum, size, bool(unload))


def parse_debug_io(payload: bytes) -> DebugPrint | DebugPrompt:
    """Decode debug output. Text follows 16 bytes of header, or 12 in an old form.

    Raises:
        FormatError: It is cut short or of a kind that is not known.
    """
    try:
        api, _, processor, length = _DEBUG_IO.unpack_from(payload)
        if api == PRINT_STRING:
            start = 16 if len(payload) >= 16 + length else 12
            return DebugPrint(processor, payload[start : start + length].rstrip(b"\0").decode("utf-8", "replace"))
        if api == GET_STRING:
            limit: int = struct.unpack_from("<I", payload, 12)[0]
            text = payload[16 : 16 + length].rstrip(b"\0").decode("utf-8", "replace")
            return DebugPrompt(processor, text, limit)
    except struct.error:
        raise FormatError(f"debug output of {len(payload)} bytes is cut short") from None
    raise FormatError(f"debug output of kind {api:#x}")


def prompt_answer(prompt: DebugPrompt, answer: str) -> bytes:
    """Write the answer to a question, as the payload of a debug I/O packet."""
    raw = answer.encode("utf-8")[: prompt.limit]
    return struct.pack("<IHHII", GET_STRING, 0, prompt.processor, 0, len(raw)) + raw
