/* Where addresses lead, and which may be touched: the page tables say. */
#include "kernel.h"

#define PRESENT 1
#define LARGE 0x80
#define NOWHERE (~0ULL)
#define FRAME 0x000FFFFFFFFFF000ULL

static ULONG64 *Table(ULONG64 physical) { return (ULONG64 *)(PHYSICAL_WINDOW + physical); }

/* Where in memory an address lies; NOWHERE if nothing is mapped there. */
ULONG64 MmPhysicalAddress(ULONG64 address)
{
    ULONG64 table = read_cr3() & FRAME, top = address >> 47;
    if (top != 0 && top != 0x1FFFF)
        return NOWHERE;
    for (int shift = 39; shift >= 12; shift -= 9) {
        ULONG64 entry, inside = (1ULL << shift) - 1;
        if (table >= KiBootParameters->MemorySize)
            return NOWHERE;
        entry = Table(table)[address >> shift & 511];
        if (!(entry & PRESENT))
            return NOWHERE;
        if (shift == 12 || (shift < 39 && entry & LARGE))
            return (entry & FRAME & ~inside) | (address & inside);
        table = entry & FRAME;
    }
    return NOWHERE;
}

int MmIsAddressValid(ULONG64 address) { return MmPhysicalAddress(address) != NOWHERE; }

/* Copies as much as is there and returns how much that was. Writes go through write protection, as a debugger's must. */
ULONG MmCopy(UCHAR *buffer, ULONG64 address, ULONG size, int write)
{
    ULONG done = 0;
    ULONG64 cr0 = read_cr0();
    if (write)
        __asm__ volatile("mov %0, %%cr0" ::"r"(cr0 & ~0x10000ULL));
    while (done < size) {
        ULONG64 here = address + done;
        ULONG part = 0x1000 - (here & 0xFFF);
        if (part > size - done)
            part = size - done;
        if (!MmIsAddressValid(here))
            break;
        if (write)
            memcpy((PVOID)here, buffer + done, part);
        else
            memcpy(buffer + done, (PVOID)here, part);
        done += part;
    }
    if (write)
        __asm__ volatile("mov %0, %%cr0" ::"r"(cr0));
    return done;
}

ULONG MmCopyPhysical(UCHAR *buffer, ULONG64 address, ULONG size, int write)
{
    ULONG64 end = KiBootParameters->MemorySize;
    if (address >= end)
        return 0;
    if (size > end - address)
        size = (ULONG)(end - address);
    if (write)
        memcpy((PVOID)(PHYSICAL_WINDOW + address), buffer, size);
    else
        memcpy(buffer, (PVOID)(PHYSICAL_WINDOW + address), size);
    return size;
}
