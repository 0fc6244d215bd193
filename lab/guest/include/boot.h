/* What the image's builder (lab/image.py) and the guest agree on. */
#pragma once
#define BOOT_PARAMETERS_PAGE 0x101000
#define BOOT_PAGE_TABLES 0x110000
#define BOOT_CODE 0x100000
#define BOOT_TRAMPOLINE_OFFSET 0x200 /* in the boot code: where the other processors start */
#define BOOT_TRAMPOLINE_SIZE 0x100
#define BOOT_TRAMPOLINE 0x8000 /* where the kernel copies it: they begin in real mode, below one megabyte */
#define BOOT_ENTRY 0
#define BOOT_STACK 8
#define BOOT_SELF 16
#ifndef __ASSEMBLER__
#include "base.h"

#define PHYSICAL_WINDOW 0xFFFF800000000000ULL /* all physical memory, read and write */
#define SHARED_DATA 0xFFFFF78000000000ULL
#define MAX_BOOT_MODULES 8

typedef struct _BOOT_MODULE {
    ULONG64 Base;
    ULONG Size;
    ULONG EntryPoint; /* RVA */
    CHAR Name[48];
} BOOT_MODULE;

typedef struct _BOOT_PARAMETERS {
    ULONG64 Entry, Stack, Self;
    ULONG64 KernelBase;
    ULONG KernelSize, KernelEntryPoint;
    ULONG64 MemorySize;
    ULONG ModuleCount, Seed;
    BOOT_MODULE Modules[MAX_BOOT_MODULES]; /* drivers, not loaded yet */
} BOOT_PARAMETERS;
#endif
