/* How the machine can be dumped from outside: the header of a crash dump, ready in memory, and its place told to QEMU.

   QEMU's dump-guest-memory (format win-dmp) writes this header, with the bugcheck's numbers from KiBugCheckData, and then
   the pages that it lists; it puts each processor's registers where _KPRCB.Context points. The header travels as the
   contents of an ELF note, as QEMU expects of every guest. */
#include "kernel.h"

#define PATTERN 0x45474150 /* "PAGE": what is not filled in */
#define MAJOR_FREE_BUILD 0xF
#define MACHINE_AMD64 0x8664
#define FULL_DUMP 1
#define LOW_MEMORY_PAGES 0xA0 /* behind them lie devices and the firmware, up to one megabyte */
#define ONE_MEGABYTE_PAGES 0x100
#define FORMAT_ELF 1

typedef struct _DUMP_HEADER {
    ULONG Signature, ValidDump, MajorVersion, MinorVersion;
    ULONG64 DirectoryTableBase, PfnDataBase, PsLoadedModuleList, PsActiveProcessHead;
    ULONG MachineImageType, NumberProcessors;
    ULONG64 BugCheck[5];
    CHAR VersionUser[32];
    ULONG64 KdDebuggerDataBlock;
    struct {
        ULONG NumberOfRuns, Unused;
        ULONG64 NumberOfPages;
        struct { ULONG64 BasePage, PageCount; } Run[43];
    } Memory;
    UCHAR Context[3000];
    UCHAR Exception[152];
    ULONG DumpType, Unused;
    ULONG64 RequiredDumpSpace, SystemTime;
    CHAR Comment[128];
    ULONG64 SystemUpTime;
    UCHAR Rest[4040];
} DUMP_HEADER;
_Static_assert(__builtin_offsetof(DUMP_HEADER, Memory) == 0x88, "Memory");
_Static_assert(__builtin_offsetof(DUMP_HEADER, Context) == 0x348, "Context");
_Static_assert(__builtin_offsetof(DUMP_HEADER, DumpType) == 0xF98, "DumpType");
_Static_assert(sizeof(DUMP_HEADER) == 0x2000, "header");

static struct {
    ULONG NameSize, ContentsSize, Type;
    CHAR Name[12];
    DUMP_HEADER Header;
} Note __attribute__((aligned(4096)));

static struct { USHORT HostFormat, GuestFormat; ULONG Size; ULONG64 Address; } Place;

static void Fill(DUMP_HEADER *header)
{
    ULONG64 pages = KiBootParameters->MemorySize >> 12;
    for (ULONG at = 0; at < sizeof *header / 4; at++)
        ((ULONG *)header)[at] = PATTERN;
    memcpy(&header->ValidDump, "DU64", 4);
    header->MajorVersion = MAJOR_FREE_BUILD;
    header->MinorVersion = NtBuildNumber & 0xFFFF;
    header->DirectoryTableBase = read_cr3();
    header->PsLoadedModuleList = (ULONG64)&PsLoadedModuleList;
    header->PsActiveProcessHead = (ULONG64)&PsActiveProcessHead;
    header->MachineImageType = MACHINE_AMD64;
    header->NumberProcessors = KeNumberProcessors;
    header->KdDebuggerDataBlock = (ULONG64)KdDebuggerDataBlock;
    header->Memory.NumberOfRuns = 2;
    header->Memory.NumberOfPages = LOW_MEMORY_PAGES + pages - ONE_MEGABYTE_PAGES;
    header->Memory.Run[0].BasePage = 0;
    header->Memory.Run[0].PageCount = LOW_MEMORY_PAGES;
    header->Memory.Run[1].BasePage = ONE_MEGABYTE_PAGES;
    header->Memory.Run[1].PageCount = pages - ONE_MEGABYTE_PAGES;
    header->DumpType = FULL_DUMP;
    header->SystemTime = header->SystemUpTime = 0;
}

void IoInitializeDump(void)
{
    Note.NameSize = sizeof "VMCOREINFO";
    Note.ContentsSize = sizeof Note.Header;
    memcpy(Note.Name, "VMCOREINFO", sizeof "VMCOREINFO");
    Fill(&Note.Header);
    Place.GuestFormat = FORMAT_ELF;
    Place.Size = sizeof Note;
    Place.Address = MmPhysicalAddress((ULONG64)&Note);
    FirmwareWrite("etc/vmcoreinfo", &Place, sizeof Place);
}
