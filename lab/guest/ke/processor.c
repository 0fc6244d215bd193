/* The processor's own structures: segments, interrupt table, control region, timer. */
#include "kernel.h"

typedef struct _GATE {
    USHORT Low;
    USHORT Selector;
    UCHAR Stack, Type;
    USHORT Middle;
    ULONG High, Zero;
} GATE;

KPCR KiInitialPcr;
PKPRCB KiProcessorBlock[64];
static GATE Idt[256] __attribute__((aligned(16)));
static ULONG64 Gdt[8] = {0, 0, 0x00209A0000000000ULL, 0x0000920000000000ULL};

extern void KiTrap00(void), KiTrap01(void), KiTrap03(void), KiTrap06(void), KiTrap08(void), KiTrap13(void), KiTrap14(void),
    KiInterrupt(void);

static void SetGate(ULONG vector, void (*entry)(void))
{
    ULONG64 address = (ULONG64)entry;
    GATE gate = {(USHORT)address, 0x10, 0, 0x8E, (USHORT)(address >> 16), (ULONG)(address >> 32), 0};
    Idt[vector] = gate;
}

static void LoadTables(void)
{
    struct __attribute__((packed)) { USHORT Limit; ULONG64 Base; } table = {sizeof(Gdt) - 1, (ULONG64)Gdt};
    __asm__ volatile("lgdt %0" ::"m"(table));
    table.Limit = sizeof(Idt) - 1;
    table.Base = (ULONG64)Idt;
    __asm__ volatile("lidt %0" ::"m"(table));
}

static void StartTimer(void)
{
    outb(0x20, 0x11), outb(0xA0, 0x11); /* both interrupt controllers: vectors 0x50 and 0x58 on */
    outb(0x21, 0x50), outb(0xA1, 0x58);
    outb(0x21, 4), outb(0xA1, 2);
    outb(0x21, 1), outb(0xA1, 1);
    outb(0x21, 0xFE), outb(0xA1, 0xFF); /* the timer alone */
    outb(0x43, 0x34);                   /* 100 times a second */
    outb(0x40, 11932 & 0xFF), outb(0x40, 11932 >> 8);
}

void KiInitializeProcessor(void)
{
    PKPCR pcr = &KiInitialPcr;
    for (ULONG vector = 0; vector < 256; vector++)
        SetGate(vector, KiInterrupt);
    SetGate(0, KiTrap00), SetGate(1, KiTrap01), SetGate(3, KiTrap03), SetGate(6, KiTrap06);
    SetGate(8, KiTrap08), SetGate(13, KiTrap13), SetGate(14, KiTrap14);
    LoadTables();
    pcr->GdtBase = Gdt;
    pcr->IdtBase = Idt;
    pcr->Self = pcr;
    pcr->CurrentPrcb = &pcr->Prcb;
    pcr->MajorVersion = 1;
    pcr->Prcb.MxCsr = 0x1F80;
    pcr->Prcb.Context = (PVOID)&pcr->Prcb.ProcessorState.ContextFrame;
    KiProcessorBlock[0] = &pcr->Prcb;
    write_msr(0xC0000101, (ULONG64)pcr); /* GS base */
    StartTimer();
}
