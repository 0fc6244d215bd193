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

/* What the trap stubs push. */
typedef struct _TRAP {
    ULONG64 R15, R14, R13, R12, R11, R10, R9, R8, Rdi, Rsi, Rbp, Rbx, Rdx, Rcx, Rax, Vector, Error, Rip, Cs, EFlags, Rsp, Ss;
} TRAP;

typedef struct _EXCEPTION {
    ULONG Code, Flags;
    ULONG64 Address;
    ULONG Count;
    ULONG64 Information[2];
} EXCEPTION;

/* ke */
extern KPCR KiInitialPcr;
extern volatile ULONG64 KeTickCount;
extern PKPRCB KiProcessorBlock[64];
extern ULONG64 KiBugCheckData[5];
void KiInitializeProcessor(void);
void KiTrap(TRAP *trap);
__attribute__((noreturn)) void KeBugCheckEx(ULONG code, ULONG64 p1, ULONG64 p2, ULONG64 p3, ULONG64 p4);
void KiIdleLoop(void);
void KiYield(void);
PETHREAD PsCreateSystemThread(PEPROCESS process, void (*start)(PVOID), PVOID argument);
static inline PKPRCB KeGetCurrentPrcb(void) { PKPRCB value; __asm__("movq %%gs:0x20, %0" : "=r"(value)); return value; }

/* mm */
int MmIsAddressValid(ULONG64 address);
ULONG MmCopy(UCHAR *buffer, ULONG64 address, ULONG size, int write);
ULONG MmCopyPhysical(UCHAR *buffer, ULONG64 address, ULONG size, int write);

/* ps, ldr */
extern LIST_ENTRY PsActiveProcessHead, PsLoadedModuleList;
extern PEPROCESS PsInitialSystemProcess;
extern BOOT_PARAMETERS *KiBootParameters;
void PsInitialize(void);
PEPROCESS PsCreateProcess(const CHAR *name, ULONG64 id, ULONG64 parent);
void LdrInitialize(void);
int LdrLoadDriver(const CHAR *name);
int LdrUnloadDriver(const CHAR *name);

/* io */
void SerialInitialize(USHORT port);
int SerialTryRead(USHORT port);
int SerialRead(USHORT port, ULONG spins);
void SerialWrite(USHORT port, const VOID *data, ULONG size);
void MailboxPoll(void);
void MailboxPrint(const CHAR *format, ...);

/* kd */
extern UCHAR KdDebuggerEnabled, KdDebuggerNotPresent;
extern UCHAR KdDebuggerDataBlock[];
void KdInitSystem(void);
int KdTrap(TRAP *trap, EXCEPTION *exception);
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
