/* The list of loaded images, and drivers that come and go. */
#include "kernel.h"

#define MAX_MODULES 16

typedef struct _MODULE {
    KLDR_DATA_TABLE_ENTRY Entry;
    WCHAR Path[64];
    WCHAR Name[32];
    int Used;
} MODULE;

typedef struct _DRIVER_SERVICES {
    ULONG (*Print)(const CHAR *format, ...);
    void (*Break)(ULONG status);
} DRIVER_SERVICES;

LIST_ENTRY PsLoadedModuleList;
static MODULE Modules[MAX_MODULES];
static DRIVER_SERVICES Services = {DbgPrint, DbgBreakPointWithStatus};

static USHORT Widen(WCHAR *to, const CHAR *prefix, const CHAR *name)
{
    USHORT length = 0;
    while (*prefix)
        to[length++] = *prefix++;
    while (*name)
        to[length++] = *name++;
    return length * 2;
}

static PKLDR_DATA_TABLE_ENTRY Insert(const CHAR *prefix, const CHAR *name, ULONG64 base, ULONG size, ULONG entry)
{
    MODULE *module = Modules;
    while (module->Used)
        module++;
    module->Used = 1;
    memset(&module->Entry, 0, sizeof module->Entry);
    module->Entry.DllBase = (PVOID)base;
    module->Entry.SizeOfImage = size;
    module->Entry.EntryPoint = (PVOID)(base + entry);
    module->Entry.LoadCount = 1;
    module->Entry.TimeDateStamp = *(ULONG *)(base + *(ULONG *)(base + 0x3C) + 8);
    module->Entry.FullDllName.Buffer = module->Path;
    module->Entry.FullDllName.Length = Widen(module->Path, prefix, name);
    module->Entry.FullDllName.MaximumLength = sizeof module->Path;
    module->Entry.BaseDllName.Buffer = module->Name;
    module->Entry.BaseDllName.Length = Widen(module->Name, "", name);
    module->Entry.BaseDllName.MaximumLength = sizeof module->Name;
    module->Entry.InLoadOrderLinks.Flink = &PsLoadedModuleList;
    module->Entry.InLoadOrderLinks.Blink = PsLoadedModuleList.Blink;
    PsLoadedModuleList.Blink->Flink = &module->Entry.InLoadOrderLinks;
    PsLoadedModuleList.Blink = &module->Entry.InLoadOrderLinks;
    return &module->Entry;
}

void LdrInitialize(void)
{
    PsLoadedModuleList.Flink = PsLoadedModuleList.Blink = &PsLoadedModuleList;
    Insert("\\SystemRoot\\system32\\", "ntoskrnl.exe", KiBootParameters->KernelBase, KiBootParameters->KernelSize,
           KiBootParameters->KernelEntryPoint);
}

static BOOT_MODULE *Find(const CHAR *name)
{
    for (ULONG index = 0; index < KiBootParameters->ModuleCount; index++)
        if (TextEqual(KiBootParameters->Modules[index].Name, name))
            return &KiBootParameters->Modules[index];
    return NULL;
}

static PKLDR_DATA_TABLE_ENTRY Loaded(ULONG64 base)
{
    for (LIST_ENTRY *link = PsLoadedModuleList.Flink; link != &PsLoadedModuleList; link = link->Flink) {
        PKLDR_DATA_TABLE_ENTRY entry = CONTAINING_RECORD(link, KLDR_DATA_TABLE_ENTRY, InLoadOrderLinks);
        if ((ULONG64)entry->DllBase == base)
            return entry;
    }
    return NULL;
}

int LdrLoadDriver(const CHAR *name)
{
    BOOT_MODULE *image = Find(name);
    PKLDR_DATA_TABLE_ENTRY entry;
    if (!image || Loaded(image->Base))
        return 0;
    entry = Insert("\\SystemRoot\\System32\\drivers\\", name, image->Base, image->Size, image->EntryPoint);
    KdReportImage(entry, 0);
    return ((int (*)(DRIVER_SERVICES *))entry->EntryPoint)(&Services);
}

int LdrUnloadDriver(const CHAR *name)
{
    BOOT_MODULE *image = Find(name);
    PKLDR_DATA_TABLE_ENTRY entry = image ? Loaded(image->Base) : NULL;
    if (!entry)
        return 0;
    KdReportImage(entry, 1);
    entry->InLoadOrderLinks.Blink->Flink = entry->InLoadOrderLinks.Flink;
    entry->InLoadOrderLinks.Flink->Blink = entry->InLoadOrderLinks.Blink;
    CONTAINING_RECORD(entry, MODULE, Entry)->Used = 0;
    return 1;
}
