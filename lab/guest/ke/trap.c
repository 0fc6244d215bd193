/* Exceptions and interrupts. */
#include "kernel.h"

ULONG64 KiBugCheckData[5];
volatile ULONG64 KeTickCount;

#define TIMER_VECTOR 0x50
#define TRAP_FLAG 0x100

static ULONG CodeOf(ULONG64 vector)
{
    switch (vector) {
    case 0: return STATUS_INTEGER_DIVIDE_BY_ZERO;
    case 1: return STATUS_SINGLE_STEP;
    case 3: return STATUS_BREAKPOINT;
    case 6: return STATUS_ILLEGAL_INSTRUCTION;
    default: return STATUS_ACCESS_VIOLATION;
    }
}

void KiTrap(TRAP *trap)
{
    EXCEPTION exception = {0};
    if (trap->Vector == TIMER_VECTOR) {
        KeTickCount++;
        *(volatile ULONG64 *)(SHARED_DATA + 0x320) = KeTickCount;
        outb(0x20, 0x20);
        KdPollBreakIn();
        return;
    }
    exception.Code = CodeOf(trap->Vector);
    if (trap->Vector == 3)
        trap->Rip--; /* debuggers are told where the breakpoint is */
    exception.Address = trap->Rip;
    if (trap->Vector == 14) {
        exception.Count = 2;
        exception.Information[0] = trap->Error >> 1 & 1;
        exception.Information[1] = read_cr2();
    }
    if (trap->Vector == 1)
        trap->EFlags &= ~(ULONG64)TRAP_FLAG;
    if (KdTrap(trap, &exception))
        return;
    if (trap->Vector == 3) {
        trap->Rip++; /* no debugger: go on behind it */
        return;
    }
    if (trap->Vector == 14)
        KeBugCheckEx(0x50, read_cr2(), trap->Error >> 1 & 1, trap->Rip, 0);
    KeBugCheckEx(0x1E, exception.Code, trap->Rip, 0, 0);
}

void KeBugCheckEx(ULONG code, ULONG64 p1, ULONG64 p2, ULONG64 p3, ULONG64 p4)
{
    __asm__ volatile("cli");
    KiBugCheckData[0] = code;
    KiBugCheckData[1] = p1;
    KiBugCheckData[2] = p2;
    KiBugCheckData[3] = p3;
    KiBugCheckData[4] = p4;
    DbgPrint("\n*** Fatal System Error: 0x%x\n                       (0x%p,0x%p,0x%p,0x%p)\n\n", (ULONG64)code, p1, p2, p3, p4);
    for (;;)
        DbgBreakPointWithStatus(4);
}
