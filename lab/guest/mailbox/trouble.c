/* Commands that bring the debugger something to deal with: text, questions, exceptions, a bugcheck. */
#include "mailbox.h"

static void Print(CHAR *rest) { DbgPrint("%s\n", rest); }

static void Prompt(CHAR *rest)
{
    CHAR answer[32];
    ULONG length = DbgPrompt("Break, or Ignore (bi)? ", answer, sizeof answer - 1);
    answer[length] = 0;
    MailboxPrint("%s\n", answer);
}

static __attribute__((noinline)) ULONG64 Touch(volatile ULONG64 *place) { return *place; }

static volatile ULONG Nothing, Quotient;

static __attribute__((noinline)) ULONG Divide(ULONG by) { return 1000 / by; }

static void Fault(CHAR *rest)
{
    const CHAR *kind = MailboxWord(&rest);
    if (TextEqual(kind, "page"))
        Touch((volatile ULONG64 *)0xFFFFDEAD00001000ULL);
    if (TextEqual(kind, "divide"))
        Quotient = Divide(Nothing);
    if (TextEqual(kind, "illegal"))
        __asm__ volatile("ud2");
    if (TextEqual(kind, "int3"))
        __asm__ volatile("int3");
}

static void BugCheck(CHAR *rest)
{
    ULONG64 parameters[5];
    for (ULONG at = 0; at < 5; at++)
        parameters[at] = MailboxHex(MailboxWord(&rest));
    KeBugCheckEx((ULONG)parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]);
}

const MAILBOX_COMMAND MailboxTroubleCommands[] = {
    {"print", Print}, {"prompt", Prompt}, {"fault", Fault}, {"bugcheck", BugCheck}, {NULL, NULL},
};
