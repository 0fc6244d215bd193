/* Where the kernel starts, and what it does when there is nothing to do. */
#include "kernel.h"

ULONG NtBuildNumber = 0xF0000000 | 19041;
CHAR NtBuildLab[] = "19041.1.amd64fre.lab";
BOOT_PARAMETERS *KiBootParameters;

/* Small functions that a debugger can break at and step through; they run all the time. */
static volatile ULONG64 Total;

__attribute__((noinline)) ULONG64 KiInner(ULONG64 amount)
{
    Total += amount;
    return Total * 3;
}

__attribute__((noinline)) ULONG64 KiOuter(ULONG64 amount)
{
    ULONG64 result = KiInner(amount) + 1;
    return result ^ amount;
}

__attribute__((noinline)) void KeUpdateSystemTime(ULONG64 ticks)
{
    volatile ULONG64 sink = KiOuter(ticks);
    (void)sink;
}

void KiIdleLoop(void)
{
    for (;;) {
        KeUpdateSystemTime(KeTickCount);
        MailboxPoll(KeGetCurrentPrcb()->Number);
        KiYield();
        __asm__ volatile("sti; hlt");
    }
}

static void WorkerThread(PVOID argument)
{
    for (;;) {
        KeUpdateSystemTime((ULONG64)argument);
        KiYield();
    }
}

static void SharedData(void)
{
    UCHAR *shared = (UCHAR *)SHARED_DATA;
    *(ULONG *)(shared + 0x260) = 19041;
    *(ULONG *)(shared + 0x264) = 1; /* workstation */
    *(ULONG *)(shared + 0x26C) = 10;
    *(ULONG *)(shared + 0x270) = 0;
}

/* Where processor 0 begins. */
void KiSystemStartup(BOOT_PARAMETERS *parameters)
{
    KiBootParameters = parameters;
    KiInitializeProcessor(0);
    KeNumberProcessors = 1;
    SharedData();
    SerialInitialize(COM2);
    LdrInitialize();
    PsInitialize();
    KdInitSystem();
    KiInitializeInterrupts();
    KiStartProcessors();
    IoInitializeDump();
    PsCreateSystemThread(PsInitialSystemProcess, WorkerThread, (PVOID)1);
    PsCreateSystemThread(PsInitialSystemProcess, WorkerThread, (PVOID)2);
    DbgPrint("lab kernel at 0x%p, %d processors\n", parameters->KernelBase, KeNumberProcessors);
    KdReportImage(CONTAINING_RECORD(PsLoadedModuleList.Flink, KLDR_DATA_TABLE_ENTRY, InLoadOrderLinks), 0);
    MailboxPrint("ready\n");
    __asm__ volatile("sti");
    KiIdleLoop();
}

/* Where the others begin; each has its idle thread's stack. */
void KiSystemStartupSecondary(void)
{
    ULONG number = KiApicId();
    KiInitializeProcessor(number);
    KeGetCurrentPrcb()->CurrentThread = KeGetCurrentPrcb()->IdleThread = &PsIdleThread(number)->Tcb;
    KiInitializeInterrupts();
    __atomic_add_fetch(&KeNumberProcessors, 1, __ATOMIC_SEQ_CST);
    __asm__ volatile("sti");
    KiIdleLoop();
}
