/* The local interrupt controllers: each processor's timer, messages between processors, and how the others start. */
#include "kernel.h"

#define APIC (PHYSICAL_WINDOW + 0xFEE00000)
#define APIC_ID 0x20
#define APIC_END 0xB0
#define APIC_SPURIOUS 0xF0
#define APIC_COMMAND 0x300
#define APIC_DESTINATION 0x310
#define APIC_TIMER 0x320
#define APIC_TIMER_COUNT 0x380
#define APIC_TIMER_DIVIDE 0x3E0
#define PERIODIC 0x20000
#define BY_16 3
#define COUNT_PER_TICK 625000 /* QEMU's counts 10^9 times a second: a hundredth of one, by 16 */
#define COMMAND_FIXED 0x4000
#define COMMAND_NMI 0x4400
#define COMMAND_INIT 0x4500
#define COMMAND_STARTUP 0x4600
#define BUSY 0x1000
#define START_SPINS 100000000

static volatile ULONG *Register(ULONG offset) { return (volatile ULONG *)(APIC + offset); }

void KiInitializeInterrupts(void)
{
    *Register(APIC_SPURIOUS) = 0x1FF; /* on */
    *Register(APIC_TIMER_DIVIDE) = BY_16;
    *Register(APIC_TIMER) = PERIODIC | TIMER_VECTOR;
    *Register(APIC_TIMER_COUNT) = COUNT_PER_TICK;
}

ULONG KiApicId(void) { return *Register(APIC_ID) >> 24; }

void KiEndOfInterrupt(void) { *Register(APIC_END) = 0; }

static void Command(ULONG processor, ULONG command)
{
    while (*Register(APIC_COMMAND) & BUSY)
        ;
    *Register(APIC_DESTINATION) = processor << 24;
    *Register(APIC_COMMAND) = command;
}

/* Interrupts a processor whatever it does. */
void KiSendNmi(ULONG processor) { Command(processor, COMMAND_NMI); }

/* Wakes it, if it sleeps: nothing else happens there. */
void KiSendInterrupt(ULONG processor) { Command(processor, COMMAND_FIXED | IPI_VECTOR); }

/* Starts the other processors, one after another: each begins at the trampoline in the first megabyte, goes through the
   boot code that this one came through, and on to KiSystemStartupSecondary. */
void KiStartProcessors(void)
{
    ULONG count = FirmwareProcessors();
    BOOT_PARAMETERS *parameters = KiBootParameters;
    outb(0x21, 0xFF), outb(0xA1, 0xFF); /* the old interrupt controllers stay silent */
    memcpy((PVOID)(PHYSICAL_WINDOW + BOOT_TRAMPOLINE), (PVOID)(PHYSICAL_WINDOW + BOOT_CODE + BOOT_TRAMPOLINE_OFFSET),
           BOOT_TRAMPOLINE_SIZE);
    for (ULONG number = 1; number < count && number < MAX_PROCESSORS; number++) {
        parameters->Entry = (ULONG64)KiSystemStartupSecondary;
        parameters->Stack = (ULONG64)PsCreateIdleThread(number)->Tcb.InitialStack;
        Command(number, COMMAND_INIT);
        Command(number, COMMAND_STARTUP | BOOT_TRAMPOLINE >> 12);
        for (ULONG spins = 0; *(volatile ULONG *)&KeNumberProcessors == number && spins < START_SPINS; spins++)
            __asm__ volatile("pause");
    }
}
