/* Processes, threads, and a scheduler that takes turns. */
#include "kernel.h"

#define MAX_PROCESSES 128
#define MAX_THREADS 32
#define STACK_SIZE 0x4000
enum { Initialized, Ready, Running, Standby, Terminated, Waiting };

LIST_ENTRY PsActiveProcessHead;
PEPROCESS PsInitialSystemProcess;
/* Apart from each other, and each elsewhere in its page, as in a pool. */
static union { EPROCESS Process; UCHAR Room[0x1030]; } Processes[MAX_PROCESSES];
static ETHREAD Threads[MAX_THREADS];
static UCHAR Stacks[MAX_THREADS][STACK_SIZE] __attribute__((aligned(4096)));
static PETHREAD IdleThreads[MAX_PROCESSORS];
static ULONG ProcessCount, ThreadCount;
static volatile UCHAR DispatcherLock;

extern void KiSwapContext(PVOID *old, PVOID next);
extern void KiThreadStartup(void);

static void InsertTail(LIST_ENTRY *head, LIST_ENTRY *entry)
{
    entry->Flink = head;
    entry->Blink = head->Blink;
    head->Blink->Flink = entry;
    head->Blink = entry;
}

PEPROCESS PsCreateProcess(const CHAR *name, ULONG64 id, ULONG64 parent)
{
    PEPROCESS process = &Processes[ProcessCount++].Process;
    process->Pcb.Header.Type = 3;
    process->Pcb.DirectoryTableBase = read_cr3();
    process->Pcb.ThreadListHead.Flink = process->Pcb.ThreadListHead.Blink = &process->Pcb.ThreadListHead;
    process->ThreadListHead.Flink = process->ThreadListHead.Blink = &process->ThreadListHead;
    process->UniqueProcessId = (PVOID)id;
    process->InheritedFromUniqueProcessId = (PVOID)parent;
    process->ExitStatus = 259;
    for (ULONG at = 0; at < 14 && name[at]; at++)
        process->ImageFileName[at] = name[at];
    InsertTail(&PsActiveProcessHead, &process->ActiveProcessLinks);
    return process;
}

static PETHREAD NewThread(PEPROCESS process, PVOID start)
{
    PETHREAD thread = &Threads[ThreadCount];
    UCHAR *stack = Stacks[ThreadCount++];
    thread->Tcb.Header.Type = 6;
    thread->Tcb.Process = &process->Pcb;
    thread->Tcb.ApcState.Process = &process->Pcb;
    thread->Tcb.StackLimit = stack;
    thread->Tcb.StackBase = thread->Tcb.InitialStack = stack + STACK_SIZE;
    thread->Cid.UniqueProcess = process->UniqueProcessId;
    thread->Cid.UniqueThread = (PVOID)(ULONG64)(8 + 4 * ThreadCount);
    thread->StartAddress = thread->Win32StartAddress = start;
    InsertTail(&process->Pcb.ThreadListHead, &thread->Tcb.ThreadListEntry);
    InsertTail(&process->ThreadListHead, &thread->ThreadListEntry);
    process->ActiveThreads++;
    return thread;
}

PETHREAD PsCreateSystemThread(PEPROCESS process, void (*start)(PVOID), PVOID argument)
{
    PETHREAD thread = NewThread(process, start);
    PKEXCEPTION_FRAME preserved = (PKEXCEPTION_FRAME)thread->Tcb.StackBase - 1;
    PKSWITCH_FRAME frame = (PKSWITCH_FRAME)preserved - 1;
    preserved->Rbx = (ULONG64)start;
    preserved->R12 = (ULONG64)argument;
    frame->Return = (ULONG64)KiThreadStartup;
    thread->Tcb.KernelStack = frame;
    thread->Tcb.State = Ready;
    return thread;
}

/* A processor's thread for when nothing else is ready: it never runs elsewhere. */
PETHREAD PsCreateIdleThread(ULONG processor)
{
    PETHREAD thread = NewThread(PsInitialSystemProcess, (PVOID)KiIdleLoop);
    thread->Tcb.State = Running;
    return IdleThreads[processor] = thread;
}

PETHREAD PsIdleThread(ULONG processor) { return IdleThreads[processor]; }

static void AcquireDispatcherLock(void)
{
    while (__atomic_exchange_n(&DispatcherLock, 1, __ATOMIC_ACQUIRE))
        __asm__ volatile("pause");
}

void KiReleaseDispatcherLock(void) { __atomic_store_n(&DispatcherLock, 0, __ATOMIC_RELEASE); }

/* The next thread after this one that is ready and may run here. */
static PETHREAD Next(PETHREAD current, PETHREAD idle)
{
    ULONG index = (ULONG)(current - Threads);
    for (ULONG step = 1; step <= ThreadCount; step++) {
        PETHREAD candidate = &Threads[(index + step) % ThreadCount];
        int bound = 0;
        for (ULONG number = 0; number < MAX_PROCESSORS; number++)
            bound |= candidate == IdleThreads[number];
        if (candidate->Tcb.State == Ready && (!bound || candidate == idle))
            return candidate;
    }
    return current;
}

/* Gives the processor to the next thread that is ready. The lock goes with it: whoever comes back releases it, so that
   nobody takes up a thread whose registers are not saved yet. */
void KiYield(void)
{
    PKPRCB prcb;
    PETHREAD current, next;
    __asm__ volatile("cli");
    AcquireDispatcherLock();
    prcb = KeGetCurrentPrcb();
    current = CONTAINING_RECORD(prcb->CurrentThread, ETHREAD, Tcb);
    next = Next(current, CONTAINING_RECORD(prcb->IdleThread, ETHREAD, Tcb));
    if (next != current) {
        current->Tcb.State = Ready;
        next->Tcb.State = Running;
        prcb->CurrentThread = &next->Tcb;
        KiSwapContext(&current->Tcb.KernelStack, next->Tcb.KernelStack);
    }
    KiReleaseDispatcherLock();
    __asm__ volatile("sti");
}

void PsInitialize(void)
{
    PETHREAD idle;
    PsActiveProcessHead.Flink = PsActiveProcessHead.Blink = &PsActiveProcessHead;
    PsInitialSystemProcess = PsCreateProcess("System", 4, 0);
    PsCreateProcess("smss.exe", 0x130, 4);
    PsCreateProcess("csrss.exe", 0x25C, 0x130);
    idle = PsCreateIdleThread(0);
    /* The boot stack is this thread's. */
    idle->Tcb.StackBase = idle->Tcb.InitialStack = (PVOID)(KiBootParameters->Stack + 0x100);
    idle->Tcb.StackLimit = (PVOID)(KiBootParameters->Stack - 0x7000);
    KeGetCurrentPrcb()->CurrentThread = KeGetCurrentPrcb()->IdleThread = &idle->Tcb;
}
