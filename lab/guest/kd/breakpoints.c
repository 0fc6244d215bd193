/* The table of 32 breakpoints that the debugger writes through us. */
#include "kd.h"

#define TABLE_SIZE 32
#define WINDOW 16

typedef struct _ENTRY {
    ULONG64 Address;
    UCHAR Original, Used;
} ENTRY;

static ENTRY Table[TABLE_SIZE];

/* Returns a handle from 1, or 0: no room, no such address, or there is one there already. */
ULONG KdpWriteBreakpoint(ULONG64 address)
{
    UCHAR int3 = 0xCC;
    ULONG free = TABLE_SIZE;
    for (ULONG index = 0; index < TABLE_SIZE; index++) {
        if (Table[index].Used && Table[index].Address == address)
            return 0;
        if (!Table[index].Used && free == TABLE_SIZE)
            free = index;
    }
    if (free == TABLE_SIZE || MmCopy(&Table[free].Original, address, 1, 0) != 1 || MmCopy(&int3, address, 1, 1) != 1)
        return 0;
    Table[free].Address = address;
    Table[free].Used = 1;
    return free + 1;
}

int KdpRestoreBreakpoint(ULONG handle)
{
    ENTRY *entry = &Table[handle - 1];
    if (handle == 0 || handle > TABLE_SIZE || !entry->Used)
        return 0;
    MmCopy(&entry->Original, entry->Address, 1, 1);
    entry->Used = 0;
    return 1;
}

/* A stop takes the breakpoints out of the instructions that it reports. */
void KdpRemoveNear(ULONG64 address)
{
    for (ULONG index = 0; index < TABLE_SIZE; index++)
        if (Table[index].Used && Table[index].Address - address < WINDOW)
            KdpRestoreBreakpoint(index + 1);
}

void KdpClearBreakpoints(void)
{
    for (ULONG handle = 1; handle <= TABLE_SIZE; handle++)
        KdpRestoreBreakpoint(handle);
}
