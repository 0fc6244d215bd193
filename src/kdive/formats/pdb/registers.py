"""Names of CodeView's register numbers, by machine.

Format facts: ``CV_HREG_e`` in ``cvconst.h`` of Microsoft's DIA SDK and LLVM's ``CodeViewRegisters.def``.
"""

from __future__ import annotations

from functools import cache

from kdive.formats.pe.image import MACHINE_AMD64, MACHINE_ARM64, MACHINE_I386

VIRTUAL_FRAME = "vframe"
"""Not a register: on x86 the frame's address as the frame data program computes it."""
_VIRTUAL_FRAME_NUMBER = 30006

# The first number, and the names that follow it.
_X86: dict[int, str] = {
    1: "al cl dl bl ah ch dh bh ax cx dx bx sp bp si di eax ecx edx ebx esp ebp esi edi es cs ss ds fs gs ip flags eip"
    " eflags",
    80: "cr0 cr1 cr2 cr3 cr4",
    90: "dr0 dr1 dr2 dr3 dr4 dr5 dr6 dr7",
    128: "st0 st1 st2 st3 st4 st5 st6 st7",
    146: "mm0 mm1 mm2 mm3 mm4 mm5 mm6 mm7",
    154: "xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7",
    252: "ymm0 ymm1 ymm2 ymm3 ymm4 ymm5 ymm6 ymm7",
}
_AMD64: dict[int, str] = {
    **{first: names for first, names in _X86.items() if first not in (1, 252)},
    1: "al cl dl bl ah ch dh bh ax cx dx bx sp bp si di eax ecx edx ebx esp ebp esi edi es cs ss ds fs gs ip flags"
    " rip eflags",
    88: "cr8",
    252: "xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15",
    324: "sil dil bpl spl rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 r8b r9b r10b r11b r12b r13b"
    " r14b r15b r8w r9w r10w r11w r12w r13w r14w r15w r8d r9d r10d r11d r12d r13d r14d r15d ymm0 ymm1 ymm2 ymm3 ymm4"
    " ymm5 ymm6 ymm7 ymm8 ymm9 ymm10 ymm11 ymm12 ymm13 ymm14 ymm15",
}
_ARM64: dict[int, str] = {
    10: " ".join(f"w{number}" for number in range(31)) + " wzr",
    50: " ".join(f"x{number}" for number in range(29)) + " fp lr sp xzr",
    90: "nzcv",
    100: " ".join(f"s{number}" for number in range(32)),
    140: " ".join(f"d{number}" for number in range(32)),
    180: " ".join(f"q{number}" for number in range(32)),
}
_BY_MACHINE = {MACHINE_I386: _X86, MACHINE_AMD64: _AMD64, MACHINE_ARM64: _ARM64}
_FRAME_BASES = {
    MACHINE_I386: ("", VIRTUAL_FRAME, "ebp", "ebx"),
    MACHINE_AMD64: ("", "rsp", "rbp", "r13"),
    MACHINE_ARM64: ("", "sp", "fp", ""),
}


@cache
def _names(machine: int) -> dict[int, str]:
    runs = _BY_MACHINE.get(machine, {})
    names = {first + index: name for first, run in runs.items() for index, name in enumerate(run.split())}
    return {**names, _VIRTUAL_FRAME_NUMBER: VIRTUAL_FRAME}


def register_name(machine: int, number: int) -> str:
    """Return the lower-case name of a register, or ``reg<number>`` if it has none here."""
    return _names(machine).get(number) or f"reg{number}"


def frame_base(machine: int, flags: int, *, parameter: bool) -> str:
    """Return the register that frame-relative offsets count from, by the flags of ``S_FRAMEPROC`` ("" if none)."""
    return _FRAME_BASES.get(machine, ("",) * 4)[flags >> (16 if parameter else 14) & 3]
