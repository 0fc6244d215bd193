/* What the target says by itself: stops, images, prints, questions. */
#include "kd.h"

#define EXCEPTION_STATE 0x3030
#define LOAD_SYMBOLS_STATE 0x3031
#define PRINT_STRING 0x3230
#define GET_STRING 0x3231
#define MAX_TEXT 512
#define SERVICE_LOAD_SYMBOLS 3
#define SERVICE_UNLOAD_SYMBOLS 4

extern void DebugService2(const VOID *argument, const VOID *other, ULONG service);

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

/* What every state change tells: where this processor stands, and how many there are. */
static void Fill(STATE *state, ULONG kind)
{
    PKPRCB prcb = KeGetCurrentPrcb();
    const CONTEXT *context = &prcb->ProcessorState.ContextFrame;
    memset(state, 0, sizeof *state);
    state->NewState = kind;
    state->Processor = (USHORT)prcb->Number;
    state->Processors = KeNumberProcessors;
    state->Thread = (ULONG64)prcb->CurrentThread;
    state->ProgramCounter = context->Rip;
    KdpRemoveNear(context->Rip);
    state->Dr6 = prcb->ProcessorState.SpecialRegisters.KernelDr6;
    state->Dr7 = prcb->ProcessorState.SpecialRegisters.KernelDr7;
    state->EFlags = context->EFlags;
    state->InstructionCount = (USHORT)MmCopy(state->Instructions, context->Rip, sizeof state->Instructions, 0);
    state->ReportFlags = 3;
    state->SegCs = context->SegCs;
    state->SegDs = context->SegDs;
    state->SegEs = context->SegEs;
    state->SegFs = context->SegFs;
}

static void FillException(STATE *state, ULONG code, ULONG64 address)
{
    Fill(state, EXCEPTION_STATE);
    state->Exception.Code = code;
    state->Exception.Address = address;
    state->Exception.FirstChance = 1;
}

/* The owner's side of a stop. Whenever the debugger has looked at another processor and comes back, the stop is told again. */
static KD_CONTINUE Report(const STATE *state, const VOID *data, ULONG size)
{
    KD_CONTINUE answer;
    ULONG next;
    do {
        answer = KdpConverse(state, sizeof *state, data, size, &next);
        if (answer == KdSwitched)
            answer = KeSwitchFrozenProcessor(next);
    } while (answer == KdSwitched);
    return answer;
}

/* Returns whether a debugger has dealt with the exception. */
int KdTrap(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved, const EXCEPTION *exception)
{
    STATE state;
    KD_CONTINUE answer;
    if (KiIsFrozenByMe() || !KdDebuggerEnabled)
        return 0;
    KeFreezeExecution();
    KiSaveProcessorState(trap, preserved);
    KeGetCurrentPrcb()->ProcessorState.SpecialRegisters.KernelDr6 = exception->Dr6;
    FillException(&state, exception->Code, exception->Address);
    state.Exception.Count = exception->Count;
    memcpy(state.Exception.Information, exception->Information, sizeof exception->Information);
    answer = Report(&state, NULL, 0);
    KiRestoreProcessorState(trap, preserved);
    KeThawExecution();
    return answer == KdHandled;
}

/* A frozen processor that the debugger has asked for. */
KD_CONTINUE KdReportSwitch(ULONG *next)
{
    STATE state;
    FillException(&state, STATUS_WAKE_SYSTEM_DEBUGGER, KeGetCurrentPrcb()->ProcessorState.ContextFrame.Rip);
    return KdpConverse(&state, sizeof state, NULL, 0, next);
}

static void ReportImage(const KLDR_DATA_TABLE_ENTRY *entry, int unload)
{
    STATE state;
    CHAR path[80];
    ULONG length = entry->FullDllName.Length / 2;
    for (ULONG at = 0; at < length; at++)
        path[at] = (CHAR)entry->FullDllName.Buffer[at];
    path[length] = 0;
    Fill(&state, LOAD_SYMBOLS_STATE);
    state.Image.PathLength = length + 1;
    state.Image.Base = (ULONG64)entry->DllBase;
    state.Image.Size = entry->SizeOfImage;
    state.Image.CheckSum = entry->CheckSum;
    state.Image.Unload = (UCHAR)unload;
    Report(&state, path, length + 1);
}

/* int 2D: the kernel asks its debugger's part for a service. The instruction behind it is an int3, which is skipped. */
void KdDebugService(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved)
{
    ULONG service = (ULONG)trap->Rax;
    if (service == SERVICE_LOAD_SYMBOLS || service == SERVICE_UNLOAD_SYMBOLS) {
        KeFreezeExecution();
        KiSaveProcessorState(trap, preserved);
        ReportImage((PKLDR_DATA_TABLE_ENTRY)trap->Rcx, service == SERVICE_UNLOAD_SYMBOLS);
        KiRestoreProcessorState(trap, preserved);
        KeThawExecution();
    }
    trap->Rip++;
}

void KdReportImage(PKLDR_DATA_TABLE_ENTRY entry, int unload)
{
    if (!KdDebuggerNotPresent)
        DebugService2(entry, NULL, unload ? SERVICE_UNLOAD_SYMBOLS : SERVICE_LOAD_SYMBOLS);
}

/* Looks for the byte by which a debugger asks for a stop. Whoever talks to the debugger owns the line. */
void KdPollBreakIn(void)
{
    int byte = KdpBreakInPending ? BREAK_IN : 0;
    if (!KiTryToOwn())
        return;
    KdpBreakInPending = 0;
    while (byte >= 0 && byte != BREAK_IN)
        byte = SerialTryRead(COM1);
    KiDisown();
    if (byte == BREAK_IN)
        DbgBreakPointWithStatus(1);
}

ULONG DbgPrint(const CHAR *format, ...)
{
    CHAR text[MAX_TEXT];
    ULONG head[4] = {PRINT_STRING, KeGetCurrentPrcb()->Number << 16, 0, 0};
    __builtin_va_list arguments;
    ULONG64 flags;
    __builtin_va_start(arguments, format);
    head[2] = FormatText(text, sizeof text, format, arguments);
    __builtin_va_end(arguments);
    if (KdDebuggerNotPresent || KiIsFrozenByMe())
        return 0;
    flags = KiDisable();
    KeFreezeExecution();
    KdpSend(PACKET_DEBUG_IO, head, sizeof head, text, head[2], 2);
    KeThawExecution();
    KiRestore(flags);
    return head[2];
}

ULONG DbgPrompt(const CHAR *question, CHAR *answer, ULONG limit)
{
    ULONG head[4] = {GET_STRING, KeGetCurrentPrcb()->Number << 16, 0, limit}, length = 0;
    ULONG64 flags = KiDisable();
    while (question[head[2]])
        head[2]++;
    KeFreezeExecution();
    if (KdpSend(PACKET_DEBUG_IO, head, sizeof head, question, head[2], 2)) {
        while (KdpReceive(50000000) != KdData || KdpPayloadType != PACKET_DEBUG_IO)
            ;
        length = *(ULONG *)(KdpPayload + 12);
        if (length > limit)
            length = limit;
        memcpy(answer, KdpPayload + 16, length);
    }
    KeThawExecution();
    KiRestore(flags);
    return length;
}

__attribute__((noinline)) void DbgBreakPointWithStatus(ULONG status) { __asm__ volatile("int3; ret" ::"c"(status)); }
