/* Commands on COM2, a line each; every answer ends with a line "ok" or "error …"; a bugcheck is an error. Processor 0 reads
   them and carries them out, unless a line begins with "on N": then processor N does. */
#include "kernel.h"

#define MAX_LINE 128

enum { Nobody = MAX_PROCESSORS };

static CHAR Line[MAX_LINE];
static ULONG Length;
static CHAR *Rest;
static volatile ULONG Whose = Nobody; /* the processor that the whole line is for */

void MailboxPrint(const CHAR *format, ...)
{
    CHAR text[256];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    SerialWrite(COM2, text, FormatText(text, sizeof text, format, arguments));
    __builtin_va_end(arguments);
}

/* Cuts the next word off a text. */
static CHAR *Word(CHAR **rest)
{
    CHAR *start = *rest, *end;
    while (*start == ' ')
        start++;
    for (end = start; *end && *end != ' '; end++)
        ;
    *rest = *end ? end + 1 : end;
    *end = 0;
    return start;
}

static ULONG64 Hex(const CHAR *text)
{
    ULONG64 value = 0;
    for (; *text; text++)
        value = value << 4 | (ULONG)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
    return value;
}

static void ListModules(void)
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

static void ListProcesses(void)
{
    for (LIST_ENTRY *link = PsActiveProcessHead.Flink; link != &PsActiveProcessHead; link = link->Flink) {
        PEPROCESS process = CONTAINING_RECORD(link, EPROCESS, ActiveProcessLinks);
        MailboxPrint("%s %x %p %d\n", (const CHAR *)process->ImageFileName, (ULONG64)process->UniqueProcessId,
                     (ULONG64)process, process->ActiveThreads);
    }
}

static void ListProcessors(void)
{
    for (ULONG number = 0; number < KeNumberProcessors; number++) {
        PKPCR pcr = CONTAINING_RECORD(KiProcessorBlock[number], KPCR, Prcb);
        MailboxPrint("%d %p %p\n", number, (ULONG64)pcr, (ULONG64)&pcr->Prcb);
    }
}

static __attribute__((noinline)) ULONG64 Touch(volatile ULONG64 *place) { return *place; }

static volatile ULONG Nothing, Quotient;

static __attribute__((noinline)) ULONG Divide(ULONG by) { return 1000 / by; }

static int Fault(const CHAR *kind)
{
    if (TextEqual(kind, "page"))
        return (int)Touch((volatile ULONG64 *)0xFFFFDEAD00001000ULL);
    if (TextEqual(kind, "divide"))
        Quotient = Divide(Nothing);
    if (TextEqual(kind, "illegal"))
        __asm__ volatile("ud2");
    if (TextEqual(kind, "int3"))
        __asm__ volatile("int3");
    return 1;
}

/* Carries out a command; returns whether there is one of that name. */
static int Command(const CHAR *name, CHAR *rest)
{
    if (TextEqual(name, "modules"))
        ListModules();
    else if (TextEqual(name, "processes"))
        ListProcesses();
    else if (TextEqual(name, "processors"))
        ListProcessors();
    else if (TextEqual(name, "load"))
        MailboxPrint("%d\n", (ULONG)LdrLoadDriver(Word(&rest)));
    else if (TextEqual(name, "unload"))
        MailboxPrint("%d\n", (ULONG)LdrUnloadDriver(Word(&rest)));
    else if (TextEqual(name, "print"))
        DbgPrint("%s\n", rest);
    else if (TextEqual(name, "prompt")) {
        CHAR answer[32];
        ULONG length = DbgPrompt("Break, or Ignore (bi)? ", answer, sizeof answer - 1);
        answer[length] = 0;
        MailboxPrint("%s\n", answer);
    } else if (TextEqual(name, "fault"))
        Fault(Word(&rest));
    else if (TextEqual(name, "bugcheck")) {
        ULONG64 parameters[5];
        for (ULONG at = 0; at < 5; at++)
            parameters[at] = Hex(Word(&rest));
        KeBugCheckEx((ULONG)parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]);
    } else if (TextEqual(name, "ticks"))
        MailboxPrint("%x\n", KeTickCount);
    else if (TextEqual(name, "create"))
        MailboxPrint("%p\n", (ULONG64)PsCreateProcess(Word(&rest), 0x1000 + (KeTickCount << 2), 4));
    else
        return 0;
    return 1;
}

static void Dispatch(void)
{
    CHAR *name = Word(&Rest);
    MailboxPrint(Command(name, Rest) ? "ok\n" : "error: no command %s\n", name);
    Whose = Nobody;
}

static void ReadLine(void)
{
    int byte;
    while (Whose == Nobody && (byte = SerialTryRead(COM2)) >= 0) {
        if (byte != '\n') {
            if (Length < MAX_LINE - 1 && byte != '\r')
                Line[Length++] = (CHAR)byte;
            continue;
        }
        Line[Length] = 0;
        Length = 0;
        Rest = Line;
        if (Line[0] == 'o' && Line[1] == 'n' && Line[2] == ' ') {
            Rest += 3;
            Whose = (ULONG)Hex(Word(&Rest)) % KeNumberProcessors;
        } else {
            Whose = 0;
        }
    }
}

/* The idle threads call this. */
void MailboxPoll(ULONG processor)
{
    if (processor == 0)
        ReadLine();
    if (Whose == processor)
        Dispatch();
}
