/* The kernel's parts, as they see one another. */
#pragma once
#include "boot.h"
#include "nt_layouts.h"

#define COM1 0x3F8
#define COM2 0x2F8

#define STATUS_BREAKPOINT 0x80000003
#define STATUS_SINGLE_STEP 0x80000004
#define STATUS_ACCESS_VIOLATION 0xC0000005
#define STATUS_ILLEGAL_INSTRUCTION 0xC000001D
#define STATUS_INTEGER_DIVIDE_BY_ZERO 0xC0000094
#define STATUS_UNSUCCESSFUL 0xC0000001

#define STATUS_WAKE_SYSTEM_DEBUGGER 0x80000007

#define MAX_PROCESSORS 4

/* Segments, as in Windows. */
#define KERNEL_CODE 0x10
#define KERNEL_DATA 0x18
#define USER_CODE32 0x20
#define USER_DATA 0x28
#define USER_CODE 0x30
#define USER_TEB32 0x50

/* Vectors, likewise. */
#define NMI_VECTOR 2
#define DEBUG_SERVICE_VECTOR 0x2D
#define TIMER_VECTOR 0xD1
#define IPI_VECTOR 0xE1

#define TRAP_FLAG 0x100ULL

/* Where _KTHREAD.KernelStack points when the thread does not run. */
typedef struct _KSWITCH_FRAME {
    ULONG64 P1Home, P2Home, P3Home, P4Home, P5Home;
    ULONG MxCsr;
    UCHAR ApcBypass, Fill[3];
    ULONG64 Rbp, Return;
} KSWITCH_FRAME, *PKSWITCH_FRAME;

/* How a processor leaves the debugger. */
typedef enum _KD_CONTINUE { KdHandled, KdNotHandled, KdSwitched } KD_CONTINUE;

typedef struct _EXCEPTION {
    ULONG Code, Flags;
    ULONG64 Address;
    ULONG Count;
    ULONG64 Information[2];
    ULONG64 Dr6; /* what the debug registers had to do with it */
} EXCEPTION;

/* ke */
extern volatile ULONG64 KeTickCount;
extern ULONG KeNumberProcessors, NtBuildNumber;
extern PKPRCB KiProcessorBlock[64];
extern ULONG64 KiBugCheckData[5];
void KiInitializeProcessor(ULONG number);
void KiInitializeInterrupts(void);
void KiStartProcessors(void);
void KiSystemStartupSecondary(void);
void KiEndOfInterrupt(void);
ULONG KiApicId(void);
void KiSendNmi(ULONG processor);
void KiSendInterrupt(ULONG processor);
void KeFreezeExecution(void);
void KeThawExecution(void);
int KiIsFrozenByMe(void);
int KiTryToOwn(void);
void KiDisown(void);
KD_CONTINUE KeSwitchFrozenProcessor(ULONG number);
void KiFreezeTarget(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved);
void KiSaveProcessorState(const KTRAP_FRAME *trap, const KEXCEPTION_FRAME *preserved);
void KiRestoreProcessorState(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved);
void KiTrap(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved, ULONG vector);
__attribute__((noreturn)) void KeBugCheckEx(ULONG code, ULONG64 p1, ULONG64 p2, ULONG64 p3, ULONG64 p4);
__attribute__((noreturn)) void KiIdleLoop(void);
static inline PKPRCB KeGetCurrentPrcb(void) { PKPRCB value; __asm__ volatile("movq %%gs:0x20, %0" : "=r"(value)); return value; }
static inline ULONG64 KiDisable(void) { ULONG64 flags; __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags)::"memory"); return flags; }
static inline void KiRestore(ULONG64 flags) { __asm__ volatile("pushq %0; popfq" ::"r"(flags) : "memory"); }

/* mm */
ULONG64 MmPhysicalAddress(ULONG64 address);
int MmIsAddressValid(ULONG64 address);
ULONG MmCopy(UCHAR *buffer, ULONG64 address, ULONG size, int write);
ULONG MmCopyPhysical(UCHAR *buffer, ULONG64 address, ULONG size, int write);

/* ps, ldr */
extern LIST_ENTRY PsActiveProcessHead, PsLoadedModuleList;
extern PEPROCESS PsInitialSystemProcess;
extern BOOT_PARAMETERS *KiBootParameters;
void PsInitialize(void);
PETHREAD PsCreateIdleThread(ULONG processor);
PETHREAD PsIdleThread(ULONG processor);
PETHREAD PsCreateSystemThread(PEPROCESS process, void (*start)(PVOID), PVOID argument);
void KiYield(void);
void KiReleaseDispatcherLock(void);
PEPROCESS PsCreateProcess(const CHAR *name, ULONG64 id, ULONG64 parent);
void LdrInitialize(void);
int LdrLoadDriver(const CHAR *name);
int LdrUnloadDriver(const CHAR *name);

/* io */
ULONG FirmwareProcessors(void);
int FirmwareWrite(const CHAR *name, const VOID *data, ULONG size);
void IoInitializeDump(void);
void SerialInitialize(USHORT port);
int SerialTryRead(USHORT port);
int SerialRead(USHORT port, ULONG spins);
void SerialWrite(USHORT port, const VOID *data, ULONG size);
void MailboxPoll(ULONG processor);
void MailboxPrint(const CHAR *format, ...);

/* kd */
extern UCHAR KdDebuggerEnabled, KdDebuggerNotPresent;
extern UCHAR KdDebuggerDataBlock[];
void KdInitSystem(void);
int KdTrap(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved, const EXCEPTION *exception);
KD_CONTINUE KdReportSwitch(ULONG *next);
void KdDebugService(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved);
void KdPollBreakIn(void);
void KdReportImage(PKLDR_DATA_TABLE_ENTRY entry, int unload);
ULONG DbgPrint(const CHAR *format, ...);
ULONG DbgPrompt(const CHAR *question, CHAR *answer, ULONG limit);
void DbgBreakPointWithStatus(ULONG status);

/* text */
ULONG FormatText(CHAR *buffer, ULONG size, const CHAR *format, __builtin_va_list arguments);
int TextEqual(const CHAR *one, const CHAR *other);
void *memcpy(void *to, const void *from, ULONG64 size);
void *memset(void *to, int value, ULONG64 size);
