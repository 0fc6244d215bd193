/* Registers as the debugger knows them. */
#include "kd.h"

#define CONTEXT_ALL 0x10001F

ULONG64 KdpDebugControl = 0x400;

void KdpContextFromTrap(const TRAP *trap, CONTEXT *context)
{
    memset(context, 0, sizeof *context);
    context->ContextFlags = CONTEXT_ALL;
    context->MxCsr = 0x1F80;
    context->SegCs = (USHORT)trap->Cs;
    context->SegSs = (USHORT)trap->Ss;
    context->SegDs = context->SegEs = context->SegFs = context->SegGs = 0x2B;
    context->EFlags = (ULONG)trap->EFlags;
    /* The debug registers of this record are junk on real kernels too: the special registers have the right ones. */
    context->Dr0 = context->Dr7 = 0xDEADDEADDEADDEADULL;
    context->Rax = trap->Rax, context->Rcx = trap->Rcx, context->Rdx = trap->Rdx, context->Rbx = trap->Rbx;
    context->Rsp = trap->Rsp, context->Rbp = trap->Rbp, context->Rsi = trap->Rsi, context->Rdi = trap->Rdi;
    context->R8 = trap->R8, context->R9 = trap->R9, context->R10 = trap->R10, context->R11 = trap->R11;
    context->R12 = trap->R12, context->R13 = trap->R13, context->R14 = trap->R14, context->R15 = trap->R15;
    context->Rip = trap->Rip;
}

void KdpContextToTrap(const CONTEXT *context, TRAP *trap)
{
    trap->EFlags = context->EFlags;
    trap->Rax = context->Rax, trap->Rcx = context->Rcx, trap->Rdx = context->Rdx, trap->Rbx = context->Rbx;
    trap->Rsp = context->Rsp, trap->Rbp = context->Rbp, trap->Rsi = context->Rsi, trap->Rdi = context->Rdi;
    trap->R8 = context->R8, trap->R9 = context->R9, trap->R10 = context->R10, trap->R11 = context->R11;
    trap->R12 = context->R12, trap->R13 = context->R13, trap->R14 = context->R14, trap->R15 = context->R15;
    trap->Rip = context->Rip;
}

void KdpSpecialRegisters(KSPECIAL_REGISTERS *special)
{
    memset(special, 0, sizeof *special);
    special->Cr0 = read_cr0(), special->Cr2 = read_cr2(), special->Cr3 = read_cr3(), special->Cr4 = read_cr4();
    special->KernelDr6 = 0xFFFF0FF0;
    special->KernelDr7 = KdpDebugControl;
    __asm__ volatile("sgdt %0" : "=m"(special->Gdtr.Limit));
    __asm__ volatile("sidt %0" : "=m"(special->Idtr.Limit));
    special->MxCsr = 0x1F80;
    special->MsrGsBase = read_msr(0xC0000101);
    special->MsrGsSwap = read_msr(0xC0000102);
}
