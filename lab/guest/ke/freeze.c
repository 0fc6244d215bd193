/* One processor talks to the debugger; the others stand still meanwhile, with their registers where it can see them. */
#include "kernel.h"

/* _KPRCB.IpiFrozen */
enum { Running = 0, TargetFrozen = 2, FreezeOwner = 4, FreezeActive = 0x20 };

#define FREEZE_SPINS 1000000
#define CLOCK_LEVEL 13

static volatile ULONG Owner, Frozen, Answer; /* Owner: the processor's number + 1 */

static volatile ULONG *State(ULONG number) { return (volatile ULONG *)&KiProcessorBlock[number]->IpiFrozen; }

/* A short wait. No pause instruction: an emulator leaves its fast loop at each, and takes its lock away from the processor
   that talks. */
static void Pause(void)
{
    for (ULONG spins = 0; spins < 200; spins++)
        __asm__ volatile("" ::: "memory");
}

/* A long one: until another processor sends an interrupt. Everything below its level stays out, the clock too. Interrupts
   are off, so that one that comes between the caller's last look and the halt still ends it. */
static void Sleep(void)
{
    ULONG64 level = read_cr8();
    write_cr8(CLOCK_LEVEL);
    __asm__ volatile("sti; hlt; cli" ::: "memory");
    write_cr8(level);
}

int KiIsFrozenByMe(void) { return Owner == KeGetCurrentPrcb()->Number + 1; }

/* Whoever owns the debugger's line may use it; without the other processors standing still this is for a moment only, with
   interrupts off. */
int KiTryToOwn(void)
{
    ULONG nobody = 0, me = KeGetCurrentPrcb()->Number;
    return __atomic_compare_exchange_n(&Owner, &nobody, me + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void KiDisown(void) { __atomic_store_n(&Owner, 0, __ATOMIC_SEQ_CST); }

/* Makes this processor the only one that runs. If another is about to do the same, that one goes first: its NMI finds us
   here. Interrupts are off. */
void KeFreezeExecution(void)
{
    ULONG me = KeGetCurrentPrcb()->Number;
    while (!KiTryToOwn())
        Pause();
    *State(me) = FreezeOwner | FreezeActive;
    Frozen = 1;
    for (ULONG other = 0; other < KeNumberProcessors; other++)
        if (other != me)
            KiSendNmi(other);
    for (ULONG other = 0; other < KeNumberProcessors; other++)
        for (ULONG spins = 0; other != me && *State(other) != TargetFrozen && spins < FREEZE_SPINS; spins++)
            Pause();
}

void KeThawExecution(void)
{
    ULONG me = KeGetCurrentPrcb()->Number;
    *State(me) = Running;
    Frozen = 0;
    for (ULONG other = 0; other < KeNumberProcessors; other++)
        if (other != me)
            KiSendInterrupt(other);
    for (ULONG other = 0; other < KeNumberProcessors; other++)
        while (other != me && *State(other) != Running)
            Pause();
    KiDisown();
}

static void HandOver(ULONG number)
{
    *State(KeGetCurrentPrcb()->Number) &= ~FreezeActive;
    *State(number) |= FreezeActive;
    KiSendInterrupt(number);
}

/* The owner gives the word to a frozen processor and waits until it comes back, or until a processor that had it says how
   to go on: that is returned. */
KD_CONTINUE KeSwitchFrozenProcessor(ULONG number)
{
    volatile ULONG *mine = State(KeGetCurrentPrcb()->Number);
    Answer = KdSwitched;
    HandOver(number);
    while (!(*mine & FreezeActive) && Answer == KdSwitched)
        Sleep();
    return (KD_CONTINUE)Answer;
}

/* The other processors' side: an NMI. */
void KiFreezeTarget(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved)
{
    volatile ULONG *mine = State(KeGetCurrentPrcb()->Number);
    if (!Frozen)
        return;
    KiSaveProcessorState(trap, preserved);
    *mine = TargetFrozen;
    while (Frozen) {
        KD_CONTINUE answer;
        ULONG next;
        if (!(*mine & FreezeActive)) {
            Sleep();
            continue;
        }
        answer = KdReportSwitch(&next);
        if (answer == KdSwitched) {
            HandOver(next);
        } else {
            *mine &= ~FreezeActive;
            Answer = answer;
            KiSendInterrupt(Owner - 1); /* it thaws us all */
        }
    }
    KiRestoreProcessorState(trap, preserved);
    *mine = Running;
}
