/* What the target says by itself: stops, images, prints, questions. */
#include "kd.h"

#define EXCEPTION_STATE 0x3030
#define LOAD_SYMBOLS_STATE 0x3031
#define PRINT_STRING 0x3230
#define GET_STRING 0x3231
#define MAX_TEXT 512

typedef struct __attribute__((packed)) _STATE {
    ULONG NewState;
    USHORT Level, Processor;
    ULONG Processors, Pad;
    ULONG64 Thread, ProgramCounter;
    union {
        struct {
            ULONG Code, Flags;
            ULONG64 Record, Address;
            ULONG Count, Pad2;
            ULONG64 Information[15];
            ULONG FirstChance, Pad3;
        } Exception;
        struct {
            ULONG PathLength, Pad2;
            ULONG64 Base, Process;
            ULONG CheckSum, Size;
            UCHAR Unload;
        } Image;
        UCHAR Any[160];
    };
    ULONG64 Dr6, Dr7;
    ULONG EFlags;
    USHORT InstructionCount, ReportFlags;
    UCHAR Instructions[16];
    USHORT SegCs, SegDs, SegEs, SegFs;
} STATE;
_Static_assert(sizeof(STATE) == 240, "state change");

UCHAR KdDebuggerEnabled = 1, KdDebuggerNotPresent;
static int InDebugger;

static void Fill(STATE *state, const TRAP *trap, ULONG kind)
{
    memset(state, 0, sizeof *state);
    state->NewState = kind;
    state->Processors = 1;
    state->Thread = (ULONG64)KeGetCurrentPrcb()->CurrentThread;
    state->ProgramCounter = trap->Rip;
    KdpRemoveNear(trap->Rip);
    state->Dr6 = 0xFFFF0FF0;
    state->Dr7 = KdpDebugControl;
    state->EFlags = (ULONG)trap->EFlags;
    state->InstructionCount = (USHORT)MmCopy(state->Instructions, trap->Rip, sizeof state->Instructions, 0);
    state->ReportFlags = 3;
    state->SegCs = (USHORT)trap->Cs;
    state->SegDs = state->SegEs = 0x2B;
    state->SegFs = 0x53;
}

/* Returns whether a debugger has dealt with the exception. */
int KdTrap(TRAP *trap, EXCEPTION *exception)
{
    STATE state;
    int handled;
    if (InDebugger || !KdDebuggerEnabled)
        return 0;
    InDebugger = 1;
    Fill(&state, trap, EXCEPTION_STATE);
    state.Exception.Code = exception->Code;
    state.Exception.Address = exception->Address;
    state.Exception.Count = exception->Count;
    memcpy(state.Exception.Information, exception->Information, sizeof exception->Information);
    state.Exception.FirstChance = 1;
    KiInitialPcr.Prcb.ProcessorState.SpecialRegisters.Cr3 = read_cr3();
    KdpContextFromTrap(trap, &KiInitialPcr.Prcb.ProcessorState.ContextFrame);
    handled = KdpConverse(trap, &state, sizeof state, NULL, 0);
    InDebugger = 0;
    return handled;
}

void KdReportImage(PKLDR_DATA_TABLE_ENTRY entry, int unload)
{
    STATE state;
    TRAP trap = {0};
    CHAR path[80];
    ULONG length = entry->FullDllName.Length / 2;
    if (KdDebuggerNotPresent)
        return;
    for (ULONG at = 0; at < length; at++)
        path[at] = (CHAR)entry->FullDllName.Buffer[at];
    path[length] = 0;
    trap.Rip = (ULONG64)__builtin_return_address(0);
    trap.Rsp = (ULONG64)__builtin_frame_address(0);
    trap.Cs = 0x10, trap.Ss = 0x18, trap.EFlags = 0x202;
    Fill(&state, &trap, LOAD_SYMBOLS_STATE);
    state.Image.PathLength = length + 1;
    state.Image.Base = (ULONG64)entry->DllBase;
    state.Image.Size = entry->SizeOfImage;
    state.Image.CheckSum = entry->CheckSum;
    state.Image.Unload = (UCHAR)unload;
    __asm__ volatile("cli");
    InDebugger = 1;
    KdpConverse(&trap, &state, sizeof state, path, length + 1);
    InDebugger = 0;
    __asm__ volatile("sti");
}

void KdPollBreakIn(void)
{
    if (!InDebugger && SerialTryRead(COM1) == BREAK_IN)
        DbgBreakPointWithStatus(1);
}

ULONG DbgPrint(const CHAR *format, ...)
{
    CHAR text[MAX_TEXT];
    ULONG head[4] = {PRINT_STRING, 0, 0, 0};
    __builtin_va_list arguments;
    ULONG64 flags;
    __builtin_va_start(arguments, format);
    head[2] = FormatText(text, sizeof text, format, arguments);
    __builtin_va_end(arguments);
    if (KdDebuggerNotPresent || InDebugger)
        return 0;
    __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags));
    InDebugger = 1;
    KdpSend(PACKET_DEBUG_IO, head, sizeof head, text, head[2], 2);
    InDebugger = 0;
    __asm__ volatile("pushq %0; popfq" ::"r"(flags));
    return head[2];
}

ULONG DbgPrompt(const CHAR *question, CHAR *answer, ULONG limit)
{
    ULONG head[4] = {GET_STRING, 0, 0, limit}, length = 0;
    ULONG64 flags;
    while (question[head[2]])
        head[2]++;
    __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags));
    InDebugger = 1;
    if (KdpSend(PACKET_DEBUG_IO, head, sizeof head, question, head[2], 2)) {
        while (KdpReceive(50000000) != KdData || KdpPayloadType != PACKET_DEBUG_IO)
            ;
        length = *(ULONG *)(KdpPayload + 12);
        if (length > limit)
            length = limit;
        memcpy(answer, KdpPayload + 16, length);
    }
    InDebugger = 0;
    __asm__ volatile("pushq %0; popfq" ::"r"(flags));
    return length;
}

__attribute__((noinline)) void DbgBreakPointWithStatus(ULONG status) { __asm__ volatile("int3; ret" ::"c"(status)); }
