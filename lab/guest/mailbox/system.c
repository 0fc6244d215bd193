/* Commands by which the guest says what it knows of itself, and drivers and processes come and go. */
#include "mailbox.h"

static void ListModules(CHAR *rest)
{
    for (LIST_ENTRY *link = PsLoadedModuleList.Flink; link != &PsLoadedModuleList; link = link->Flink) {
        PKLDR_DATA_TABLE_ENTRY entry = CONTAINING_RECORD(link, KLDR_DATA_TABLE_ENTRY, InLoadOrderLinks);
        CHAR name[40];
        ULONG length = entry->BaseDllName.Length / 2;
        for (ULONG at = 0; at < length; at++)
            name[at] = (CHAR)entry->BaseDllName.Buffer[at];
        name[length] = 0;
        MailboxPrint("%s %p %x\n", name, (ULONG64)entry->DllBase, (ULONG64)entry->SizeOfImage);
    }
}

static void ListProcesses(CHAR *rest)
{
    for (LIST_ENTRY *link = PsActiveProcessHead.Flink; link != &PsActiveProcessHead; link = link->Flink) {
        PEPROCESS process = CONTAINING_RECORD(link, EPROCESS, ActiveProcessLinks);
        MailboxPrint("%s %x %p %d\n", (const CHAR *)process->ImageFileName, (ULONG64)process->UniqueProcessId,
                     (ULONG64)process, process->ActiveThreads);
    }
}

static void ListProcessors(CHAR *rest)
{
    for (ULONG number = 0; number < KeNumberProcessors; number++) {
        PKPCR pcr = CONTAINING_RECORD(KiProcessorBlock[number], KPCR, Prcb);
        MailboxPrint("%d %p %p\n", number, (ULONG64)pcr, (ULONG64)&pcr->Prcb);
    }
}

static void Ticks(CHAR *rest) { MailboxPrint("%x\n", KeTickCount); }

static void Load(CHAR *rest) { MailboxPrint("%d\n", (ULONG)LdrLoadDriver(MailboxWord(&rest))); }

static void Unload(CHAR *rest) { MailboxPrint("%d\n", (ULONG)LdrUnloadDriver(MailboxWord(&rest))); }

static void Create(CHAR *rest)
{
    MailboxPrint("%p\n", (ULONG64)PsCreateProcess(MailboxWord(&rest), 0x1000 + (KeTickCount << 2), 4));
}

const MAILBOX_COMMAND MailboxSystemCommands[] = {
    {"modules", ListModules}, {"processes", ListProcesses}, {"processors", ListProcessors}, {"ticks", Ticks},
    {"load", Load},           {"unload", Unload},           {"create", Create},             {NULL, NULL},
};
