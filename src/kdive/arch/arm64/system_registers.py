"""ARM64 system registers by name.

A register is numbered by its encoding: ``op0 << 16 | op1 << 12 | CRn << 8 | CRm << 4 | op2``, which is how KD numbers
them in requests for model-specific registers.

Source: Arm Architecture Reference Manual, AArch64 system register encoding.
"""

from __future__ import annotations

import re

_ENCODING = re.compile(r"S([0-3])_([0-7])_C(\d|1[0-5])_C(\d|1[0-5])_([0-7])", re.IGNORECASE)

TTBR0_EL1, TTBR1_EL1, ESR_EL1, FAR_EL1 = 0x30200, 0x30201, 0x30520, 0x30600

_NAMES = {
    "MIDR_EL1": 0x30000,
    "MPIDR_EL1": 0x30005,
    "SCTLR_EL1": 0x30100,
    "ACTLR_EL1": 0x30101,
    "CPACR_EL1": 0x30102,
    "TTBR0_EL1": TTBR0_EL1,
    "TTBR1_EL1": TTBR1_EL1,
    "TCR_EL1": 0x30202,
    "SPSR_EL1": 0x30400,
    "ELR_EL1": 0x30401,
    "SP_EL0": 0x30410,
    "ESR_EL1": ESR_EL1,
    "FAR_EL1": FAR_EL1,
    "PAR_EL1": 0x30740,
    "MAIR_EL1": 0x30A20,
    "VBAR_EL1": 0x30C00,
    "CONTEXTIDR_EL1": 0x30D01,
    "TPIDR_EL1": 0x30D04,
    "TPIDR_EL0": 0x33D02,
    "TPIDRRO_EL0": 0x33D03,
    "CNTKCTL_EL1": 0x30E10,
    "MDSCR_EL1": 0x20022,
    "OSLSR_EL1": 0x20114,
}


def system_register(name: str) -> int | None:
    """Return the number of a register: by its name in the manual, or written as ``S3_0_C2_C0_1``."""
    match = _ENCODING.fullmatch(name)
    if match:
        op0, op1, crn, crm, op2 = (int(part) for part in match.groups())
        return op0 << 16 | op1 << 12 | crn << 8 | crm << 4 | op2
    return _NAMES.get(name.upper())
