/* Made by lab/tools/layouts.py: offsets and sizes of Windows 10 19041. */
#pragma once
#include "base.h"
#pragma pack(push, 1)

typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY *Flink;
    struct _LIST_ENTRY *Blink;
} LIST_ENTRY, *PLIST_ENTRY;
_Static_assert(__builtin_offsetof(struct _LIST_ENTRY, Flink) == 0x0, "Flink");
_Static_assert(__builtin_offsetof(struct _LIST_ENTRY, Blink) == 0x8, "Blink");
_Static_assert(sizeof(struct _LIST_ENTRY) == 0x10, "_LIST_ENTRY");

typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    UCHAR Fill4[4];
    WCHAR *Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
_Static_assert(__builtin_offsetof(struct _UNICODE_STRING, Length) == 0x0, "Length");
_Static_assert(__builtin_offsetof(struct _UNICODE_STRING, MaximumLength) == 0x2, "MaximumLength");
_Static_assert(__builtin_offsetof(struct _UNICODE_STRING, Buffer) == 0x8, "Buffer");
_Static_assert(sizeof(struct _UNICODE_STRING) == 0x10, "_UNICODE_STRING");

typedef struct _CLIENT_ID {
    VOID *UniqueProcess;
    VOID *UniqueThread;
} CLIENT_ID, *PCLIENT_ID;
_Static_assert(__builtin_offsetof(struct _CLIENT_ID, UniqueProcess) == 0x0, "UniqueProcess");
_Static_assert(__builtin_offsetof(struct _CLIENT_ID, UniqueThread) == 0x8, "UniqueThread");
_Static_assert(sizeof(struct _CLIENT_ID) == 0x10, "_CLIENT_ID");

typedef struct _LARGE_INTEGER {
    LONG64 QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;
_Static_assert(__builtin_offsetof(struct _LARGE_INTEGER, QuadPart) == 0x0, "QuadPart");
_Static_assert(sizeof(struct _LARGE_INTEGER) == 0x8, "_LARGE_INTEGER");

typedef struct _DISPATCHER_HEADER {
    UCHAR Type;
    UCHAR Fill1[1];
    UCHAR Size;
    UCHAR Fill3[1];
    LONG SignalState;
    struct _LIST_ENTRY WaitListHead;
} DISPATCHER_HEADER, *PDISPATCHER_HEADER;
_Static_assert(__builtin_offsetof(struct _DISPATCHER_HEADER, Type) == 0x0, "Type");
_Static_assert(__builtin_offsetof(struct _DISPATCHER_HEADER, Size) == 0x2, "Size");
_Static_assert(__builtin_offsetof(struct _DISPATCHER_HEADER, SignalState) == 0x4, "SignalState");
_Static_assert(__builtin_offsetof(struct _DISPATCHER_HEADER, WaitListHead) == 0x8, "WaitListHead");
_Static_assert(sizeof(struct _DISPATCHER_HEADER) == 0x18, "_DISPATCHER_HEADER");

typedef struct _KPROCESS {
    struct _DISPATCHER_HEADER Header;
    struct _LIST_ENTRY ProfileListHead;
    ULONG64 DirectoryTableBase;
    struct _LIST_ENTRY ThreadListHead;
    UCHAR Fill40[1016];
} KPROCESS, *PKPROCESS;
_Static_assert(__builtin_offsetof(struct _KPROCESS, Header) == 0x0, "Header");
_Static_assert(__builtin_offsetof(struct _KPROCESS, ProfileListHead) == 0x18, "ProfileListHead");
_Static_assert(__builtin_offsetof(struct _KPROCESS, DirectoryTableBase) == 0x28, "DirectoryTableBase");
_Static_assert(__builtin_offsetof(struct _KPROCESS, ThreadListHead) == 0x30, "ThreadListHead");
_Static_assert(sizeof(struct _KPROCESS) == 0x438, "_KPROCESS");

typedef struct _EPROCESS {
    struct _KPROCESS Pcb;
    UCHAR Fill438[8];
    VOID *UniqueProcessId;
    struct _LIST_ENTRY ActiveProcessLinks;
    UCHAR Fill458[16];
    struct _LARGE_INTEGER CreateTime;
    UCHAR Fill470[208];
    VOID *InheritedFromUniqueProcessId;
    UCHAR Fill548[8];
    PVOID Peb;
    UCHAR Fill558[24];
    PVOID ObjectTable;
    UCHAR Fill578[48];
    UCHAR ImageFileName[15];
    UCHAR PriorityClass;
    UCHAR Fill5b8[40];
    struct _LIST_ENTRY ThreadListHead;
    ULONG ActiveThreads;
    UCHAR Fill5f4[480];
    LONG ExitStatus;
    UCHAR Fill7d8[616];
} EPROCESS, *PEPROCESS;
_Static_assert(__builtin_offsetof(struct _EPROCESS, Pcb) == 0x0, "Pcb");
_Static_assert(__builtin_offsetof(struct _EPROCESS, UniqueProcessId) == 0x440, "UniqueProcessId");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ActiveProcessLinks) == 0x448, "ActiveProcessLinks");
_Static_assert(__builtin_offsetof(struct _EPROCESS, CreateTime) == 0x468, "CreateTime");
_Static_assert(__builtin_offsetof(struct _EPROCESS, InheritedFromUniqueProcessId) == 0x540, "InheritedFromUniqueProcessId");
_Static_assert(__builtin_offsetof(struct _EPROCESS, Peb) == 0x550, "Peb");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ObjectTable) == 0x570, "ObjectTable");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ImageFileName) == 0x5a8, "ImageFileName");
_Static_assert(__builtin_offsetof(struct _EPROCESS, PriorityClass) == 0x5b7, "PriorityClass");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ThreadListHead) == 0x5e0, "ThreadListHead");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ActiveThreads) == 0x5f0, "ActiveThreads");
_Static_assert(__builtin_offsetof(struct _EPROCESS, ExitStatus) == 0x7d4, "ExitStatus");
_Static_assert(sizeof(struct _EPROCESS) == 0xa40, "_EPROCESS");

typedef struct _KAPC_STATE {
    struct _LIST_ENTRY ApcListHead[2];
    struct _KPROCESS *Process;
    UCHAR Fill28[8];
} KAPC_STATE, *PKAPC_STATE;
_Static_assert(__builtin_offsetof(struct _KAPC_STATE, ApcListHead) == 0x0, "ApcListHead");
_Static_assert(__builtin_offsetof(struct _KAPC_STATE, Process) == 0x20, "Process");
_Static_assert(sizeof(struct _KAPC_STATE) == 0x30, "_KAPC_STATE");

typedef struct _KTHREAD {
    struct _DISPATCHER_HEADER Header;
    UCHAR Fill18[16];
    VOID *InitialStack;
    VOID *StackLimit;
    VOID *StackBase;
    UCHAR Fill40[24];
    VOID *KernelStack;
    UCHAR Fill60[48];
    PVOID TrapFrame;
    struct _KAPC_STATE ApcState;
    UCHAR Fillc8[40];
    VOID *Teb;
    UCHAR Fillf8[140];
    UCHAR State;
    UCHAR Fill185[155];
    struct _KPROCESS *Process;
    UCHAR Fill228[91];
    UCHAR WaitReason;
    UCHAR Fill284[116];
    struct _LIST_ENTRY ThreadListEntry;
    UCHAR Fill308[296];
} KTHREAD, *PKTHREAD;
_Static_assert(__builtin_offsetof(struct _KTHREAD, Header) == 0x0, "Header");
_Static_assert(__builtin_offsetof(struct _KTHREAD, InitialStack) == 0x28, "InitialStack");
_Static_assert(__builtin_offsetof(struct _KTHREAD, StackLimit) == 0x30, "StackLimit");
_Static_assert(__builtin_offsetof(struct _KTHREAD, StackBase) == 0x38, "StackBase");
_Static_assert(__builtin_offsetof(struct _KTHREAD, KernelStack) == 0x58, "KernelStack");
_Static_assert(__builtin_offsetof(struct _KTHREAD, TrapFrame) == 0x90, "TrapFrame");
_Static_assert(__builtin_offsetof(struct _KTHREAD, ApcState) == 0x98, "ApcState");
_Static_assert(__builtin_offsetof(struct _KTHREAD, Teb) == 0xf0, "Teb");
_Static_assert(__builtin_offsetof(struct _KTHREAD, State) == 0x184, "State");
_Static_assert(__builtin_offsetof(struct _KTHREAD, Process) == 0x220, "Process");
_Static_assert(__builtin_offsetof(struct _KTHREAD, WaitReason) == 0x283, "WaitReason");
_Static_assert(__builtin_offsetof(struct _KTHREAD, ThreadListEntry) == 0x2f8, "ThreadListEntry");
_Static_assert(sizeof(struct _KTHREAD) == 0x430, "_KTHREAD");

typedef struct _ETHREAD {
    struct _KTHREAD Tcb;
    struct _LARGE_INTEGER CreateTime;
    UCHAR Fill438[24];
    VOID *StartAddress;
    UCHAR Fill458[32];
    struct _CLIENT_ID Cid;
    UCHAR Fill488[72];
    VOID *Win32StartAddress;
    UCHAR Fill4d8[16];
    struct _LIST_ENTRY ThreadListEntry;
    UCHAR Fill4f8[928];
} ETHREAD, *PETHREAD;
_Static_assert(__builtin_offsetof(struct _ETHREAD, Tcb) == 0x0, "Tcb");
_Static_assert(__builtin_offsetof(struct _ETHREAD, CreateTime) == 0x430, "CreateTime");
_Static_assert(__builtin_offsetof(struct _ETHREAD, StartAddress) == 0x450, "StartAddress");
_Static_assert(__builtin_offsetof(struct _ETHREAD, Cid) == 0x478, "Cid");
_Static_assert(__builtin_offsetof(struct _ETHREAD, Win32StartAddress) == 0x4d0, "Win32StartAddress");
_Static_assert(__builtin_offsetof(struct _ETHREAD, ThreadListEntry) == 0x4e8, "ThreadListEntry");
_Static_assert(sizeof(struct _ETHREAD) == 0x898, "_ETHREAD");

typedef struct _KDESCRIPTOR {
    UCHAR Fill0[6];
    USHORT Limit;
    VOID *Base;
} KDESCRIPTOR, *PKDESCRIPTOR;
_Static_assert(__builtin_offsetof(struct _KDESCRIPTOR, Limit) == 0x6, "Limit");
_Static_assert(__builtin_offsetof(struct _KDESCRIPTOR, Base) == 0x8, "Base");
_Static_assert(sizeof(struct _KDESCRIPTOR) == 0x10, "_KDESCRIPTOR");

typedef struct _KSPECIAL_REGISTERS {
    ULONG64 Cr0;
    ULONG64 Cr2;
    ULONG64 Cr3;
    ULONG64 Cr4;
    ULONG64 KernelDr0;
    ULONG64 KernelDr1;
    ULONG64 KernelDr2;
    ULONG64 KernelDr3;
    ULONG64 KernelDr6;
    ULONG64 KernelDr7;
    struct _KDESCRIPTOR Gdtr;
    struct _KDESCRIPTOR Idtr;
    USHORT Tr;
    USHORT Ldtr;
    ULONG MxCsr;
    UCHAR Fill78[40];
    ULONG64 Cr8;
    ULONG64 MsrGsBase;
    ULONG64 MsrGsSwap;
    ULONG64 MsrStar;
    ULONG64 MsrLStar;
    UCHAR Fillc8[40];
} KSPECIAL_REGISTERS, *PKSPECIAL_REGISTERS;
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Cr0) == 0x0, "Cr0");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Cr2) == 0x8, "Cr2");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Cr3) == 0x10, "Cr3");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Cr4) == 0x18, "Cr4");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr0) == 0x20, "KernelDr0");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr1) == 0x28, "KernelDr1");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr2) == 0x30, "KernelDr2");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr3) == 0x38, "KernelDr3");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr6) == 0x40, "KernelDr6");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, KernelDr7) == 0x48, "KernelDr7");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Gdtr) == 0x50, "Gdtr");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Idtr) == 0x60, "Idtr");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Tr) == 0x70, "Tr");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Ldtr) == 0x72, "Ldtr");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, MxCsr) == 0x74, "MxCsr");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, Cr8) == 0xa0, "Cr8");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, MsrGsBase) == 0xa8, "MsrGsBase");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, MsrGsSwap) == 0xb0, "MsrGsSwap");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, MsrStar) == 0xb8, "MsrStar");
_Static_assert(__builtin_offsetof(struct _KSPECIAL_REGISTERS, MsrLStar) == 0xc0, "MsrLStar");
_Static_assert(sizeof(struct _KSPECIAL_REGISTERS) == 0xf0, "_KSPECIAL_REGISTERS");

typedef struct _CONTEXT {
    UCHAR Fill0[48];
    ULONG ContextFlags;
    ULONG MxCsr;
    USHORT SegCs;
    USHORT SegDs;
    USHORT SegEs;
    USHORT SegFs;
    USHORT SegGs;
    USHORT SegSs;
    ULONG EFlags;
    ULONG64 Dr0;
    ULONG64 Dr1;
    ULONG64 Dr2;
    ULONG64 Dr3;
    ULONG64 Dr6;
    ULONG64 Dr7;
    ULONG64 Rax;
    ULONG64 Rcx;
    ULONG64 Rdx;
    ULONG64 Rbx;
    ULONG64 Rsp;
    ULONG64 Rbp;
    ULONG64 Rsi;
    ULONG64 Rdi;
    ULONG64 R8;
    ULONG64 R9;
    ULONG64 R10;
    ULONG64 R11;
    ULONG64 R12;
    ULONG64 R13;
    ULONG64 R14;
    ULONG64 R15;
    ULONG64 Rip;
    UCHAR Fill100[976];
} CONTEXT, *PCONTEXT;
_Static_assert(__builtin_offsetof(struct _CONTEXT, ContextFlags) == 0x30, "ContextFlags");
_Static_assert(__builtin_offsetof(struct _CONTEXT, MxCsr) == 0x34, "MxCsr");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegCs) == 0x38, "SegCs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegDs) == 0x3a, "SegDs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegEs) == 0x3c, "SegEs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegFs) == 0x3e, "SegFs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegGs) == 0x40, "SegGs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, SegSs) == 0x42, "SegSs");
_Static_assert(__builtin_offsetof(struct _CONTEXT, EFlags) == 0x44, "EFlags");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr0) == 0x48, "Dr0");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr1) == 0x50, "Dr1");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr2) == 0x58, "Dr2");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr3) == 0x60, "Dr3");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr6) == 0x68, "Dr6");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Dr7) == 0x70, "Dr7");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rax) == 0x78, "Rax");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rcx) == 0x80, "Rcx");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rdx) == 0x88, "Rdx");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rbx) == 0x90, "Rbx");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rsp) == 0x98, "Rsp");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rbp) == 0xa0, "Rbp");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rsi) == 0xa8, "Rsi");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rdi) == 0xb0, "Rdi");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R8) == 0xb8, "R8");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R9) == 0xc0, "R9");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R10) == 0xc8, "R10");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R11) == 0xd0, "R11");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R12) == 0xd8, "R12");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R13) == 0xe0, "R13");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R14) == 0xe8, "R14");
_Static_assert(__builtin_offsetof(struct _CONTEXT, R15) == 0xf0, "R15");
_Static_assert(__builtin_offsetof(struct _CONTEXT, Rip) == 0xf8, "Rip");
_Static_assert(sizeof(struct _CONTEXT) == 0x4d0, "_CONTEXT");

typedef struct _KPROCESSOR_STATE {
    struct _KSPECIAL_REGISTERS SpecialRegisters;
    struct _CONTEXT ContextFrame;
} KPROCESSOR_STATE, *PKPROCESSOR_STATE;
_Static_assert(__builtin_offsetof(struct _KPROCESSOR_STATE, SpecialRegisters) == 0x0, "SpecialRegisters");
_Static_assert(__builtin_offsetof(struct _KPROCESSOR_STATE, ContextFrame) == 0xf0, "ContextFrame");
_Static_assert(sizeof(struct _KPROCESSOR_STATE) == 0x5c0, "_KPROCESSOR_STATE");

typedef struct _KPRCB {
    ULONG MxCsr;
    UCHAR Fill4[4];
    struct _KTHREAD *CurrentThread;
    struct _KTHREAD *NextThread;
    struct _KTHREAD *IdleThread;
    UCHAR Fill20[4];
    ULONG Number;
    UCHAR Fill28[216];
    struct _KPROCESSOR_STATE ProcessorState;
    UCHAR Fill6c0[32512];
    struct _CONTEXT *Context;
    UCHAR Fill85c8[10552];
} KPRCB, *PKPRCB;
_Static_assert(__builtin_offsetof(struct _KPRCB, MxCsr) == 0x0, "MxCsr");
_Static_assert(__builtin_offsetof(struct _KPRCB, CurrentThread) == 0x8, "CurrentThread");
_Static_assert(__builtin_offsetof(struct _KPRCB, NextThread) == 0x10, "NextThread");
_Static_assert(__builtin_offsetof(struct _KPRCB, IdleThread) == 0x18, "IdleThread");
_Static_assert(__builtin_offsetof(struct _KPRCB, Number) == 0x24, "Number");
_Static_assert(__builtin_offsetof(struct _KPRCB, ProcessorState) == 0x100, "ProcessorState");
_Static_assert(__builtin_offsetof(struct _KPRCB, Context) == 0x85c0, "Context");
_Static_assert(sizeof(struct _KPRCB) == 0xaf00, "_KPRCB");

typedef struct _KPCR {
    PVOID GdtBase;
    PVOID TssBase;
    ULONG64 UserRsp;
    struct _KPCR *Self;
    struct _KPRCB *CurrentPrcb;
    PVOID LockArray;
    UCHAR Fill30[8];
    PVOID IdtBase;
    UCHAR Fill40[16];
    UCHAR Irql;
    UCHAR Fill51[15];
    USHORT MajorVersion;
    USHORT MinorVersion;
    UCHAR Fill64[284];
    struct _KPRCB Prcb;
} KPCR, *PKPCR;
_Static_assert(__builtin_offsetof(struct _KPCR, GdtBase) == 0x0, "GdtBase");
_Static_assert(__builtin_offsetof(struct _KPCR, TssBase) == 0x8, "TssBase");
_Static_assert(__builtin_offsetof(struct _KPCR, UserRsp) == 0x10, "UserRsp");
_Static_assert(__builtin_offsetof(struct _KPCR, Self) == 0x18, "Self");
_Static_assert(__builtin_offsetof(struct _KPCR, CurrentPrcb) == 0x20, "CurrentPrcb");
_Static_assert(__builtin_offsetof(struct _KPCR, LockArray) == 0x28, "LockArray");
_Static_assert(__builtin_offsetof(struct _KPCR, IdtBase) == 0x38, "IdtBase");
_Static_assert(__builtin_offsetof(struct _KPCR, Irql) == 0x50, "Irql");
_Static_assert(__builtin_offsetof(struct _KPCR, MajorVersion) == 0x60, "MajorVersion");
_Static_assert(__builtin_offsetof(struct _KPCR, MinorVersion) == 0x62, "MinorVersion");
_Static_assert(__builtin_offsetof(struct _KPCR, Prcb) == 0x180, "Prcb");
_Static_assert(sizeof(struct _KPCR) == 0xb080, "_KPCR");

typedef struct _KLDR_DATA_TABLE_ENTRY {
    struct _LIST_ENTRY InLoadOrderLinks;
    UCHAR Fill10[32];
    VOID *DllBase;
    VOID *EntryPoint;
    ULONG SizeOfImage;
    UCHAR Fill44[4];
    struct _UNICODE_STRING FullDllName;
    struct _UNICODE_STRING BaseDllName;
    ULONG Flags;
    USHORT LoadCount;
    UCHAR Fill6e[10];
    ULONG CheckSum;
    UCHAR Fill7c[32];
    ULONG TimeDateStamp;
} KLDR_DATA_TABLE_ENTRY, *PKLDR_DATA_TABLE_ENTRY;
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, InLoadOrderLinks) == 0x0, "InLoadOrderLinks");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, DllBase) == 0x30, "DllBase");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, EntryPoint) == 0x38, "EntryPoint");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, SizeOfImage) == 0x40, "SizeOfImage");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, FullDllName) == 0x48, "FullDllName");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, BaseDllName) == 0x58, "BaseDllName");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, Flags) == 0x68, "Flags");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, LoadCount) == 0x6c, "LoadCount");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, CheckSum) == 0x78, "CheckSum");
_Static_assert(__builtin_offsetof(struct _KLDR_DATA_TABLE_ENTRY, TimeDateStamp) == 0x9c, "TimeDateStamp");
_Static_assert(sizeof(struct _KLDR_DATA_TABLE_ENTRY) == 0xa0, "_KLDR_DATA_TABLE_ENTRY");

#pragma pack(pop)
