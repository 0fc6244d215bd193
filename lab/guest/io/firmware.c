/* QEMU's fw_cfg device: numbered items to read byte by byte, and named files that the guest may write by DMA. */
#include "kernel.h"

#define SELECT 0x510
#define DATA 0x511
#define DMA_HIGH 0x514
#define DMA_LOW 0x518 /* starts it */
#define ITEM_PROCESSORS 5
#define ITEM_DIRECTORY 0x19
#define DMA_ERROR 1
#define DMA_SELECT 8
#define DMA_WRITE 0x10
#define NAME_SIZE 56

/* Everything of the device's own is big endian. */
typedef struct _DMA {
    ULONG Control, Length;
    ULONG64 Address;
} DMA;

static void Read(void *to, ULONG size)
{
    UCHAR *bytes = to;
    while (size--)
        *bytes++ = inb(DATA);
}

ULONG FirmwareProcessors(void)
{
    USHORT count;
    outw(SELECT, ITEM_PROCESSORS);
    Read(&count, sizeof count); /* this one is little endian */
    return count;
}

/* The number of a file, or 0. */
static USHORT Find(const CHAR *name)
{
    ULONG count;
    outw(SELECT, ITEM_DIRECTORY);
    Read(&count, sizeof count);
    for (count = __builtin_bswap32(count); count; count--) {
        struct { ULONG Size; USHORT Item, Reserved; CHAR Name[NAME_SIZE]; } entry;
        Read(&entry, sizeof entry);
        if (TextEqual(entry.Name, name))
            return __builtin_bswap16(entry.Item);
    }
    return 0;
}

/* Returns whether there is such a file and the device has taken the data. */
int FirmwareWrite(const CHAR *name, const VOID *data, ULONG size)
{
    static volatile DMA dma;
    ULONG64 place = MmPhysicalAddress((ULONG64)&dma);
    USHORT item = Find(name);
    if (!item)
        return 0;
    dma.Control = __builtin_bswap32((ULONG)item << 16 | DMA_SELECT | DMA_WRITE);
    dma.Length = __builtin_bswap32(size);
    dma.Address = __builtin_bswap64(MmPhysicalAddress((ULONG64)data));
    outl(DMA_HIGH, __builtin_bswap32((ULONG)(place >> 32)));
    outl(DMA_LOW, __builtin_bswap32((ULONG)place));
    while (__builtin_bswap32(dma.Control) & ~DMA_ERROR)
        ;
    return dma.Control == 0;
}
