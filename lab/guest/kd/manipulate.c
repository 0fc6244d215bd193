/* Requests of the debugger while the processor stands still. */
#include "kd.h"

#define FIELD(type, offset) (*(type *)(KdpPayload + (offset)))
#define API FIELD(ULONG, 0)
#define STATUS FIELD(ULONG, 8)
#define ADDRESS FIELD(ULONG64, 16)
#define COUNT FIELD(ULONG, 24)
#define ACTUAL FIELD(ULONG, 28)
#define DATA (KdpPayload + MANIPULATE_SIZE)
#define ROOM (MAX_PAYLOAD - MANIPULATE_SIZE)
#define WAIT_FOR_REQUEST 50000000
#define TRAP_FLAG 0x100ULL
#define STALE_TAIL 0xD8 /* real kernels have been seen to send this much control space whatever was asked */

static int KdpHandled = 1;

static ULONG Fail(void)
{
    STATUS = STATUS_UNSUCCESSFUL;
    return 0;
}

static ULONG ReadMemory(int physical)
{
    ULONG size = COUNT < ROOM ? COUNT : ROOM;
    ACTUAL = physical ? MmCopyPhysical(DATA, ADDRESS, size, 0) : MmCopy(DATA, ADDRESS, size, 0);
    if (ACTUAL != COUNT)
        STATUS = STATUS_UNSUCCESSFUL;
    return ACTUAL;
}

static ULONG WriteMemory(int physical)
{
    ULONG size = COUNT < (ULONG)(KdpPayloadSize - MANIPULATE_SIZE) ? COUNT : (ULONG)(KdpPayloadSize - MANIPULATE_SIZE);
    ACTUAL = physical ? MmCopyPhysical(DATA, ADDRESS, size, 1) : MmCopy(DATA, ADDRESS, size, 1);
    if (ACTUAL != COUNT)
        STATUS = STATUS_UNSUCCESSFUL;
    return 0;
}

static ULONG ContextPart(TRAP *trap, int write)
{
    CONTEXT context;
    ULONG offset = FIELD(ULONG, 16), size = FIELD(ULONG, 20);
    KdpContextFromTrap(trap, &context);
    if (offset > sizeof context || size > sizeof context - offset)
        return Fail();
    if (write) {
        memcpy((UCHAR *)&context + offset, DATA, size);
        KdpContextToTrap(&context, trap);
    } else {
        memcpy(DATA, (UCHAR *)&context + offset, size);
    }
    FIELD(ULONG, 24) = size;
    return write ? 0 : size;
}

static ULONG ControlSpace(void)
{
    ULONG64 pointer;
    KSPECIAL_REGISTERS special;
    switch (ADDRESS) {
    case 0: pointer = (ULONG64)&KiInitialPcr; break;
    case 1: pointer = (ULONG64)KeGetCurrentPrcb(); break;
    case 3: pointer = (ULONG64)KeGetCurrentPrcb()->CurrentThread; break;
    case 2:
        KdpSpecialRegisters(&special);
        memset(DATA, 0xEE, STALE_TAIL);
        memcpy(DATA, &special, COUNT < STALE_TAIL ? COUNT : STALE_TAIL);
        return ACTUAL = STALE_TAIL;
    default: return Fail();
    }
    memcpy(DATA, &pointer, sizeof pointer);
    return ACTUAL = sizeof pointer;
}

static ULONG Port(int write)
{
    USHORT port = (USHORT)ADDRESS;
    ULONG *value = &FIELD(ULONG, 28);
    switch (COUNT) {
    case 1: write ? outb(port, (UCHAR)*value) : (void)(*value = inb(port)); return 0;
    case 2: write ? outw(port, (USHORT)*value) : (void)(*value = inw(port)); return 0;
    case 4: write ? outl(port, *value) : (void)(*value = inl(port)); return 0;
    default: return Fail();
    }
}

static ULONG BusData(void)
{
    ULONG bus = FIELD(ULONG, 20), slot = FIELD(ULONG, 24), offset = FIELD(ULONG, 28), size = FIELD(ULONG, 32);
    ULONG base = 0x80000000 | bus << 16 | (slot & 31) << 11 | (slot >> 5 & 7) << 8;
    if (FIELD(ULONG, 16) != 4 || offset > 256 || size > 256 - offset)
        return Fail();
    for (ULONG at = 0; at < size; at++) {
        outl(0xCF8, base | ((offset + at) & ~3U));
        DATA[at] = inb(0xCFC + ((offset + at) & 3));
    }
    return size;
}

static ULONG SearchMemory(void)
{
    UCHAR pattern[64], byte;
    ULONG64 start = ADDRESS, length = FIELD(ULONG64, 24);
    ULONG size = FIELD(ULONG, 32);
    if (size == 0 || size > sizeof pattern)
        return Fail();
    memcpy(pattern, DATA, size);
    for (ULONG64 at = start; at + size <= start + length; at++) {
        ULONG same = 0;
        while (same < size && MmCopy(&byte, at + same, 1, 0) == 1 && byte == pattern[same])
            same++;
        if (same == size) {
            ADDRESS = at;
            return 0;
        }
    }
    STATUS = 0x8000001A; /* STATUS_NO_MORE_ENTRIES */
    return 0;
}

static ULONG Version(void)
{
    memset(KdpPayload + 16, 0, 40);
    FIELD(USHORT, 16) = 0xF;
    FIELD(USHORT, 18) = 19041;
    FIELD(UCHAR, 20) = 6;
    FIELD(UCHAR, 21) = 2;
    FIELD(USHORT, 22) = 7; /* multiprocessor, data, 64 bits */
    FIELD(USHORT, 24) = 0x8664;
    FIELD(UCHAR, 26) = 12, FIELD(UCHAR, 27) = 3, FIELD(UCHAR, 28) = 0x33;
    FIELD(ULONG64, 32) = KiBootParameters->KernelBase;
    FIELD(ULONG64, 40) = (ULONG64)&PsLoadedModuleList;
    FIELD(ULONG64, 48) = (ULONG64)KdDebuggerDataBlock - 16; /* the list's head lies before the block */
    return 0;
}

static void Reboot(void)
{
    struct __attribute__((packed)) { USHORT Limit; ULONG64 Base; } nothing = {0, 0};
    outb(0xCF9, 6);
    outb(0x64, 0xFE);
    __asm__ volatile("lidt %0; int3" ::"m"(nothing));
}

/* Carries out one request; returns the size of the reply's data, or -1 when the processor goes on. */
static int Perform(TRAP *trap)
{
    CONTEXT context;
    STATUS = 0;
    switch (API) {
    case 0x3130: return (int)ReadMemory(0);
    case 0x3131: return (int)WriteMemory(0);
    case 0x313D: return (int)ReadMemory(1);
    case 0x313E: return (int)WriteMemory(1);
    case 0x3132:
        KdpContextFromTrap(trap, &context);
        memcpy(DATA, &context, sizeof context);
        return sizeof context;
    case 0x3133:
        memcpy(&context, DATA, sizeof context);
        KdpContextToTrap(&context, trap);
        return 0;
    case 0x315F: return (int)ContextPart(trap, 0);
    case 0x3160: return (int)ContextPart(trap, 1);
    case 0x3134:
        COUNT = KdpWriteBreakpoint(ADDRESS);
        return COUNT ? 0 : (int)Fail();
    case 0x3135: return KdpRestoreBreakpoint(FIELD(ULONG, 16)) ? 0 : (int)Fail();
    case 0x314A: KdpClearBreakpoints(); return 0;
    case 0x3137: return (int)ControlSpace();
    case 0x3138: ACTUAL = COUNT; return 0;
    case 0x3139: return (int)Port(0);
    case 0x313A: return (int)Port(1);
    case 0x3152: {
        ULONG64 value = read_msr(FIELD(ULONG, 16));
        FIELD(ULONG, 20) = (ULONG)value, FIELD(ULONG, 24) = (ULONG)(value >> 32);
        return 0;
    }
    case 0x3153: write_msr(FIELD(ULONG, 16), FIELD(ULONG, 20) | (ULONG64)FIELD(ULONG, 24) << 32); return 0;
    case 0x3156: return (int)SearchMemory();
    case 0x3157: return (int)BusData();
    case 0x3159: return 0;
    case 0x315C: FIELD(ULONG, 32) = 2, FIELD(ULONG, 36) = 7; return 0;
    case 0x3146: return (int)Version();
    case 0x3136: trap->EFlags &= ~TRAP_FLAG, KdpHandled = FIELD(ULONG, 16) != 0x80010001; return -1;
    case 0x313C:
        KdpHandled = FIELD(ULONG, 16) != 0x80010001; /* DBG_EXCEPTION_NOT_HANDLED */
        KdpDebugControl = FIELD(ULONG64, 24);
        if (FIELD(ULONG, 20))
            trap->EFlags |= TRAP_FLAG;
        else
            trap->EFlags &= ~TRAP_FLAG;
        return -1;
    case 0x313B: Reboot(); return -1;
    case 0x3149: KeBugCheckEx(FIELD(ULONG, 16), 0, 0, 0, 0);
    default: return (int)Fail();
    }
}

int KdpConverse(TRAP *trap, const VOID *state, ULONG size, const VOID *data, ULONG data_size)
{
    for (;;) {
        int again = 0;
        if (!KdpSend(PACKET_STATE_CHANGE64, state, size, data, data_size, 4))
            return 0;
        while (!again) {
            KD_RECEIVED received = KdpReceive(WAIT_FOR_REQUEST);
            int reply;
            if (received == KdReset)
                again = 1; /* a new debugger: tell it where we are */
            if (received != KdData || KdpPayloadType != PACKET_STATE_MANIPULATE)
                continue;
            reply = Perform(trap);
            if (reply < 0)
                return KdpHandled;
            KdpSend(PACKET_STATE_MANIPULATE, KdpPayload, MANIPULATE_SIZE, DATA, (ULONG)reply, 4);
        }
    }
}
