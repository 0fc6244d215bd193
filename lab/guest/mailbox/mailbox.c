/* Commands on COM2, a line each; every answer ends with a line "ok" or "error …"; a bugcheck is an error. Processor 0 reads
   them and carries them out, unless a line begins with "on N": then processor N does. */
#include "mailbox.h"

#define MAX_LINE 128

enum { Nobody = MAX_PROCESSORS };

static const MAILBOX_COMMAND *const Tables[] = {MailboxSystemCommands, MailboxTroubleCommands};

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

CHAR *MailboxWord(CHAR **rest)
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

ULONG64 MailboxHex(const CHAR *text)
{
    ULONG64 value = 0;
    for (; *text; text++)
        value = value << 4 | (ULONG)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
    return value;
}

static const MAILBOX_COMMAND *Find(const CHAR *name)
{
    for (ULONG table = 0; table < sizeof Tables / sizeof *Tables; table++)
        for (const MAILBOX_COMMAND *command = Tables[table]; command->Name; command++)
            if (TextEqual(command->Name, name))
                return command;
    return NULL;
}

static void Dispatch(void)
{
    const CHAR *name = MailboxWord(&Rest);
    const MAILBOX_COMMAND *command = Find(name);
    if (command)
        command->Run(Rest);
    MailboxPrint(command ? "ok\n" : "error: no command %s\n", name);
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
            Whose = (ULONG)MailboxHex(MailboxWord(&Rest)) % KeNumberProcessors;
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
