/* From the virtual machine's 32-bit entry (PVH) to the kernel in long mode. The image's builder has laid out page tables,
   the parameters and the kernel; this only switches the mode. The other processors come from real mode, by a copy of the
   trampoline at the end; the kernel has put their entry and stack into the parameters then. */
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

    .org BOOT_TRAMPOLINE_OFFSET
    .code16
trampoline:
    cli
    movl $BOOT_PAGE_TABLES, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x620, %eax
    movl %eax, %cr4
    movl $0xC0000080, %ecx
    rdmsr
    orl $0x900, %eax
    wrmsr
    lgdtl %cs:(trampoline_gdt - trampoline)
    movl %cr0, %eax
    andl $~0x6000000C, %eax         /* caches on, as well */
    orl $0x80010021, %eax
    movl %eax, %cr0
    ljmpl $0x10, $start64
trampoline_gdt:
    .word 31
    .long gdt
