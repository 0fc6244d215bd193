/* From the virtual machine's 32-bit entry (PVH) to the kernel in long mode. The image's builder has laid out page tables,
   the parameters and the kernel; this only switches the mode. */
#include "boot.h"
    .section .text
    .code32
    .globl start32
start32:
    cli
    movl $BOOT_PAGE_TABLES, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x620, %eax                /* PAE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    movl $0xC0000080, %ecx          /* EFER: LME, NXE */
    rdmsr
    orl $0x900, %eax
    wrmsr
    movl %cr0, %eax
    orl $0x80010021, %eax           /* PG, WP, NE, PE */
    andl $~0xC, %eax                /* EM, TS off: SSE is there */
    movl %eax, %cr0
    lgdt gdt_pointer
    ljmp $0x10, $start64
    .code64
start64:
    movl $0x18, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    movq (BOOT_PARAMETERS_PAGE + BOOT_STACK), %rsp
    movq (BOOT_PARAMETERS_PAGE + BOOT_SELF), %rcx
    subq $40, %rsp
    jmp *(BOOT_PARAMETERS_PAGE + BOOT_ENTRY)

    .balign 16
gdt:
    .quad 0, 0, 0x00209A0000000000, 0x0000920000000000
gdt_pointer:
    .word 31
    .long gdt
