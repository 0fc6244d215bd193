/* Commands on COM2: what the files that carry them out need, and what each brings. */
#pragma once
#include "kernel.h"

typedef struct _MAILBOX_COMMAND {
    const CHAR *Name;
    void (*Run)(CHAR *rest); /* what stands behind the name */
} MAILBOX_COMMAND;

/* Tables end with an entry that has no name. */
extern const MAILBOX_COMMAND MailboxSystemCommands[], MailboxTroubleCommands[];

/* Cuts the next word off a text. */
CHAR *MailboxWord(CHAR **rest);
ULONG64 MailboxHex(const CHAR *text);
