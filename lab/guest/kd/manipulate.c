/* Requests of the debugger while the machine stands still. Each names a processor; registers are that one's, and lie in its
   _KPRCB.ProcessorState: what is written there counts as soon as it runs again. */
#include "kd.h"

#define FIELD(type, offset) (*(type *)(KdpPayload + (offset)))
#define API FIELD(ULONG, 0)
#define PROCESSOR FIELD(USHORT, 6)
#define STATUS FIELD(ULONG, 8)
#define ADDRESS FIELD(ULONG64, 16)
#define COUNT FIELD(ULONG, 24)
#define ACTUAL FIELD(ULONG, 28)
#define DATA (KdpPayload + MANIPULATE_SIZE)
#define ROOM (MAX_PAYLOAD - MANIPULATE_SIZE)
#define WAIT_FOR_REQUEST 50000000
#define CONTROL_PCR 0
#define CONTROL_PRCB 1
#define CONTROL_SPECIAL 2
#define CONTROL_THREAD 3
#define STALE_TAIL 0xD8 /* real kernels have been seen to send this much control space whatever was asked */

#define NT_SUCCESS(status) ((LONG)(status) >= 0)

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

static PKPRCB Prcb(void) { return KiProcessorBlock[PROCESSOR]; }
static KPROCESSOR_STATE *State(void) { return &Prcb()->ProcessorState; }

static ULONG ContextPart(ULONG offset, ULONG size, int write)
{
    UCHAR *context = (UCHAR *)&State()->ContextFrame;
    if (offset > sizeof(CONTEXT) || size > sizeof(CONTEXT) - offset)
        return Fail();
    if (write)
        memcpy(context + offset, DATA, size);
    else
        memcpy(DATA, context + offset, size);
    return write ? 0 : size;
}

static ULONG ReadControlSpace(void)
{
    ULONG64 pointer;
    switch (ADDRESS) {
    case CONTROL_PCR: pointer = (ULONG64)CONTAINING_RECORD(Prcb(), KPCR, Prcb); break;
    case CONTROL_PRCB: pointer = (ULONG64)Prcb(); break;
    case CONTROL_THREAD: pointer = (ULONG64)Prcb()->CurrentThread; break;
    case CONTROL_SPECIAL:
        memset(DATA, 0xEE, STALE_TAIL);
        memcpy(DATA, &State()->SpecialRegisters, COUNT < STALE_TAIL ? COUNT : STALE_TAIL);
        return ACTUAL = STALE_TAIL;
    default: return Fail();
    }
    memcpy(DATA, &pointer, sizeof pointer);
    return ACTUAL = sizeof pointer;
}

static ULONG WriteControlSpace(void)
{
    ULONG size = COUNT < (ULONG)(KdpPayloadSize - MANIPULATE_SIZE) ? COUNT : (ULONG)(KdpPayloadSize - MANIPULATE_SIZE);
    if (ADDRESS != CONTROL_SPECIAL || size > sizeof(KSPECIAL_REGISTERS))
        return Fail();
    memcpy(&State()->SpecialRegisters, DATA, size);
    ACTUAL = size;
    return 0;
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

/* DbgKdContinueApi2: whether to trace is for the processor that reports, what DR7 watches is for all of them. */
static void SetControl(void)
{
    CONTEXT *context = &KeGetCurrentPrcb()->ProcessorState.ContextFrame;
    context->EFlags &= ~(ULONG)TRAP_FLAG;
    if (FIELD(ULONG, 20))
        context->EFlags |= TRAP_FLAG;
    for (ULONG number = 0; number < KeNumberProcessors; number++) {
        KiProcessorBlock[number]->ProcessorState.SpecialRegisters.KernelDr7 = FIELD(ULONG64, 24);
        KiProcessorBlock[number]->ProcessorState.SpecialRegisters.KernelDr6 = 0;
    }
}

/* Carries out one request and returns the size of the reply's data. */
static ULONG Perform(void)
{
    STATUS = 0;
    switch (API) {
    case 0x3130: return ReadMemory(0);
    case 0x3131: return WriteMemory(0);
    case 0x313D: return ReadMemory(1);
    case 0x313E: return WriteMemory(1);
    case 0x3132: return ContextPart(0, sizeof(CONTEXT), 0);
    case 0x3133: return ContextPart(0, sizeof(CONTEXT), 1);
    case 0x315F:
    case 0x3160: {
        ULONG size = FIELD(ULONG, 20), result = ContextPart(FIELD(ULONG, 16), size, API == 0x3160);
        FIELD(ULONG, 24) = size;
        return result;
    }
    case 0x3134:
        COUNT = KdpWriteBreakpoint(ADDRESS);
        return COUNT ? 0 : Fail();
    case 0x3135: return KdpRestoreBreakpoint(FIELD(ULONG, 16)) ? 0 : Fail();
    case 0x314A: KdpClearBreakpoints(); return 0;
    case 0x3137: return ReadControlSpace();
    case 0x3138: return WriteControlSpace();
    case 0x3139: return Port(0);
    case 0x313A: return Port(1);
    case 0x3152: {
        ULONG64 value = read_msr(FIELD(ULONG, 16));
        FIELD(ULONG, 20) = (ULONG)value, FIELD(ULONG, 24) = (ULONG)(value >> 32);
        return 0;
    }
    case 0x3153: write_msr(FIELD(ULONG, 16), FIELD(ULONG, 20) | (ULONG64)FIELD(ULONG, 24) << 32); return 0;
    case 0x3156: return SearchMemory();
    case 0x3157: return BusData();
    case 0x3159: return 0;
    case 0x315C: FIELD(ULONG, 32) = 2, FIELD(ULONG, 36) = 7; return 0;
    case 0x3146: return Version();
    default: return Fail();
    }
}

/* The requests that have no answer: the machine goes on, or another processor talks. */
static int IsLast(KD_CONTINUE *how, ULONG *next)
{
    switch (API) {
    case 0x313C:
        if (NT_SUCCESS(FIELD(ULONG, 16)))
            SetControl();
        /* fall through */
    case 0x3136: *how = NT_SUCCESS(FIELD(ULONG, 16)) ? KdHandled : KdNotHandled; return 1;
    case 0x3150: *how = KdSwitched, *next = PROCESSOR; return 1;
    case 0x313B: Reboot(); return 1;
    case 0x3149: KeBugCheckEx(FIELD(ULONG, 16), 0, 0, 0, 0);
    default: return 0;
    }
}

KD_CONTINUE KdpConverse(const VOID *state, ULONG size, const VOID *data, ULONG data_size, ULONG *next)
{
    for (;;) {
        int again = 0;
        if (!KdpSend(PACKET_STATE_CHANGE64, state, size, data, data_size, 4))
            return KdNotHandled;
        while (!again) {
            KD_RECEIVED received = KdpReceive(WAIT_FOR_REQUEST);
            KD_CONTINUE how = KdNotHandled;
            ULONG reply = 0;
            if (received == KdReset)
                again = 1; /* a new debugger: tell it where we are */
            if (received != KdData || KdpPayloadType != PACKET_STATE_MANIPULATE)
                continue;
            if (PROCESSOR >= KeNumberProcessors)
                Fail();
            else if (IsLast(&how, next))
                return how;
            else
                reply = Perform();
            KdpSend(PACKET_STATE_MANIPULATE, KdpPayload, MANIPULATE_SIZE, DATA, reply, 4);
        }
    }
}
