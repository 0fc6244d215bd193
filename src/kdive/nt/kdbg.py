"""The kernel debugger data block, ``KDDEBUGGER_DATA64`` (KDBG).

The kernel keeps a table of its own anchors for debuggers. It is the way to the module and process lists when no
symbols are at hand, and the evidence by which a symbol file can be matched to a kernel of unknown identity.

Format facts: ``wdbgexts.h``; encoding observed in kernels since Windows 8 (``KdDecodeDataBlock``).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kdive.addr import MASK64
from kdive.errors import FormatError
from kdive.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

OWNER_TAG = b"KDBG"
MAX_SIZE = 0x4000
TAG_OFFSET = 0x10
SIZE_OFFSET = 0x14
HEAD_SIZE = 0x18
"""As much as tells how large the whole block is."""

POINTER_FIELDS: Mapping[str, int] = {
    "KernBase": 0x18,
    "BreakpointWithStatus": 0x20,
    "KiCallUserMode": 0x38,
    "KeUserCallbackDispatcher": 0x40,
    "PsLoadedModuleList": 0x48,
    "PsActiveProcessHead": 0x50,
    "PspCidTable": 0x58,
    "ExpSystemResourcesList": 0x60,
    "ExpPagedPoolDescriptor": 0x68,
    "ExpNumberOfPagedPools": 0x70,
    "KeTimeIncrement": 0x78,
    "KeBugCheckCallbackListHead": 0x80,
    "KiBugCheckData": 0x88,
    "IopErrorLogListHead": 0x90,
    "ObpRootDirectoryObject": 0x98,
    "ObpTypeObjectType": 0xA0,
    "MmSystemCacheStart": 0xA8,
    "MmSystemCacheEnd": 0xB0,
    "MmSystemCacheWs": 0xB8,
    "MmPfnDatabase": 0xC0,
    "MmSystemPtesStart": 0xC8,
    "MmSystemPtesEnd": 0xD0,
    "MmSubsectionBase": 0xD8,
    "MmNumberOfPagingFiles": 0xE0,
    "MmLowestPhysicalPage": 0xE8,
    "MmHighestPhysicalPage": 0xF0,
    "MmNumberOfPhysicalPages": 0xF8,
    "MmMaximumNonPagedPoolInBytes": 0x100,
    "MmNonPagedSystemStart": 0x108,
    "MmNonPagedPoolStart": 0x110,
    "MmNonPagedPoolEnd": 0x118,
    "MmPagedPoolStart": 0x120,
    "MmPagedPoolEnd": 0x128,
    "MmPagedPoolInfo": 0x130,
    "MmSizeOfPagedPoolInBytes": 0x140,
    "MmTotalCommitLimit": 0x148,
    "MmTotalCommittedPages": 0x150,
    "MmSharedCommit": 0x158,
    "MmDriverCommit": 0x160,
    "MmProcessCommit": 0x168,
    "MmPagedPoolCommit": 0x170,
    "MmZeroedPageListHead": 0x180,
    "MmFreePageListHead": 0x188,
    "MmStandbyPageListHead": 0x190,
    "MmModifiedPageListHead": 0x198,
    "MmModifiedNoWritePageListHead": 0x1A0,
    "MmAvailablePages": 0x1A8,
    "MmResidentAvailablePages": 0x1B0,
    "PoolTrackTable": 0x1B8,
    "NonPagedPoolDescriptor": 0x1C0,
    "MmHighestUserAddress": 0x1C8,
    "MmSystemRangeStart": 0x1D0,
    "MmUserProbeAddress": 0x1D8,
    "KdPrintDefaultCircularBuffer": 0x1E0,
    "KdPrintWritePointer": 0x1F0,
    "KdPrintRolloverCount": 0x1F8,
    "MmLoadedUserImageList": 0x200,
    "NtBuildLab": 0x208,
    "KiNormalSystemCall": 0x210,
    "KiProcessorBlock": 0x218,
    "MmUnloadedDrivers": 0x220,
    "MmLastUnloadedDriver": 0x228,
    "MmTriageActionTaken": 0x230,
    "MmSpecialPoolTag": 0x238,
    "KernelVerifier": 0x240,
    "MmVerifierData": 0x248,
    "MmAllocatedNonPagedPool": 0x250,
    "MmPeakCommitment": 0x258,
    "MmTotalCommitLimitMaximum": 0x260,
    "CmNtCSDVersion": 0x268,
    "MmPhysicalMemoryBlock": 0x270,
    "MmSessionBase": 0x278,
    "MmSessionSize": 0x280,
    "KdPrintCircularBuffer": 0x2C8,
    "KdPrintBufferSize": 0x2D0,
    "KeLoaderBlock": 0x2D8,
    "IopNumTriageDumpDataBlocks": 0x308,
    "IopTriageDumpDataBlocks": 0x310,
    "VfCrashDataBlock": 0x318,
    "MmBadPagesDetected": 0x320,
    "EtwpDebuggerData": 0x330,
}
"""Offsets of the 64-bit fields; most hold the address of the kernel variable of that name."""

SIZE_FIELDS: Mapping[str, int] = {"_EPROCESS": 0x2A8, "_KPRCB": 0x2B0, "_ETHREAD": 0x2C0, "_KPCR": 0x2E0}
"""Offsets of the 16-bit fields that record the size of a structure."""

OFFSET_FIELDS: Mapping[str, tuple[str, int]] = {
    "OffsetKThreadTeb": ("_KTHREAD.Teb", 0x29A),
    "OffsetKThreadKernelStack": ("_KTHREAD.KernelStack", 0x29C),
    "OffsetKThreadInitialStack": ("_KTHREAD.InitialStack", 0x29E),
    "OffsetKThreadApcProcess": ("_KTHREAD.ApcState.Process", 0x2A0),
    "OffsetKThreadState": ("_KTHREAD.State", 0x2A2),
    "OffsetEprocessPeb": ("_EPROCESS.Peb", 0x2AA),
    "OffsetEprocessParentCID": ("_EPROCESS.InheritedFromUniqueProcessId", 0x2AC),
    "OffsetEprocessDirectoryTableBase": ("_KPROCESS.DirectoryTableBase", 0x2AE),
    "OffsetPrcbCurrentThread": ("_KPRCB.CurrentThread", 0x2B4),
    "OffsetPrcbMhz": ("_KPRCB.MHz", 0x2B6),
    "OffsetPrcbProcStateContext": ("_KPRCB.ProcessorState", 0x2BC),
    "OffsetPrcbNumber": ("_KPRCB.Number", 0x2BE),
    "OffsetPrcbContext": ("_KPRCB.Context", 0x338),
}
"""16-bit fields that record the place of a structure member: a last resort where no types are known."""


class DebuggerData(Record, frozen=True):
    """A decoded block.

    Attributes:
        address: Where it lies.
        data: Its bytes, decoded.
        encoded: Whether the memory held the encoded form.
    """

    address: int
    data: bytes
    encoded: bool = False

    def pointer(self, name: str) -> int:
        """Return a 64-bit field, 0 if the block is too short for it."""
        return int.from_bytes(self.data[POINTER_FIELDS[name] :][:8], "little")

    def size_of(self, type_name: str) -> int:
        """Return the recorded size of ``_EPROCESS``, ``_KPRCB``, ``_ETHREAD`` or ``_KPCR``; 0 if not recorded."""
        return int.from_bytes(self.data[SIZE_FIELDS[type_name] :][:2], "little")

    def offset(self, name: str) -> int:
        """Return a recorded member offset, 0 if not recorded."""
        return int.from_bytes(self.data[OFFSET_FIELDS[name][1] :][:2], "little")

    @property
    def kernel_base(self) -> int:
        """Load address of the kernel."""
        return self.pointer("KernBase")


def debugger_data_size(head: bytes, address: int) -> int:
    """Check the plain head of a block, and return the bytes of the whole.

    Raises:
        FormatError: The owner tag or size is wrong (the block may be encoded).
    """
    if head[TAG_OFFSET : TAG_OFFSET + 4] != OWNER_TAG:
        raise FormatError("no KDBG tag at the debugger data block", where=f"{address:#x}")
    size = int.from_bytes(head[SIZE_OFFSET:HEAD_SIZE], "little")
    if not 0x2A0 <= size <= MAX_SIZE:
        raise FormatError(f"debugger data block of {size:#x} bytes", where=f"{address:#x}")
    return size


def _rotate_left(value: int, count: int) -> int:
    count &= 63
    return ((value << count) | (value >> (64 - count))) & MASK64 if count else value


def decode_debugger_data(data: bytes, wait_never: int, wait_always: int, encoded_flag: int) -> bytes:
    """Decode an encoded block with the kernel's keys.

    Each 64-bit word was encoded with ``KiWaitNever``, ``KiWaitAlways`` and the address of ``KdpDataBlockEncoded``:
    ``w = rol(w ^ never, never & 0xff); w ^= flag address | 0xffff000000000000; w = bswap(w); w ^= always``.

    Args:
        data: The encoded bytes.
        wait_never: Value of ``nt!KiWaitNever``.
        wait_always: Value of ``nt!KiWaitAlways``.
        encoded_flag: Address of ``nt!KdpDataBlockEncoded``.
    """
    key = encoded_flag | 0xFFFF_0000_0000_0000
    out = bytearray()
    for (word,) in struct.iter_unpack("<Q", data[: len(data) & ~7]):
        value = _rotate_left(word ^ wait_never, wait_never & 0xFF) ^ key
        out += (int.from_bytes(value.to_bytes(8, "big"), "little") ^ wait_always).to_bytes(8, "little")
    return bytes(out)
