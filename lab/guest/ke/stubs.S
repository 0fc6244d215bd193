/* Entries of the interrupt table, and the switch between threads. Windows calling convention. */
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

    .globl KiTrap00, KiTrap01, KiTrap03, KiTrap06, KiTrap08, KiTrap13, KiTrap14, KiInterrupt
KiTrap00: plain 0
KiTrap01: plain 1
KiTrap03: plain 3
KiTrap06: plain 6
KiTrap08: coded 8
KiTrap13: coded 13
KiTrap14: coded 14
KiInterrupt: plain 0x50

KiTrapCommon:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    cld
    movq %rsp, %rcx
    movq %rsp, %rbp
    subq $48, %rsp
    andq $-16, %rsp
    call KiTrap
    movq %rbp, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rbp
    popq %rbx
    popq %rdx
    popq %rcx
    popq %rax
    addq $16, %rsp
    iretq

/* KiSwapContext(&old->KernelStack, new->KernelStack) */
    .globl KiSwapContext
KiSwapContext:
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rcx)
    movq %rdx, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rdi
    popq %rsi
    popq %rbp
    popq %rbx
    ret

    .globl KiThreadStartup
KiThreadStartup:
    sti
    movq %r12, %rcx
    subq $40, %rsp
    call *%rbx
    int3
