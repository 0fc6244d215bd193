/* The block that leads a debugger to everything else (KDDEBUGGER_DATA64, wdbgexts.h). */
#include "kd.h"

#define BLOCK_SIZE 0x3A0

extern CHAR NtBuildLab[];

static void Put(ULONG offset, const VOID *value) { *(ULONG64 *)(KdDebuggerDataBlock + offset) = (ULONG64)value; }
static void PutSize(ULONG offset, ULONG64 size) { *(USHORT *)(KdDebuggerDataBlock + offset) = (USHORT)size; }

/* The list's head lies right before the block, whose first member is the list's only entry. */
__asm__(".globl KdDebuggerDataBlock, KdpDebuggerDataListHead\n"
        ".bss\n .balign 16\n"
        "KdpDebuggerDataListHead: .space 16\n"
        "KdDebuggerDataBlock: .space 0x3A0\n .text\n");
extern LIST_ENTRY KdpDebuggerDataListHead;

void KdInitSystem(void)
{
    LIST_ENTRY *entry = (LIST_ENTRY *)KdDebuggerDataBlock;
    KdpDebuggerDataListHead.Flink = KdpDebuggerDataListHead.Blink = entry;
    entry->Flink = entry->Blink = &KdpDebuggerDataListHead;
    memcpy(KdDebuggerDataBlock + 0x10, "KDBG", 4);
    *(ULONG *)(KdDebuggerDataBlock + 0x14) = BLOCK_SIZE;
    Put(0x18, (PVOID)KiBootParameters->KernelBase);
    Put(0x20, DbgBreakPointWithStatus);
    Put(0x48, &PsLoadedModuleList);
    Put(0x50, &PsActiveProcessHead);
    Put(0x88, KiBugCheckData);
    Put(0x208, NtBuildLab);
    Put(0x218, KiProcessorBlock);
    PutSize(0x29A, __builtin_offsetof(KTHREAD, Teb));
    PutSize(0x29C, __builtin_offsetof(KTHREAD, KernelStack));
    PutSize(0x29E, __builtin_offsetof(KTHREAD, InitialStack));
    PutSize(0x2A0, __builtin_offsetof(KTHREAD, ApcState.Process));
    PutSize(0x2A2, __builtin_offsetof(KTHREAD, State));
    PutSize(0x2A8, sizeof(EPROCESS));
    PutSize(0x2AA, __builtin_offsetof(EPROCESS, Peb));
    PutSize(0x2B0, sizeof(KPRCB));
    PutSize(0x2C0, sizeof(ETHREAD));
    PutSize(0x2E0, sizeof(KPCR));
    PutSize(0x338, __builtin_offsetof(KPRCB, Context));
    SerialInitialize(COM1);
}
