"""Finding a return address among the words of a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.record import Record

if TYPE_CHECKING:
    from kdive.arch.context import MachineName
    from kdive.cancel import CancelToken
    from kdive.stack.host import UnwindHost, UnwindModule

_FAR = 0x8000
_MAX_CALL = 7
_GOOD = 2
_LOW32 = 0xFFFFFFFF
_MAX_SCAN = 1 << 20
_HOME_SPACE = 0x20
_LOOK_AHEAD = 0x1000
_KERNEL_CS = 0x10
_KERNEL_SS = 0x18


class Candidate(Record, frozen=True):
    """A word that may be a return address: where it lies, its value, and how much speaks for it.

    Attributes:
        address: Where the word lies.
        value: The word.
        score: See :func:`rate`.
        stack_pointer: The interrupted stack pointer, if the word is the ``rip`` of a machine frame, else 0.
    """

    address: int
    value: int
    score: int
    stack_pointer: int = 0


def scan(
    host: UnwindHost,
    machine: MachineName,
    low: int,
    high: int,
    *,
    after_call: bool = False,
    cancel: CancelToken | None = None,
) -> Candidate | None:
    """Return the first word of ``[low, high)`` that is likely a return address.

    A word scores by what is known: that a call stands before it (if code is at hand), or that it lies inside a
    function rather than at its start or far behind any symbol. The first word with evidence for it is taken; one that
    is merely not impossible counts only if nothing better follows in the next 4 KiB.

    On AMD64 the calling convention helps: the stack is aligned by 16 where a function is called, so that a return
    address lies 8 behind a multiple of 16, and above the 32 bytes that every caller leaves for its callee's register
    parameters.

    Args:
        host: Memory, images and symbols.
        machine: Which calling convention.
        low: Where to begin: the stack pointer of the frame whose caller is looked for.
        high: Where to end; at most 1 MiB behind ``low`` counts.
        after_call: Whether the frame stands behind a call, so that its parameter area lies at ``low``.
        cancel: Checked at each run of words.
    """
    fallback: Candidate | None = None
    amd64 = machine == "amd64"
    if amd64 and after_call:
        low += _HOME_SPACE
    if machine == "arm64":
        from kdive.arch.arm64.unwind import strip_pointer_authentication as clean
    else:
        clean = _same
    for start, data in host.memory.read_available(low, min(high - low, _MAX_SCAN)) if high > low else ():
        if cancel is not None:
            cancel.check()
        skip = -start % 8
        words = memoryview(data[skip : skip + (len(data) - skip) // 8 * 8]).cast("Q")
        for index, value in enumerate(words):
            if value < 1 << 16 or value == MASK64:
                continue
            value = clean(value)
            module = host.module_at(value)
            if module is None:
                continue
            place = start + skip + 8 * index
            if fallback is not None and place - fallback.address > _LOOK_AHEAD:
                return fallback
            if amd64 and index + 4 < len(words):
                interrupted = _machine_frame(words, index, start + skip, high)
                if interrupted:
                    return Candidate(place, value, 3, interrupted)
            score = rate(host, module, machine, value)
            if amd64 and place & 8 == 0:
                score = min(score, 1)
            if score >= _GOOD:
                return Candidate(place, value, score)
            if score == 1 and fallback is None:
                fallback = Candidate(place, value, score)
    return fallback


def _same(value: int) -> int:
    return value


def _machine_frame(words: memoryview, index: int, base: int, high: int) -> int:
    """The stack pointer of a machine frame whose ``rip`` is a word, or 0.

    An exception pushes ``rip``, ``cs``, flags, ``rsp`` and ``ss``. Kernel selectors, the flag bit that is always set
    and a stack pointer further up the same stack hardly ever meet by chance.
    """
    code_selector, flags, _, stack_selector = (words[index + step] & _LOW32 for step in range(1, 5))
    stack_pointer = words[index + 3]
    here = base + 8 * index
    if code_selector & 0xFFFF != _KERNEL_CS or stack_selector & 0xFFFF not in (0, _KERNEL_SS) or not flags & 2:
        return 0
    return stack_pointer if here < stack_pointer < high and not stack_pointer & 7 else 0


def rate(host: UnwindHost, module: UnwindModule, machine: MachineName, value: int) -> int:
    """Rate a word as a return address: 0 impossible, 1 possible, 2 likely, 3 certain to follow a call."""
    rva = value - module.base
    if rva < 0x1000:
        return 0
    before = module.read_image(rva - _MAX_CALL, _MAX_CALL) if rva >= _MAX_CALL else b""
    if len(before) == _MAX_CALL:
        follows = follows_call_arm64(before) if machine == "arm64" else follows_call_amd64(before)
        return 3 if follows else 0
    if machine == "arm64" and value & 3:
        return 0
    nearest = host.nearest_symbol(value)
    if nearest is None:
        return 1
    _, displacement, is_function = nearest
    if displacement == 0 or displacement > _FAR:
        return 0
    # The shortest call takes two bytes, and a function begins with something before its first call.
    if displacement < 5:
        return 0
    return 2 if is_function or displacement < 0x1000 else 1


def follows_call_amd64(before: bytes) -> bool:
    """Whether the seven bytes before an address end in a call instruction."""
    if before[2] == 0xE8:
        return True
    for length in (2, 3, 4, 6, 7):
        code = before[-length:]
        if length > 2 and code[0] & 0xF0 == 0x40:
            code = code[1:]
        if len(code) < 2 or code[0] != 0xFF or code[1] >> 3 & 7 != 2:
            continue
        if _modrm_length(code) == len(code):
            return True
    return False


def _modrm_length(code: bytes) -> int:
    """Length of an ``FF /2`` instruction from its ModRM byte."""
    mode, operand = code[1] >> 6, code[1] & 7
    if mode == 3:
        return 2
    length = 3 if operand == 4 else 2
    if mode == 1:
        return length + 1
    if mode == 2 or operand == 5:
        return length + 4
    if operand == 4 and len(code) > 2 and code[2] & 7 == 5:
        return length + 4
    return length


def follows_call_arm64(before: bytes) -> bool:
    """Whether the last four bytes before an address are ``bl`` or ``blr``."""
    word = int.from_bytes(before[-4:], "little")
    return word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000 or word & 0xFEFFF800 == 0xD63F0800
