/* A processor's own structures: segments, interrupt table, task segment, control region. */
#include "kernel.h"

#define GDT_ENTRIES 16
#define TASK_SEGMENT 0x40
#define STACK_SIZE 0x4000
enum { DoubleFaultStack = 1 }; /* as in Windows; an NMI may come while the last one is served, and uses the present stack */

typedef struct _GATE {
    USHORT Low;
    USHORT Selector;
    UCHAR Stack, Type;
    USHORT Middle;
    ULONG High, Zero;
} GATE;

typedef struct _PROCESSOR {
    KPCR Pcr;
    UCHAR Stacks[2][STACK_SIZE];
    GATE Idt[256];
    ULONG64 Gdt[GDT_ENTRIES];
    KTSS64 Tss;
} __attribute__((aligned(4096))) PROCESSOR;

ULONG KeNumberProcessors;
PKPRCB KiProcessorBlock[64];
static PROCESSOR Processors[MAX_PROCESSORS];

extern void KiTrap00(void), KiTrap01(void), KiTrap02(void), KiTrap03(void), KiTrap06(void), KiTrap08(void), KiTrap13(void),
    KiTrap14(void), KiTrap2D(void), KiTimer(void), KiInterrupt(void), KiSpurious(void);

static void SetGate(GATE *idt, ULONG vector, void (*entry)(void), UCHAR stack, UCHAR ring)
{
    ULONG64 address = (ULONG64)entry;
    GATE gate = {(USHORT)address, KERNEL_CODE, stack, 0x8E | ring << 5, (USHORT)(address >> 16), (ULONG)(address >> 32), 0};
    idt[vector] = gate;
}

static void FillTables(PROCESSOR *processor)
{
    ULONG64 task = (ULONG64)&processor->Tss, *gdt = processor->Gdt;
    GATE *idt = processor->Idt;
    gdt[KERNEL_CODE / 8] = 0x00209B0000000000ULL;
    gdt[KERNEL_DATA / 8] = 0x0000930000000000ULL;
    gdt[USER_CODE32 / 8] = 0x00CFFB000000FFFFULL;
    gdt[USER_DATA / 8] = 0x00CFF3000000FFFFULL;
    gdt[USER_CODE / 8] = 0x0020FB0000000000ULL;
    gdt[USER_TEB32 / 8] = 0x0040F30000003C00ULL;
    gdt[TASK_SEGMENT / 8] = (sizeof(KTSS64) - 1) | (task & 0xFFFFFF) << 16 | 0x89ULL << 40 | (task >> 24 & 0xFF) << 56;
    gdt[TASK_SEGMENT / 8 + 1] = task >> 32;
    processor->Tss.Rsp0 = (ULONG64)(processor->Stacks[0] + STACK_SIZE);
    processor->Tss.Ist[DoubleFaultStack] = (ULONG64)(processor->Stacks[1] + STACK_SIZE);
    processor->Tss.IoMapBase = sizeof(KTSS64);
    for (ULONG vector = 0; vector < 256; vector++)
        SetGate(idt, vector, KiSpurious, 0, 0);
    SetGate(idt, 0, KiTrap00, 0, 0), SetGate(idt, 1, KiTrap01, 0, 0), SetGate(idt, 2, KiTrap02, 0, 0);
    SetGate(idt, 3, KiTrap03, 0, 3), SetGate(idt, 6, KiTrap06, 0, 0), SetGate(idt, 8, KiTrap08, DoubleFaultStack, 0);
    SetGate(idt, 13, KiTrap13, 0, 0), SetGate(idt, 14, KiTrap14, 0, 0), SetGate(idt, DEBUG_SERVICE_VECTOR, KiTrap2D, 0, 3);
    SetGate(idt, TIMER_VECTOR, KiTimer, 0, 0), SetGate(idt, IPI_VECTOR, KiInterrupt, 0, 0);
}

static void LoadTables(PROCESSOR *processor)
{
    struct __attribute__((packed)) { USHORT Limit; ULONG64 Base; } table = {sizeof processor->Gdt - 1, (ULONG64)processor->Gdt};
    __asm__ volatile("lgdt %0" ::"m"(table));
    table.Limit = sizeof processor->Idt - 1;
    table.Base = (ULONG64)processor->Idt;
    __asm__ volatile("lidt %0" ::"m"(table));
    __asm__ volatile("ltr %w0" ::"r"(TASK_SEGMENT));
    __asm__ volatile("movl %0, %%ds; movl %0, %%es; movl %1, %%fs; movl %0, %%gs" ::"r"(USER_DATA | 3), "r"(USER_TEB32 | 3));
}

/* Every processor runs this once, with interrupts off. */
void KiInitializeProcessor(ULONG number)
{
    PROCESSOR *processor = &Processors[number];
    PKPCR pcr = &processor->Pcr;
    FillTables(processor);
    LoadTables(processor);
    pcr->GdtBase = processor->Gdt;
    pcr->IdtBase = processor->Idt;
    pcr->TssBase = &processor->Tss;
    pcr->Self = pcr;
    pcr->CurrentPrcb = &pcr->Prcb;
    pcr->MajorVersion = 1;
    pcr->Prcb.MxCsr = 0x1F80;
    pcr->Prcb.Number = number;
    pcr->Prcb.MHz = 1000;
    memcpy(pcr->Prcb.VendorString, "AuthenticAMD", 12);
    pcr->Prcb.Context = (PVOID)&pcr->Prcb.ProcessorState.ContextFrame;
    write_msr(0xC0000101, (ULONG64)pcr); /* GS base */
    KiProcessorBlock[number] = &pcr->Prcb;
}
