/* Entries of the interrupt table, and the switch between threads. Windows calling convention.

   A trap leaves two records on the stack: _KTRAP_FRAME, whose end the processor itself has pushed, and below it
   _KEXCEPTION_FRAME for the registers that functions preserve. The unwind directives let a debugger walk through it. */
#define EXCEPTION_FRAME 0x140
#define TRAP (EXCEPTION_FRAME + 0)
#define GS_BASE 0xC0000101

    .text
    .macro plain number
    pushq $0
    pushq $\number
    jmp KiTrapCommon
    .endm
    .macro coded number
    pushq $\number
    jmp KiTrapCommon
    .endm

    .globl KiTrap00, KiTrap01, KiTrap02, KiTrap03, KiTrap06, KiTrap08, KiTrap13, KiTrap14, KiTrap2D, KiTimer, KiInterrupt, KiSpurious
KiTrap00: plain 0
KiTrap01: plain 1
KiTrap02: plain 2
KiTrap03: plain 3
KiTrap06: plain 6
KiTrap08: coded 8
KiTrap13: coded 13
KiTrap14: coded 14
KiTrap2D: plain 0x2D
KiTimer: plain 0xD1
KiInterrupt: plain 0xE1
KiSpurious: iretq

    .seh_proc KiTrapCommon
    .seh_pushframe @code
    .seh_stackalloc 8                   /* the vector */
KiTrapCommon:
    subq $(EXCEPTION_FRAME + 0x158), %rsp
    .seh_stackalloc EXCEPTION_FRAME + 0x158
    movq %rbx, TRAP+0x140(%rsp)
    .seh_savereg %rbx, TRAP+0x140
    movq %rdi, TRAP+0x148(%rsp)
    .seh_savereg %rdi, TRAP+0x148
    movq %rsi, TRAP+0x150(%rsp)
    .seh_savereg %rsi, TRAP+0x150
    movq %r12, 0x118(%rsp)
    .seh_savereg %r12, 0x118
    movq %r13, 0x120(%rsp)
    .seh_savereg %r13, 0x120
    movq %r14, 0x128(%rsp)
    .seh_savereg %r14, 0x128
    movq %r15, 0x130(%rsp)
    .seh_savereg %r15, 0x130
    movq TRAP+0x158(%rsp), %rdi         /* the vector makes room for rbp */
    movq %rbp, TRAP+0x158(%rsp)
    .seh_savereg %rbp, TRAP+0x158
    .seh_endprologue
    leaq TRAP+0x80(%rsp), %rbp
    cld
    movq %rax, TRAP+0x30(%rsp)
    movq %rcx, TRAP+0x38(%rsp)
    movq %rdx, TRAP+0x40(%rsp)
    movq %r8, TRAP+0x48(%rsp)
    movq %r9, TRAP+0x50(%rsp)
    movq %r10, TRAP+0x58(%rsp)
    movq %r11, TRAP+0x60(%rsp)
    /* Whose GS is it? Kernel addresses are negative. The code segment does not say: a system call's first instructions
       run in the kernel with the user's. */
    movl $GS_BASE, %ecx
    rdmsr
    xorl %ebx, %ebx
    testl %edx, %edx
    js 1f
    swapgs
    incl %ebx
1:  leaq TRAP(%rsp), %rcx
    movq %rsp, %rdx
    movl %edi, %r8d
    call KiTrap
    testl %ebx, %ebx
    jz 2f
    swapgs
2:  movq 0x118(%rsp), %r12
    movq 0x120(%rsp), %r13
    movq 0x128(%rsp), %r14
    movq 0x130(%rsp), %r15
    movq TRAP+0x30(%rsp), %rax
    movq TRAP+0x38(%rsp), %rcx
    movq TRAP+0x40(%rsp), %rdx
    movq TRAP+0x48(%rsp), %r8
    movq TRAP+0x50(%rsp), %r9
    movq TRAP+0x58(%rsp), %r10
    movq TRAP+0x60(%rsp), %r11
    movq TRAP+0x140(%rsp), %rbx
    movq TRAP+0x148(%rsp), %rdi
    movq TRAP+0x150(%rsp), %rsi
    movq TRAP+0x158(%rsp), %rbp
    addq $(TRAP + 0x168), %rsp
    iretq
    .seh_endproc

/* KiSwapContext(&old->KernelStack, new->KernelStack): the registers that a function preserves go into a
   _KEXCEPTION_FRAME, below it lies the _KSWITCH_FRAME that KernelStack points at. */
    .globl KiSwapContext, SwapContext, KiTrapCommon
    .seh_proc KiSwapContext
KiSwapContext:
    subq $0x138, %rsp
    .seh_stackalloc 0x138
    movq %rbp, 0xF8(%rsp)
    .seh_savereg %rbp, 0xF8
    movq %rbx, 0x100(%rsp)
    .seh_savereg %rbx, 0x100
    movq %rdi, 0x108(%rsp)
    .seh_savereg %rdi, 0x108
    movq %rsi, 0x110(%rsp)
    .seh_savereg %rsi, 0x110
    movq %r12, 0x118(%rsp)
    .seh_savereg %r12, 0x118
    movq %r13, 0x120(%rsp)
    .seh_savereg %r13, 0x120
    movq %r14, 0x128(%rsp)
    .seh_savereg %r14, 0x128
    movq %r15, 0x130(%rsp)
    .seh_savereg %r15, 0x130
    .seh_endprologue
    call SwapContext
    movq 0xF8(%rsp), %rbp
    movq 0x100(%rsp), %rbx
    movq 0x108(%rsp), %rdi
    movq 0x110(%rsp), %rsi
    movq 0x118(%rsp), %r12
    movq 0x120(%rsp), %r13
    movq 0x128(%rsp), %r14
    movq 0x130(%rsp), %r15
    addq $0x138, %rsp
    ret
    .seh_endproc

    .seh_proc SwapContext
SwapContext:
    pushq %rbp
    .seh_pushreg %rbp
    subq $0x30, %rsp
    .seh_stackalloc 0x30
    .seh_endprologue
    movq %rsp, (%rcx)
    movq %rdx, %rsp
    addq $0x30, %rsp
    popq %rbp
    ret
    .seh_endproc

/* A thread's first instructions: SwapContext returns here, with the exception frame still on the stack. */
    .globl KxStartSystemThread, KiThreadStartup
    .seh_proc KxStartSystemThread
KxStartSystemThread:
    nop
    .seh_stackalloc 0x138
    .seh_endprologue
KiThreadStartup:
    call KiReleaseDispatcherLock
    sti
    movq 0x100(%rsp), %rbx
    movq 0x118(%rsp), %rcx
    call *%rbx
    int3
    .seh_endproc

/* DebugService2(argument, other, service): the debugger's part of the kernel is entered by a trap. */
    .globl DebugService2
DebugService2:
    movl %r8d, %eax
    int $0x2D
    int3
    ret
