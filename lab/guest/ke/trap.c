/* Exceptions and interrupts. */
#include "kernel.h"

#define TICK 100000ULL                  /* a hundredth of a second, in units of 100 ns */
#define BOOT_TIME 132539328000000000ULL /* every boot is on the first of January 2021: there is no clock to ask */

#define DEBUG_STATUS_NOTHING 0xFFFF0FF0

ULONG64 KiBugCheckData[5];
volatile ULONG64 KeTickCount;

static ULONG CodeOf(ULONG vector)
{
    switch (vector) {
    case 0: return STATUS_INTEGER_DIVIDE_BY_ZERO;
    case 1: return STATUS_SINGLE_STEP;
    case 3: return STATUS_BREAKPOINT;
    case 6: return STATUS_ILLEGAL_INSTRUCTION;
    default: return STATUS_ACCESS_VIOLATION;
    }
}

/* A KSYSTEM_TIME: readers take it for good when both high parts are the same. */
static void WriteTime(ULONG offset, ULONG64 time)
{
    volatile ULONG *place = (volatile ULONG *)(SHARED_DATA + offset);
    place[2] = (ULONG)(time >> 32);
    place[0] = (ULONG)time;
    place[1] = (ULONG)(time >> 32);
}

static void Tick(void)
{
    if (KeGetCurrentPrcb()->Number == 0) {
        KeTickCount++;
        *(volatile ULONG64 *)(SHARED_DATA + 0x320) = KeTickCount;
        WriteTime(0x08, KeTickCount * TICK);
        WriteTime(0x14, BOOT_TIME + KeTickCount * TICK);
    }
    KiEndOfInterrupt();
    if (KeGetCurrentPrcb()->Number == 0)
        KdPollBreakIn();
}

static void Exception(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved, ULONG vector)
{
    EXCEPTION exception = {0};
    exception.Code = CodeOf(vector);
    if (vector == 3)
        trap->Rip--; /* debuggers are told where the breakpoint is */
    exception.Address = trap->Rip;
    if (vector == 14) {
        trap->FaultAddress = read_cr2();
        exception.Count = 2;
        exception.Information[0] = trap->ErrorCode >> 1 & 1;
        exception.Information[1] = trap->FaultAddress;
    }
    exception.Dr6 = DEBUG_STATUS_NOTHING;
    if (vector == 1) {
        exception.Dr6 = read_dr6();
        __asm__ volatile("mov %0, %%dr6" ::"r"((ULONG64)DEBUG_STATUS_NOTHING)); /* the processor never clears it */
        trap->EFlags &= ~(ULONG)TRAP_FLAG;
    }
    if (KdTrap(trap, preserved, &exception))
        return;
    if (vector == 3) {
        trap->Rip++; /* no debugger: go on behind it */
        return;
    }
    if (vector == 14)
        KeBugCheckEx(0x50, trap->FaultAddress, trap->ErrorCode >> 1 & 1, trap->Rip, 0);
    KeBugCheckEx(0x1E, exception.Code, trap->Rip, 0, 0);
}

/* All vectors come here from the stubs. */
void KiTrap(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved, ULONG vector)
{
    switch (vector) {
    case NMI_VECTOR: KiFreezeTarget(trap, preserved); break;
    case TIMER_VECTOR: Tick(); break;
    case IPI_VECTOR: KiEndOfInterrupt(); break;
    case DEBUG_SERVICE_VECTOR: KdDebugService(trap, preserved); break;
    default: Exception(trap, preserved, vector);
    }
}

void KeBugCheckEx(ULONG code, ULONG64 p1, ULONG64 p2, ULONG64 p3, ULONG64 p4)
{
    __asm__ volatile("cli");
    KiBugCheckData[0] = code;
    KiBugCheckData[1] = p1;
    KiBugCheckData[2] = p2;
    KiBugCheckData[3] = p3;
    KiBugCheckData[4] = p4;
    MailboxPrint("error: bugcheck %x\n", (ULONG64)code);
    DbgPrint("\n*** Fatal System Error: 0x%x\n                       (0x%p,0x%p,0x%p,0x%p)\n\n", (ULONG64)code, p1, p2, p3, p4);
    for (;;)
        DbgBreakPointWithStatus(4);
}
