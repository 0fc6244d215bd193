/* Registers as the debugger knows them: each processor's lie in its _KPRCB.ProcessorState while it stands still. */
#include "kd.h"

#define CONTEXT_ALL 0x10001F
#define DEBUG_CONTROL_OFF 0x400

static void ContextFromTrap(const KTRAP_FRAME *trap, const KEXCEPTION_FRAME *preserved, CONTEXT *context)
{
    memset(context, 0, sizeof *context);
    context->ContextFlags = CONTEXT_ALL;
    context->MxCsr = 0x1F80;
    context->SegCs = trap->SegCs;
    context->SegSs = trap->SegSs;
    context->SegDs = context->SegEs = context->SegGs = USER_DATA | 3;
    context->SegFs = USER_TEB32 | 3;
    context->EFlags = trap->EFlags;
    /* The debug registers of this record are junk on real kernels too: the special registers have the right ones. */
    context->Dr0 = context->Dr7 = 0xDEADDEADDEADDEADULL;
    context->Rax = trap->Rax, context->Rcx = trap->Rcx, context->Rdx = trap->Rdx, context->Rbx = trap->Rbx;
    context->Rsp = trap->Rsp, context->Rbp = trap->Rbp, context->Rsi = trap->Rsi, context->Rdi = trap->Rdi;
    context->R8 = trap->R8, context->R9 = trap->R9, context->R10 = trap->R10, context->R11 = trap->R11;
    context->R12 = preserved->R12, context->R13 = preserved->R13;
    context->R14 = preserved->R14, context->R15 = preserved->R15;
    context->Rip = trap->Rip;
}

static void ContextToTrap(const CONTEXT *context, PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved)
{
    trap->EFlags = context->EFlags;
    trap->Rax = context->Rax, trap->Rcx = context->Rcx, trap->Rdx = context->Rdx, trap->Rbx = context->Rbx;
    trap->Rsp = context->Rsp, trap->Rbp = context->Rbp, trap->Rsi = context->Rsi, trap->Rdi = context->Rdi;
    trap->R8 = context->R8, trap->R9 = context->R9, trap->R10 = context->R10, trap->R11 = context->R11;
    preserved->R12 = context->R12, preserved->R13 = context->R13;
    preserved->R14 = context->R14, preserved->R15 = context->R15;
    trap->Rip = context->Rip;
}

static void ReadSpecialRegisters(KSPECIAL_REGISTERS *special)
{
    special->Cr0 = read_cr0(), special->Cr2 = read_cr2(), special->Cr3 = read_cr3(), special->Cr4 = read_cr4();
    special->Cr8 = read_cr8();
    __asm__ volatile("mov %%dr0, %0" : "=r"(special->KernelDr0));
    __asm__ volatile("mov %%dr1, %0" : "=r"(special->KernelDr1));
    __asm__ volatile("mov %%dr2, %0" : "=r"(special->KernelDr2));
    __asm__ volatile("mov %%dr3, %0" : "=r"(special->KernelDr3));
    __asm__ volatile("mov %%dr6, %0" : "=r"(special->KernelDr6));
    __asm__ volatile("mov %%dr7, %0" : "=r"(special->KernelDr7));
    __asm__ volatile("sgdt %0" : "=m"(special->Gdtr.Limit));
    __asm__ volatile("sidt %0" : "=m"(special->Idtr.Limit));
    __asm__ volatile("str %0" : "=r"(special->Tr));
    __asm__ volatile("sldt %0" : "=r"(special->Ldtr));
    special->MxCsr = 0x1F80;
    special->MsrGsBase = read_msr(0xC0000101);
    special->MsrGsSwap = read_msr(0xC0000102);
    special->MsrStar = read_msr(0xC0000081);
    special->MsrLStar = read_msr(0xC0000082);
}

/* Hardware breakpoints sleep while the debugger works: it reads what they watch. */
void KiSaveProcessorState(const KTRAP_FRAME *trap, const KEXCEPTION_FRAME *preserved)
{
    KPROCESSOR_STATE *state = &KeGetCurrentPrcb()->ProcessorState;
    ContextFromTrap(trap, preserved, &state->ContextFrame);
    ReadSpecialRegisters(&state->SpecialRegisters);
    __asm__ volatile("mov %0, %%dr7" ::"r"((ULONG64)DEBUG_CONTROL_OFF));
}

/* DR6 stays as it is: between an exception's first instruction and the one that reads it lies room for a freeze. */
void KiRestoreProcessorState(PKTRAP_FRAME trap, PKEXCEPTION_FRAME preserved)
{
    KPROCESSOR_STATE *state = &KeGetCurrentPrcb()->ProcessorState;
    const KSPECIAL_REGISTERS *special = &state->SpecialRegisters;
    ContextToTrap(&state->ContextFrame, trap, preserved);
    __asm__ volatile("mov %0, %%dr0" ::"r"(special->KernelDr0));
    __asm__ volatile("mov %0, %%dr1" ::"r"(special->KernelDr1));
    __asm__ volatile("mov %0, %%dr2" ::"r"(special->KernelDr2));
    __asm__ volatile("mov %0, %%dr3" ::"r"(special->KernelDr3));
    __asm__ volatile("mov %0, %%dr7" ::"r"(special->KernelDr7));
}
